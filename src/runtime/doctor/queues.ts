import { type Finding, findOk, findWarning, findWrong } from '../../health/finding.ts';
import type { QueueReport } from '../../queue/queue-reports.ts';

/** What the queues hold, and who takes it. */
export function examineQueues(reports: readonly QueueReport[], stuckMs: number): Finding[] {
  const byQueue = Map.groupBy(reports, ({ queue }) => queue);
  return [...byQueue].flatMap(([queue, shards]) => [
    examineIntake(queue, shards, stuckMs),
    examineWorkers(queue, shards),
  ]);
}

function examineIntake(queue: string, shards: readonly QueueReport[], stuckMs: number): Finding {
  const name = `queue ${queue}`;
  const paused = shards.filter(({ isPaused }) => isPaused).map(({ shard }) => shard);
  if (paused.length > 0) {
    const remedy = 'Resume it as it was paused: with resume() of its BullMQ queue, or a board for it.';
    return findWrong(name, `paused (shard ${paused.join(', ')}): nothing is taken from it`, remedy);
  }
  const waits = shards.flatMap(({ waitMs }) => (waitMs === undefined ? [] : [waitMs]));
  if (waits.length === 0) return findOk(name, 'nothing waits');
  const waitMs = Math.max(...waits);
  if (waitMs <= stuckMs) return findOk(name, `waits ${Math.round(waitMs)} ms`);
  const remedy = `More workers for it: turnfold worker --roles ${queue}.`;
  return findWarning(name, `what has waited longest has for ${Math.round(waitMs / 1_000)} s`, remedy);
}

function examineWorkers(queue: string, shards: readonly QueueReport[]): Finding {
  const name = `${queue} workers`;
  const counts = shards.flatMap(({ workers }) => (workers === undefined ? [] : [workers]));
  if (counts.length < shards.length) return findOk(name, 'this Redis does not list its clients');
  const least = Math.min(...counts);
  if (least > 0) return findOk(name, `${least} connected`);
  const remedy = `turnfold worker --roles ${queue} --agents <file>`;
  return shards.some(({ waitMs }) => waitMs !== undefined)
    ? findWrong(name, 'none is connected, and work waits', remedy)
    : findWarning(name, 'none is connected', remedy);
}
