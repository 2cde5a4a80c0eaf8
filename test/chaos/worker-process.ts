// Run as a process of its own: a worker of some roles, until it is killed. What it does with turns and passes it tells on
// stdout, a line of JSON each: a pipe takes them before the next thing happens, so that a kill loses none.
import type { WorkerEvent } from '../../src/domain/events.ts';
import { startWorkers, type WorkerRole } from '../../src/runtime/start-workers.ts';
import { createAgent, createRecorder } from './agent.ts';

const [redisUrl = '', providerUrl = '', shards = '', roles = ''] = process.argv.slice(2);

function tell(told: object): void {
  process.stdout.write(`${JSON.stringify({ ...told, at: Date.now() })}\n`);
}

function tellEvent(event: WorkerEvent): void {
  switch (event.type) {
    case 'turn_claimed':
    case 'turn_suspended':
    case 'turn_settled':
      return tell({ type: event.type, key: `${event.conversation}/${event.turn}` });
    case 'lease_lost':
      if (event.what === 'turn') {
        tell({ type: event.type, key: `${event.conversation}/${event.turn}`, why: event.why });
      }
      return;
    case 'worker_failed':
      if (event.turn !== undefined) tell({ type: event.type, key: `${event.conversation}/${event.turn}` });
      return;
    case 'pass_ended':
      return tell({ type: event.type, outcome: event.outcome, reasons: event.reasons });
    default:
  }
}

await startWorkers({
  redisUrl,
  agents: [createAgent(providerUrl)],
  summarizers: [createRecorder(providerUrl)],
  roles: roles.split(',') as WorkerRole[],
  shards: Number(shards),
  queueShards: 1,
  concurrency: { turn: 16, compaction: 8, summarization: 8 },
  shutdownMs: 5_000,
  onEvent: tellEvent,
});
// Whoever started this process holds the other end: dead, it takes its workers along.
process.stdin.on('end', () => process.exit(1)).resume();
tell({ type: 'started' });
