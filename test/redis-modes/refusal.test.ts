import { describe, expect, test } from 'vitest';
import { openClient } from '../../src/api/client/index.ts';
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';
import type { RedisLocation } from '../../src/store/redis/address.ts';
import { findRefusal } from '../../src/store/redis/find-refusal.ts';
import { type Authority, createAuthority, findTlsObstacle } from './certificates.ts';
import { useServer } from './fixture.ts';
import type { Server } from './servers.ts';

const obstacle = await findTlsObstacle();
const NAMES = 'DNS:localhost,IP:127.0.0.1';

interface Choice {
  readonly names?: string;
  readonly days?: number;
  readonly asksClients?: boolean;
}

async function startTls(authority: Authority, { names = NAMES, days = 1, ...choice }: Choice = {}): Promise<Server> {
  const certificate = await authority.issue(names, { days });
  return await useServer({ tls: { certificate, caFile: authority.certFile, ...choice } });
}

type Case = readonly [name: string, message: RegExp, hint: RegExp, open: (own: Authority) => Promise<RedisLocation>];

/** Causes that are found within a second, so the error of openClient contains them. */
const FOUND_AT_ONCE: readonly Case[] = [
  [
    'an untrusted certificate of one server',
    /^its certificate is not signed by a trusted authority$/,
    /REDIS_CA_FILE/,
    async (own) => ({ url: (await startTls(own)).url }),
  ],
  [
    'a certificate of another authority than redisTls.ca',
    /^its certificate is not signed by a trusted authority$/,
    /REDIS_CA_FILE/,
    async (own) => ({ url: (await startTls(own)).url, tls: { ca: (await createAuthority()).cert } }),
  ],
  [
    'an expired certificate',
    /^its certificate has expired$/,
    /Renew the certificate/,
    async (own) => ({ url: (await startTls(own, { days: -1 })).url, tls: { ca: own.cert } }),
  ],
  [
    'a certificate for another host name',
    /^its certificate is for another host name/,
    /REDIS_SERVER_NAME/,
    async (own) => ({ url: (await startTls(own, { names: 'DNS:redis.example' })).url, tls: { ca: own.cert } }),
  ],
  [
    'a missing client certificate',
    /^it requires a client certificate$/,
    /REDIS_CERT_FILE .*REDIS_KEY_FILE/,
    async (own) => ({ url: (await startTls(own, { asksClients: true })).url, tls: { ca: own.cert } }),
  ],
  [
    'a client certificate that the server does not trust',
    /^it does not accept our certificate$/,
    /REDIS_CERT/,
    async (own) => {
      const { cert, key } = await (await createAuthority()).issue(NAMES);
      return { url: (await startTls(own, { asksClients: true })).url, tls: { ca: own.cert, cert, key } };
    },
  ],
  [
    'an untrusted certificate of a Sentinel',
    /^of 127\.0\.0\.1:\d+: its certificate is not signed by a trusted authority/,
    /REDIS_CA_FILE/,
    async (own) => ({ url: `rediss+sentinel://127.0.0.1:${(await startTls(own)).port},127.0.0.1:1/main` }),
  ],
  [
    'an untrusted certificate of a Cluster node',
    /^of 127\.0\.0\.1:\d+: its certificate is not signed by a trusted authority/,
    /REDIS_CA_FILE/,
    async (own) => ({ url: `rediss+cluster://127.0.0.1:${(await startTls(own)).port},127.0.0.1:1` }),
  ],
];

const FOUND_BY_PROBE: readonly Case[] = [
  [
    'an address without TLS for a port with TLS',
    /^it accepts only TLS on this port$/,
    /rediss instead of redis/,
    async (own) => ({ url: (await startTls(own)).url.replace('rediss', 'redis') }),
  ],
  [
    'an address without TLS for a port that requires client certificates',
    /^it accepts only TLS on this port$/,
    /rediss instead of redis/,
    async (own) => ({ url: (await startTls(own, { asksClients: true })).url.replace('rediss', 'redis') }),
  ],
  [
    'an address with TLS for a port without TLS',
    /^it speaks no TLS on this port$/,
    /redis instead of rediss/,
    async () => ({ url: (await useServer()).url.replace('redis', 'rediss') }),
  ],
];

describe.skipIf(obstacle !== undefined)(`a refusal over TLS (${obstacle ?? 'openssl is available'})`, () => {
  test.each([...FOUND_AT_ONCE, ...FOUND_BY_PROBE])(
    'findRefusal reports the cause and the next step if Redis refuses the connection because of %s',
    async (_, message, hint, open) => {
      const location = await open(await createAuthority());
      expect(await findRefusal(location)).toEqual({
        message: expect.stringMatching(message) as string,
        hint: expect.stringMatching(hint) as string,
      });
    },
  );

  test.each(FOUND_AT_ONCE)(
    'openClient fails with the cause that findRefusal found: %s',
    async (_, message, hint, open) => {
      const { url, tls } = await open(await createAuthority());
      const error: unknown = await openClient({ redisUrl: url, redisTls: tls }).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: 'redis_unavailable', message: expect.stringMatching(hint) as string });
      const words = message.source.replaceAll(/^\^|\$$/g, '');
      expect(error).toMatchObject({ message: expect.stringMatching(`^Redis cannot be used: ${words}`) as string });
    },
  );

  test('provideRedis connects to a TLS Redis with the configured authority, and without it the error names REDIS_CA_FILE', async () => {
    const authority = await createAuthority();
    const { url } = await startTls(authority);
    const given = await provideRedis({ redisUrl: url, redisTls: { ca: authority.cert } });
    expect(given).toMatchObject({ source: 'configured', url });
    await expect(provideRedis({ redisUrl: url })).rejects.toMatchObject({
      code: 'redis_unreachable',
      message: expect.stringContaining('not signed by a trusted authority') as string,
      hint: expect.stringContaining('REDIS_CA_FILE') as string,
    });
  });

  test('findRefusal returns undefined for a healthy server and for an unreachable server', async () => {
    const authority = await createAuthority();
    expect(await findRefusal({ url: (await useServer()).url })).toBeUndefined();
    const { url } = await startTls(authority);
    expect(await findRefusal({ url, tls: { ca: authority.cert } })).toBeUndefined();
    expect(await findRefusal({ url: 'rediss://127.0.0.1:1' })).toBeUndefined();
  });
});
