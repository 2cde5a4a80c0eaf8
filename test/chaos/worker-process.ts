// A worker process, until it is killed. It reports its turns and passes on stdout, one line of JSON each. The pipe receives a
// line before the worker continues, so a kill loses no line.
import type { WorkerEvent } from '../../src/domain/events.ts';
import { startWorkers, type WorkerRole } from '../../src/host/start-workers.ts';
import { createAgent, createRecorder } from './agent.ts';

const beganAt = Date.now();
const [redisUrl = '', providerUrl = '', shards = '', roles = '', release = ''] = process.argv.slice(2);

function report(fields: object): void {
  process.stdout.write(`${JSON.stringify({ ...fields, at: Date.now() })}\n`);
}

function reportEvent(event: WorkerEvent): void {
  switch (event.type) {
    case 'turn_claimed':
    case 'turn_suspended':
    case 'turn_settled':
      return report({ type: event.type, key: `${event.conversation}/${event.turn}` });
    case 'lease_returned':
    case 'lease_lost':
      if (event.what === 'turn') {
        const why = event.type === 'lease_lost' ? event.why : undefined;
        report({ type: event.type, key: `${event.conversation}/${event.turn}`, why });
      }
      return;
    case 'worker_failed':
      if (event.turn !== undefined) report({ type: event.type, key: `${event.conversation}/${event.turn}` });
      return;
    case 'worker_lost':
      return report({ type: event.type, name: event.worker, roles: event.roles });
    case 'pass_ended':
      return report({ type: event.type, outcome: event.outcome, reasons: event.reasons });
    default:
  }
}

process.env['CHAOS_PROVIDER'] = providerUrl;
process.env['CHAOS_RELEASE'] = release;
await startWorkers({
  redisUrl,
  agents: [createAgent(providerUrl, Number(release))],
  agentsModule: new URL('agents-module.ts', import.meta.url),
  summarizers: [createRecorder(providerUrl)],
  roles: roles.split(',') as WorkerRole[],
  shards: Number(shards),
  queueShards: 1,
  concurrency: { turn: 16, compaction: 8, summarization: 8 },
  shutdownMs: 5_000,
  onEvent: reportEvent,
});
// The parent process owns the other end of stdin. If the parent dies, the worker ends too.
process.stdin.on('end', () => process.exit(1)).resume();
report({ type: 'started', beganAt, roles: roles.split(',') });
