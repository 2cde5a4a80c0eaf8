import { expect, test } from 'vitest';
import { openClient } from '../../src/api/client/index.ts';
import { DEMO_PREFIX } from '../../src/cli/demo/demo-agent.ts';
import { createWorkspaceAgent } from '../../src/cli/demo/workspace-agent.ts';
import { startWorkers } from '../../src/host/start-workers.ts';
import { openOwnRedis } from './own-redis.ts';
import { type Run, spawnTurnfold } from './run-turnfold.ts';

/** A Redis with an unclaimed turn of `agent`. `run` returns the state of that turn after a command. */
async function openShared(agent: string) {
  const { url } = await openOwnRedis();
  const client = await openClient({ redisUrl: url });
  await client.enqueueTurn({ conversation: 'c1', agent, turn: 't1', input: 'hello' });
  const run = async (...args: string[]): Promise<Run & { readonly state: string }> => {
    const ended = await spawnTurnfold(args, { env: { REDIS_URL: url }, input: '/quit\n' });
    return { ...ended, state: (await client.result('c1', 't1')).state };
  };
  return { url, client, run };
}

test.each([[['demo']], [['dev']]])(
  'the command %j refuses to start on a Redis that has turns of unknown agents',
  async (args) => {
    const { client, run } = await openShared('support');
    const ended = await run(...args);
    expect(ended).toMatchObject({ code: 1, state: 'queued' });
    expect(ended.stderr).toContain('invalid_config: REDIS_URL: the database has turns for support.');
    expect(ended.stderr).toContain('To see what waits, run: turnfold describe c1');
    await client.close();
  },
);

test.each([[['demo', '--json']], [['dev']]])(
  'the command %j ignores the turns of an interrupted demo',
  async (args) => {
    const { client, run } = await openShared(`${DEMO_PREFIX}x`);
    expect(await run(...args)).toMatchObject({ code: 0 });
    await client.close();
  },
);

test('turnfold dev refuses a database with other turn workers, and runs open turns of its own agents otherwise', async () => {
  const { url, client, run } = await openShared('workspace');
  expect(await run('dev')).toMatchObject({ code: 0 });
  const agents = [createWorkspaceAgent(process.cwd())];
  const workers = await startWorkers({ redisUrl: url, agents, roles: ['turn'], shutdownMs: 2_000 });
  expect(await client.result('c1', 't1', { waitMs: 60_000 })).toMatchObject({ state: 'completed' });
  const ended = await run('dev');
  expect(ended.code).toBe(1);
  expect(ended.stderr).toContain('invalid_config: REDIS_URL: 1 other turn workers are connected');
  const elsewhere = await spawnTurnfold(['dev'], { env: { REDIS_URL: `${url}/1` }, input: '/quit\n' });
  expect(elsewhere).toMatchObject({ code: 0 });
  await workers.close();
  await client.close();
});
