import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { provideRedis } from '../../src/local-redis/provide-redis.ts';
import { findRefusal, PROTECTED_MODE } from '../../src/redis/refusal.ts';
import { findClosedPort, listenSilently } from '../local-redis/fixture.ts';
import { runTurnfold, startTurnfold } from './run-turnfold.ts';

const AGENTS = fileURLToPath(new URL('../../src/demo/agents.ts', import.meta.url));

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

test('of a given Redis is said with what to do', async () => {
  await expect(provideRedis({ redisUrl: await listenAndSay(DENIED) })).rejects.toMatchObject({
    code: 'redis_unreachable',
    message: expect.stringContaining('protected mode (DENIED)'),
    hint: expect.stringContaining('requirepass'),
  });
});

test('is said by a worker, which waits for it', async () => {
  const redisUrl = await listenAndSay(DENIED);
  const worker = startTurnfold(['worker', '--agents', AGENTS], { REDIS_URL: redisUrl });
  if (worker.stdout === null) throw new Error('its output is not piped');
  for await (const line of createInterface({ input: worker.stdout })) {
    expect(JSON.parse(line)).toMatchObject({
      event: 'worker_failed',
      error: { code: 'redis_unavailable', message: expect.stringContaining('protected mode (DENIED)') as string },
    });
    break;
  }
  expect(worker.exitCode).toBeNull();
  worker.kill('SIGTERM');
  worker.stdout.resume();
  await once(worker, 'exit');
  expect(worker.exitCode).toBe(0);
});

test('is said by the commands', async () => {
  const run = await runTurnfold(['show', 'c1'], { env: { REDIS_URL: await listenAndSay(DENIED) } });
  expect(run).toMatchObject({ code: 1, stdout: '' });
  expect(run.stderr).toMatch(/turnfold: redis_unavailable: .*protected mode \(DENIED\).*requirepass/);
});
