import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { provideRedis } from '../../src/local-redis/provide-redis.ts';
import { findRefusal, PROTECTED_MODE } from '../../src/redis/find-refusal.ts';
import { findClosedPort, listenSilently } from '../local-redis/fixture.ts';
import { runTurnfold, spawnTurnfold } from './run-turnfold.ts';

const AGENTS = fileURLToPath(new URL('../setup/workspace-agents.ts', import.meta.url));

/** How Redis 7.0.15 begins. It speaks only to other machines, which a test has not got. */
const DENIED =
  '-DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user. In this mode connections are only accepted from the loopback interface.\r\n';

/** Says so to everyone at once and hangs up. @returns its address */
async function listenAndSay(words: string): Promise<string> {
  const listener = createServer((socket) => void socket.on('error', () => undefined).end(words));
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  onTestFinished(() => void listener.close());
  return `redis://127.0.0.1:${(listener.address() as AddressInfo).port}`;
}

test('is known by what a Redis says unasked', async () => {
  expect(await findRefusal({ url: await listenAndSay(DENIED) })).toBe(PROTECTED_MODE);
  expect(await findRefusal({ url: await listenAndSay('-ERR max number of clients reached\r\n') })).toBeUndefined();
  expect(await findRefusal({ url: await listenAndSay('') })).toBeUndefined();
  expect(await findRefusal({ url: `redis://127.0.0.1:${await listenSilently()}` })).toBeUndefined();
  expect(await findRefusal({ url: 'redis://127.0.0.1:port' })).toBeUndefined();
  expect(await findRefusal({ url: `redis://127.0.0.1:${await findClosedPort()}` })).toBeUndefined();
});

test('reports protected mode of a configured Redis with its remedy', async () => {
  await expect(provideRedis({ redisUrl: await listenAndSay(DENIED) })).rejects.toMatchObject({
    code: 'redis_unreachable',
    message: expect.stringContaining('protected mode (DENIED)'),
    hint: expect.stringContaining('requirepass'),
  });
});

test('ends a worker at its start with one line and exit code 78', async () => {
  const env = { REDIS_URL: await listenAndSay(DENIED) };
  const run = await spawnTurnfold(['worker', '--agents', AGENTS], { env });
  expect(run.code).toBe(78);
  expect(run.stderr.trim().split('\n')).toHaveLength(1);
  expect(run.stderr).toMatch(/^turnfold: redis_unavailable: .*protected mode \(DENIED\).*requirepass/);
});

test('is said by the commands', async () => {
  const run = await runTurnfold(['show', 'c1'], { env: { REDIS_URL: await listenAndSay(DENIED) } });
  expect(run).toMatchObject({ code: 78, stdout: '' });
  expect(run.stderr).toMatch(/turnfold: redis_unavailable: .*protected mode \(DENIED\).*requirepass/);
});
