import type { ShardMeasure } from '../../domain/ports/sweep-store.ts';
import { type Finding, findOk, findWarning, findWrong } from '../../health/finding.ts';
import type { Inspection, QuarantinedRecord } from '../../store/inspection.ts';

export interface DatabaseTerms {
  readonly shards: number;
  /** an entry that is overdue for so long is nobody's */
  readonly stuckMs: number;
}

/** What lies in the Redis, and how quickly it is got. */
export async function examineDatabase(inspection: Inspection, terms: DatabaseTerms): Promise<Finding[]> {
  return [
    ...(await examineSettings(inspection, terms)),
    findOk('scripts', `all ${await inspection.loadScripts()} are understood`),
    ...(await examineAnswers(inspection)),
  ];
}

async function examineSettings(inspection: Inspection, { shards, stuckMs }: DatabaseTerms): Promise<Finding[]> {
  const found = await inspection.readDatabase();
  if (found === undefined) return [findOk('database', `new: the first worker makes it, with ${shards} shards`)];
  return [
    examineSchema(found.schema, found.knownSchema),
    found.shards === shards
      ? findOk('shards', `${shards}, as it was made with`)
      : findWrong(
          'shards',
          `it was made with ${found.shards}, and TURNFOLD_SHARDS says ${shards}: workers refuse it`,
          `Set TURNFOLD_SHARDS to ${found.shards}, or use another database.`,
        ),
    ...examineShards(await inspection.measureShards(found.shards), stuckMs),
    examineQuarantined(await inspection.listQuarantined(found.shards)),
  ];
}

function examineSchema(found: number, known: number): Finding {
  const name = 'schema';
  if (found === known) return findOk(name, `${found}, this program's own`);
  if (found < known) return findOk(name, `${found}; the first worker of this program raises it to ${known}`);
  return findWrong(name, `${found}, and this program knows up to ${known}: workers refuse it`, 'Update turnfold here.');
}

/** Each sweep pushes out what is due, so that nothing is overdue for long while any worker runs. */
function examineShards(measure: ShardMeasure, stuckMs: number): Finding[] {
  const { overdue, oldestOverdueMs, openPasses, oldestOpenPassMs, failedTurns, oldestIdleMs } = measure;
  const due = tellAge(overdue.turn + overdue.pass + overdue.scheduled, oldestOverdueMs);
  const passes = tellAge(openPasses, oldestOpenPassMs);
  const rested = tellAge(overdue.idle, oldestIdleMs);
  return [
    oldestOverdueMs <= stuckMs
      ? findOk('overdue entries', due)
      : findWrong('overdue entries', `${due}: no worker sweeps`, 'Start a worker; if one runs, see its log.'),
    oldestOpenPassMs <= stuckMs
      ? findOk('open passes', passes)
      : findWarning('open passes', passes, 'More compaction or summarization workers, or see what their log says.'),
    oldestIdleMs <= stuckMs
      ? findOk('conversations to erase', rested)
      : findWarning(
          'conversations to erase',
          `${rested}: they have been idle for longer than their policy lets them`,
          'Start a worker; if one runs, see its log. Very many that end together take their time.',
        ),
    failedTurns === 0
      ? findOk('failed turns', 'none is kept')
      : findWarning(
          'failed turns',
          `${failedTurns} are kept`,
          'turnfold failed says why; turnfold redrive brings one again.',
        ),
  ];
}

const NAMED_RECORDS = 3;

/** Their conversations stand still until somebody repairs them. */
function examineQuarantined(records: readonly QuarantinedRecord[]): Finding {
  const name = 'corrupt records';
  if (records.length === 0) return findOk(name, 'none is set aside');
  const first = records.slice(0, NAMED_RECORDS).map((record) => {
    return `${JSON.stringify(record.name)} in shard ${record.shard} (${record.why})`;
  });
  const more = records.length > NAMED_RECORDS ? ' …' : '';
  const what = `${records.length} set aside because they cannot be read: ${first.join(', ')}${more}`;
  return findWrong(name, what, 'turnfold quarantine lists them; docs/runbook.md says how to repair or drop each.');
}

function tellAge(count: number, oldestMs: number): string {
  return count === 0 ? 'none' : `${count}, the oldest for ${Math.round(oldestMs / 1_000)} s`;
}

const ASKED = 100;
/** A turn makes some five calls a step, one after the other. */
const SLOW_MS = 20;
/** A heartbeat is due every two seconds, and a lease ends after eight. */
const TOO_SLOW_MS = 1_000;
const SKEWED_MS = 1_000;

async function examineAnswers(inspection: Inspection): Promise<Finding[]> {
  const { p50Ms, p99Ms, skewMs } = await inspection.measureAnswers(ASKED);
  const what = `p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms of ${ASKED} questions`;
  const remedy = 'Bring workers and Redis together; see SLOWLOG, its CPU and its disk.';
  const latency =
    p99Ms > TOO_SLOW_MS
      ? findWrong('latency', what, remedy)
      : p50Ms > SLOW_MS
        ? findWarning('latency', what, remedy)
        : findOk('latency', what);
  const isSkewed = Math.abs(skewMs) > SKEWED_MS;
  const skew = `${Math.abs(Math.round(skewMs))} ms ${skewMs < 0 ? 'behind' : 'before'} this machine's`;
  return [
    latency,
    isSkewed
      ? findWarning('clock', `that of Redis is ${skew}: leases are right, measured waits are not`, 'Use NTP on both.')
      : findOk('clock', `that of Redis is ${skew}`),
  ];
}
