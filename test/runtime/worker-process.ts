// Separate process of the tests: workers of the given roles that kill themselves at the first event of a type. Writes
// before the event are done, and later ones have not begun.
import type { WorkerEvent } from '../../src/domain/events.ts';
import { startWorkers, type WorkerRole } from '../../src/host/start-workers.ts';
import { createMortalAgent } from './agents.ts';
import { SHARDS } from './fixture.ts';

const [redisUrl = '', roles = '', dieAt = ''] = process.argv.slice(2);

function die(event: WorkerEvent): void {
  if (event.type !== dieAt) return;
  process.kill(process.pid, 'SIGKILL');
  // The signal may take a moment.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

await startWorkers({
  redisUrl,
  agents: [createMortalAgent()],
  roles: roles.split(',') as WorkerRole[],
  shards: SHARDS,
  queueShards: 1,
  concurrency: { turn: 2, compaction: 2, summarization: 1 },
  shutdownMs: 1_000,
  onEvent: die,
});
