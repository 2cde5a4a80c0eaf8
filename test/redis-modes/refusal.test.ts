import { describe, expect, onTestFinished, test } from 'vitest';
import { openClient } from '../../src/client/index.ts';
import { provideRedis } from '../../src/local-redis/provide-redis.ts';
import type { RedisLocation } from '../../src/redis/address.ts';
import { findRefusal } from '../../src/redis/find-refusal.ts';
import { type Authority, createAuthority, findTlsObstacle } from './certificates.ts';
import { type Server, type ServerTls, startServer } from './servers.ts';

const obstacle = await findTlsObstacle();
const NAMES = 'DNS:localhost,IP:127.0.0.1';

interface Choice {
  readonly names?: string;
  readonly days?: number;
  readonly asksClients?: boolean;
}

async function start(tls?: ServerTls): Promise<Server> {
  const server = await startServer({ tls });
  onTestFinished(() => server.stop());
  return server;
}

async function startTls(authority: Authority, { names = NAMES, days = 1, ...choice }: Choice = {}): Promise<Server> {
  const certificate = await authority.issue(names, { days });
  return await start({ certificate, caFile: authority.certFile, ...choice });
}

type Case = readonly [name: string, message: RegExp, hint: RegExp, open: (own: Authority) => Promise<RedisLocation>];

/** Errors found in the connection's own error, or by a probe within the second of a call. */
const TOLD_AT_ONCE: readonly Case[] = [
  [
    'an authority that nobody named',
    /^its certificate is not signed by a trusted authority$/,
    /REDIS_CA_FILE/,
    async (own) => ({ url: (await startTls(own)).url }),
  ],
  [
    'another authority than the one that is named',
    /^its certificate is not signed by a trusted authority$/,
    /REDIS_CA_FILE/,
    async (own) => ({ url: (await startTls(own)).url, tls: { ca: (await createAuthority()).cert } }),
  ],
  [
    'a certificate that has expired',
    /^its certificate has expired$/,
    /Renew it/,
    async (own) => ({ url: (await startTls(own, { days: -1 })).url, tls: { ca: own.cert } }),
  ],
  [
    'a certificate for another name',
    /^its certificate is for another name/,
    /REDIS_SERVER_NAME/,
    async (own) => ({ url: (await startTls(own, { names: 'DNS:redis.example' })).url, tls: { ca: own.cert } }),
  ],
  [
    'no certificate of ours',
    /^it requires a client certificate$/,
    /REDIS_CERT_FILE and REDIS_KEY_FILE/,
    async (own) => ({ url: (await startTls(own, { asksClients: true })).url, tls: { ca: own.cert } }),
  ],
  [
    'a certificate of ours that it does not trust',
    /^it does not accept our certificate$/,
    /REDIS_CERT/,
    async (own) => {
      const { cert, key } = await (await createAuthority()).issue(NAMES);
      return { url: (await startTls(own, { asksClients: true })).url, tls: { ca: own.cert, cert, key } };
    },
  ],
  [
    'an authority that nobody named, of Sentinels',
    /^of 127\.0\.0\.1:\d+: its certificate is not signed by a trusted authority/,
    /REDIS_CA_FILE/,
    async (own) => ({ url: `rediss+sentinel://127.0.0.1:${(await startTls(own)).port},127.0.0.1:1/main` }),
  ],
  [
    'an authority that nobody named, of a Cluster',
    /^of 127\.0\.0\.1:\d+: its certificate is not signed by a trusted authority/,
    /REDIS_CA_FILE/,
    async (own) => ({ url: `rediss+cluster://127.0.0.1:${(await startTls(own)).port},127.0.0.1:1` }),
  ],
];

const FOUND_BY_ASKING: readonly Case[] = [
  [
    'an address without TLS to a port with it',
    /^it speaks TLS on this port, and nothing else$/,
    /rediss instead of redis/,
    async (own) => ({ url: (await startTls(own)).url.replace('rediss', 'redis') }),
  ],
  [
    'the same to a port that asks for certificates',
    /^it speaks TLS on this port, and nothing else$/,
    /rediss instead of redis/,
    async (own) => ({ url: (await startTls(own, { asksClients: true })).url.replace('rediss', 'redis') }),
  ],
  [
    'an address with TLS to a port without it',
    /^it speaks no TLS on this port$/,
    /redis instead of rediss/,
    async () => ({ url: (await start()).url.replace('redis', 'rediss') }),
  ],
];

describe.skipIf(obstacle !== undefined)(`a refusal over TLS (${obstacle ?? 'it can be tried here'})`, () => {
  test.each([...TOLD_AT_ONCE, ...FOUND_BY_ASKING])('%s', async (_, message, hint, open) => {
    const location = await open(await createAuthority());
    expect(await findRefusal(location)).toEqual({
      message: expect.stringMatching(message) as string,
      hint: expect.stringMatching(hint) as string,
    });
  });

  test.each(TOLD_AT_ONCE)('%s: the client reports it, too', async (_, message, hint, open) => {
    const { url, tls } = await open(await createAuthority());
    const error: unknown = await openClient({ redisUrl: url, redisTls: tls }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'redis_unavailable', message: expect.stringMatching(hint) as string });
    const words = message.source.replaceAll(/^\^|\$$/g, '');
    expect(error).toMatchObject({ message: expect.stringMatching(`^Redis cannot be used: ${words}`) as string });
  });

  test('uses a given Redis with the certificates, or says what to do', async () => {
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

  test('finds no refusal of a healthy or absent server', async () => {
    const authority = await createAuthority();
    expect(await findRefusal({ url: (await start()).url })).toBeUndefined();
    const { url } = await startTls(authority);
    expect(await findRefusal({ url, tls: { ca: authority.cert } })).toBeUndefined();
    expect(await findRefusal({ url: 'rediss://127.0.0.1:1' })).toBeUndefined();
  });
});
