import { describe, expect, onTestFinished, test } from 'vitest';
import { openClient } from '../../src/api/client/index.ts';
import { waitForRedis } from '../../src/cli/redis-outage.ts';
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';
import { findClosedPort } from '../local-redis/fixture.ts';
import { hasServer, startServer } from '../redis-modes/servers.ts';
import { collectOutput, endOf, type Run, readJsonLines, runTurnfold, startTurnfold } from './run-turnfold.ts';

const WAITING = /^the Redis at redis:\/\/\S+ does not answer, retrying for up to (5|30) s\n/;

/** Starts a command, and a server once the command says that it waits for one. */
async function runBeforeServer(
  args: readonly string[],
  { login = '', serverArgs = [], input = '' }: { login?: string; serverArgs?: readonly string[]; input?: string } = {},
): Promise<Run & { readonly url: string }> {
  const port = await findClosedPort();
  const url = `redis://${login}127.0.0.1:${port}`;
  const command = startTurnfold(args, { REDIS_URL: url, TURNFOLD_SHARDS: '4' });
  const end = endOf(command);
  let said = '';
  command.stderr?.on('data', (piece: Buffer) => void (said += piece.toString()));
  command.stdin?.end(input);
  await expect.poll(() => said).toMatch(WAITING);
  const server = await startServer({ port, args: serverArgs, ...(serverArgs.length > 0 && { password: 'right' }) });
  onTestFinished(() => server.stop());
  return { ...(await end), url };
}

describe.skipIf(!hasServer)('a command that starts before its Redis', () => {
  test('a command without Redis reports once that it waits, and runs as soon as Redis answers', async () => {
    const { code, stdout, stderr, url } = await runBeforeServer(['enqueue', 'c1', 'hi', '--agent', 'a', '--json']);
    expect(code, stderr).toBe(0);
    expect(stderr.split('\n')).toHaveLength(2);
    expect(readJsonLines(stdout)).toMatchObject([{ tenant: '_', conversation: 'c1', state: 'queued', isNew: true }]);
    const client = await openClient({ redisUrl: url, shards: 4 });
    onTestFinished(() => client.close());
    expect((await client.openTurns('c1')).turns).toHaveLength(1);
  });

  test('a command that waits for Redis fails at once if the Redis that starts has another password', async () => {
    const wrong = { login: ':wrong@', serverArgs: ['--requirepass', 'right'] };
    const { code, stderr } = await runBeforeServer(['show', 'c1'], wrong);
    expect(code).toBe(78);
    expect(stderr).toMatch(/\nturnfold: redis_denied: .*WRONGPASS/);
    expect(stderr).not.toContain('wrong@');
  });

  test('turnfold quarantine waits for Redis and then lists the unreadable records', async () => {
    const { code, stderr } = await runBeforeServer(['quarantine']);
    expect(code, stderr).toBe(0);
    expect(stderr).toContain('no records in quarantine');
  });

  test('turnfold dev waits up to 30 s for Redis and then answers', async () => {
    const { code, stdout, stderr } = await runBeforeServer(['dev'], { input: 'list src/jobs\n/quit\n' });
    expect(code, stderr).toBe(0);
    expect(stderr).toContain('retrying for up to 30 s');
    expect(stdout).toContain('queues.ts');
  });
});

test.skipIf(!hasServer)('commands with a wrong password fail at once instead of waiting', async () => {
  const server = await startServer({ args: ['--requirepass', 'right'], password: 'right' });
  onTestFinished(() => server.stop());
  const env = { REDIS_URL: `redis://:wrong@127.0.0.1:${server.port}` };
  for (const command of [['show', 'c1'], ['enqueue', 'c1', 'hi', '--agent', 'a'], ['dev']]) {
    const { code, stderr } = await runTurnfold(command, { env, keepsWaitNote: true });
    expect(code).toBe(78);
    expect(stderr).toMatch(/^turnfold: redis_denied: [^\n]*WRONGPASS[^\n]*\n$/);
  }
});

test('SIGTERM ends dev while it waits for Redis', async () => {
  const dev = startTurnfold(['dev'], { REDIS_URL: `redis://127.0.0.1:${await findClosedPort()}` });
  const end = endOf(dev);
  let said = '';
  dev.stderr?.on('data', (piece: Buffer) => void (said += piece.toString()));
  await expect.poll(() => said).toMatch(WAITING);
  dev.kill('SIGTERM');
  expect((await end).stderr).not.toContain('redis_unreachable');
});

test('a wait for Redis that times out fails with a remedy and without the password', async () => {
  const { output, printed } = collectOutput();
  const url = `redis://me:hush@127.0.0.1:${await findClosedPort()}`;
  const wait = { location: { url, tls: undefined }, waitMs: 600, output };
  await expect(waitForRedis(wait, () => provideRedis({ redisUrl: url }))).rejects.toMatchObject({
    code: 'redis_unreachable',
    hint: expect.stringMatching(/^Start that Redis, /) as string,
  });
  expect(printed.stderr).toMatch(/^the Redis at redis:.* does not answer, retrying for up to 0.6 s\n$/);
  expect(printed.stderr).not.toContain('hush');
});
