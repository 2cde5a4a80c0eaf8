import childProcesses from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { ConversationRef } from '../../src/domain/ids.ts';
import { TURN_LIMITS } from '../../src/domain/turn.ts';
import { startWorkers } from '../../src/host/start-workers.ts';
import { Keyspace } from '../../src/store/keys.ts';
import { agentOf } from './agents.ts';
import { openFixture, SHARDS, settled } from './fixture.ts';

/**
 * Node throws for a lack of memory, and under `--permission` without `--allow-child-process`. A mock of the module would
 * not reach sources that an earlier test file of this process has loaded.
 */
function refuseProcesses(): void {
  const fork = vi.spyOn(childProcesses, 'fork').mockImplementation(() => {
    throw new Error('spawn ENOMEM');
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    fork.mockRestore();
    syncBuiltinESMExports();
  });
}

const REF: ConversationRef = { tenant: '_', id: 'c1' };

it('a turn whose workers died twice runs in its worker if Node refuses to start a process for the turn', async () => {
  refuseProcesses();
  const fixture = await openFixture();
  onTestFinished(() => fixture.close());
  await fixture.enqueue(REF.id, 't1', 'hello');
  await fixture.redis.hset(new Keyspace(SHARDS).key(REF, 'c'), 'attempts', TURN_LIMITS.maxAttempts - 1);
  const ends: unknown[] = [];
  const workers = await startWorkers({
    redisUrl: fixture.redisUrl,
    agents: [agentOf()],
    agentsModule: new URL('agents.ts', import.meta.url),
    shards: SHARDS,
    queueShards: 1,
    onEvent: (event) => void (event.type === 'suspect_process_ended' && ends.push(event)),
  });
  onTestFinished(async () => void (await workers.close()));
  expect(await settled(fixture, REF.id, 't1')).toMatchObject({ state: 'completed' });
  expect(ends).toMatchObject([{ turn: 't1', outcome: 'not_started', error: { message: 'spawn ENOMEM' } }]);
});
