import { describe, expect, test } from 'vitest';
import { openClient } from '../../src/api/client/index.ts';
import type { RedisTls } from '../../src/store/redis/address.ts';
import { type Authority, createAuthority, findTlsObstacle } from './certificates.ts';
import { measureFailover } from './failover.ts';
import { openWorkers, SHARDS, useServer } from './fixture.ts';
import { startSentinels } from './sentinels.ts';
import { startSixNodes } from './six-nodes.ts';

const obstacle = await findTlsObstacle();
const NAMES = 'DNS:localhost,IP:127.0.0.1';

/** Enqueues a turn over TLS, runs a worker, and returns the answer. */
async function answerOne(redisUrl: string, redisTls: RedisTls): Promise<string | undefined> {
  const errors: unknown[] = [];
  const to = { redisUrl, redisTls, shards: SHARDS, queueShards: 1 };
  const workers = await openWorkers({
    ...to,
    onEvent: (event) => void (event.type === 'worker_failed' && errors.push(event.error)),
  });
  const client = await openClient(to);
  try {
    const { turn } = await client.enqueueTurn({ conversation: 'c1', agent: 'guide', input: 'hello' });
    const { answer } = await client.result('c1', turn, { waitMs: 10_000 });
    expect(errors).toEqual([]);
    return answer?.content;
  } finally {
    await client.close();
    await workers.close();
  }
}

describe.skipIf(obstacle !== undefined)(`TLS (${obstacle ?? 'openssl is available'})`, () => {
  test('client and worker connect to a TLS Redis whose authority is in redisTls.ca, and answer a turn', async () => {
    const authority = await createAuthority();
    const certificate = await authority.issue(NAMES);
    const { url } = await useServer({ tls: { certificate, caFile: authority.certFile } });
    expect(await answerOne(url, { ca: authority.cert })).toContain('hello');
  });

  test('client and worker send their client certificate to Redis, and check the server’s certificate against redisTls.serverName', async () => {
    const authority = await createAuthority();
    const certificate = await authority.issue('DNS:redis.example');
    const { url } = await useServer({ tls: { certificate, caFile: authority.certFile, asksClients: true } });
    const { cert, key } = await authority.issue('DNS:worker');
    const tls = { ca: authority.cert, cert, key, serverName: 'redis.example' };
    expect(await answerOne(url, tls)).toContain('hello');
  });

  /** Sentinels report the IP of the master, and the certificate has another name. */
  test('over TLS, each turn is settled once and in order in a failover by Sentinels', {
    timeout: 240_000,
  }, async () => {
    const authority = await createAuthority();
    const certificate = await authority.issue('DNS:redis.example');
    const { url, master, expectDeath } = await startSentinels({
      certificate,
      caFile: authority.certFile,
      asksClients: true,
    });
    const { cert, key } = await authority.issue('DNS:worker');
    const figures = await measureFailover({
      redisUrl: url,
      redisTls: { ca: authority.cert, cert, key, serverName: 'redis.example' },
      lag: () => undefined,
      fail: () => {
        expectDeath();
        master.signal('SIGKILL');
      },
    });
    process.stdout.write(`Sentinels over TLS: ${JSON.stringify(figures)}\n`);
    expect(figures).toMatchObject({ twice: 0, outOfOrder: 0 });
  });

  /** The Cluster announces host names, and the certificate does not cover the IPs. */
  test('over TLS, each turn is settled once and in order in a failover of a Cluster', {
    timeout: 240_000,
  }, async () => {
    const authority = await createAuthority();
    const certificate = await authority.issue('DNS:localhost');
    const cluster = await startSixNodes({ certificate, caFile: authority.certFile });
    const { master } = await cluster.ownersOf('{tq0}');
    const figures = await measureFailover({
      redisUrl: cluster.url,
      redisTls: { ca: authority.cert },
      lag: () => undefined,
      fail: () => {
        cluster.expectDeath(master);
        master.signal('SIGKILL');
      },
    });
    process.stdout.write(`Cluster over TLS: ${JSON.stringify(figures)}\n`);
    expect(figures).toMatchObject({ twice: 0, outOfOrder: 0 });
  });

  test.each<[string, (own: Authority) => Promise<RedisTls>]>([
    ['redisTls.ca', async () => ({ ca: 'nobody' })],
    ['redisTls.cert', async ({ key }) => ({ cert: 'mine', key })],
    ['redisTls.cert', async ({ key }) => ({ key })],
    ['redisTls.key', async ({ cert }) => ({ cert })],
    ['redisTls.key', async ({ cert }) => ({ cert, key: 'mine' })],
    ['redisTls.key', async (own) => ({ cert: own.cert, key: (await own.issue(NAMES)).key })],
  ])('the error of openClient names %s if that setting is not PEM or does not match its pair', async (field, make) => {
    const redisTls = await make(await createAuthority());
    const opening = openClient({ redisUrl: 'rediss://127.0.0.1:1', redisTls });
    await expect(opening).rejects.toMatchObject({ code: 'invalid_config', field });
  });
});
