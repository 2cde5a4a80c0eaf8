import { Redis } from 'ioredis';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { redactUrl } from '../../src/host/local-redis/configured-redis.ts';
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';
import { findClosedPort, findServerFolder, listenSilently, makeEnv, makeFolder, removeFolder } from './fixture.ts';

const home = await makeFolder();
afterAll(() => removeFolder(home));

describe('a given Redis that does not answer', () => {
  test('provideRedis fails if the Redis at REDIS_URL does not answer, and tries no other source', async () => {
    const lines: string[] = [];
    const redisUrl = `redis://me:hush@127.0.0.1:${await findClosedPort()}/3`;
    const error = await provideRedis({ redisUrl, log: (line) => lines.push(line) }).catch((reason: unknown) => reason);

    expect(error).toMatchObject({ code: 'redis_unreachable', message: expect.stringContaining('ECONNREFUSED') });
    expect(String(error)).not.toContain('hush');
    expect(String(error)).not.toContain('me:');
    expect(lines).toEqual([]);
  });

  test('provideRedis stops waiting for a server at REDIS_URL that accepts connections and never answers', async () => {
    const port = await listenSilently();

    await expect(provideRedis({ redisUrl: `redis://127.0.0.1:${port}` })).rejects.toMatchObject({
      code: 'redis_unreachable',
      message: expect.stringContaining('no answer within'),
    });
  });
});

describe('an address', () => {
  test.each([
    ['redis://host:6379', 'redis://host:6379'],
    ['rediss://me:hush@host/2', 'rediss://***@host/2'],
    ['redis://:hush@host', 'redis://***@host'],
    ['redis://host/0?password=hush', 'redis://host/0'],
  ])('the Redis address %s is shown without credentials as %s', (url, shown) => {
    expect(redactUrl(url)).toBe(shown);
  });

  test.each(['localhost', 'hush@host:6379', 'http://me:hush@host', 'redis://'])(
    'provideRedis refuses the address %s without repeating it',
    async (redisUrl) => {
      const error = await provideRedis({ redisUrl }).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: 'redis_url_invalid' });
      expect(String(error)).not.toContain('hush');
    },
  );
});

describe('a given Redis with a password', () => {
  test('provideRedis uses a Redis with a password, never stops it, and hides a wrong password', async ({ skip }) => {
    const found = await findServerFolder(home);
    if ('obstacle' in found) return skip(found.obstacle);
    const server = await provideRedis({ env: makeEnv(home, found.folder), sources: ['path'] });
    onTestFinished(() => server.stop());
    const client = new Redis(server.url);
    onTestFinished(() => client.disconnect());
    await client.config('SET', 'requirepass', 'hush');
    const address = server.url.replace('redis://', '');

    const given = await provideRedis({ redisUrl: `redis://:hush@${address}` });
    expect(given).toMatchObject({ source: 'configured', url: `redis://:hush@${address}` });
    expect(given.description).toMatch(
      /^(Redis|Valkey) \d+\.\d+\.\d+ at redis:\/\/\*\*\*@127\.0\.0\.1:\d+ \(REDIS_URL\)$/,
    );
    await given.stop();
    expect(await client.ping()).toBe('PONG');

    const wrong = await provideRedis({ redisUrl: `redis://:wrongword@${address}` }).catch((reason: unknown) => reason);
    expect(wrong).toMatchObject({ code: 'redis_denied', message: expect.stringContaining('WRONGPASS') });
    expect(String(wrong)).not.toContain('wrongword');
    const none = provideRedis({ redisUrl: server.url });
    await expect(none).rejects.toMatchObject({ code: 'redis_denied', message: expect.stringContaining('NOAUTH') });
  });
});
