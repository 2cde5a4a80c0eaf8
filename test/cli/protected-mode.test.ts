import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';
import { findRefusal, PROTECTED_MODE } from '../../src/store/redis/find-refusal.ts';
import { findClosedPort, listenSilently } from '../local-redis/fixture.ts';
import { runTurnfold, spawnTurnfold } from './run-turnfold.ts';

const AGENTS = fileURLToPath(new URL('../setup/workspace-agents.ts', import.meta.url));

/** First bytes of Redis 7.0.15 in protected mode. Redis sends them only to other machines, so the test replays them. */
const DENIED =
  '-DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user. In this mode connections are only accepted from the loopback interface.\r\n';

/** A server that sends these bytes to every client and hangs up. @returns its address */
async function listenAndSay(words: string): Promise<string> {
  const listener = createServer((socket) => void socket.on('error', () => undefined).end(words));
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  onTestFinished(() => void listener.close());
  return `redis://127.0.0.1:${(listener.address() as AddressInfo).port}`;
}

test('a Redis in protected mode, which refuses remote clients, is detected by the first bytes that it sends', async () => {
  expect(await findRefusal({ url: await listenAndSay(DENIED) })).toBe(PROTECTED_MODE);
  expect(await findRefusal({ url: await listenAndSay('-ERR max number of clients reached\r\n') })).toBeUndefined();
  expect(await findRefusal({ url: await listenAndSay('') })).toBeUndefined();
  expect(await findRefusal({ url: `redis://127.0.0.1:${await listenSilently()}` })).toBeUndefined();
  expect(await findRefusal({ url: 'redis://127.0.0.1:port' })).toBeUndefined();
  expect(await findRefusal({ url: `redis://127.0.0.1:${await findClosedPort()}` })).toBeUndefined();
});

test('provideRedis reports protected mode of a configured Redis with a remedy', async () => {
  await expect(provideRedis({ redisUrl: await listenAndSay(DENIED) })).rejects.toMatchObject({
    code: 'redis_unreachable',
    message: expect.stringContaining('protected mode (DENIED)'),
    hint: expect.stringContaining('requirepass'),
  });
});

test('a worker exits with 78 and one line if Redis is in protected mode', async () => {
  const env = { REDIS_URL: await listenAndSay(DENIED) };
  const run = await spawnTurnfold(['worker', '--agents', AGENTS], { env });
  expect(run.code).toBe(78);
  expect(run.stderr.trim().split('\n')).toHaveLength(1);
  expect(run.stderr).toMatch(/^turnfold: redis_unavailable: .*protected mode \(DENIED\).*requirepass/);
});

test('a command exits with 78 and names the remedy if Redis is in protected mode', async () => {
  const run = await runTurnfold(['show', 'c1'], { env: { REDIS_URL: await listenAndSay(DENIED) } });
  expect(run).toMatchObject({ code: 78, stdout: '' });
  expect(run.stderr).toMatch(/turnfold: redis_unavailable: .*protected mode \(DENIED\).*requirepass/);
});
