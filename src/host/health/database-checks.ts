import { describeLoss } from '../../domain/database-loss.ts';
import type { QueueReport } from '../../jobs/bullmq/queue-reports.ts';
import type { DatabaseWatch } from '../../store/database-watch.ts';
import type { GateState } from '../../store/gates.ts';
import type { DatabaseFacts, Inspection } from '../../store/inspection.ts';
import type { ShardMeasure } from '../../store/measures.ts';
import type { MissingAgent } from '../../store/missing-agents.ts';
import type { QuarantinedRecord } from '../../store/quarantine.ts';
import type { WebhookStatus } from '../../store/webhooks.ts';
import { type Finding, findOk, findWarning, findWrong } from './finding.ts';

interface DatabaseTerms {
  readonly shards: number;
  /** ms after which an overdue record counts as stuck. */
  readonly stuckMs: number;
}

export async function examineDatabase(inspection: Inspection, terms: DatabaseTerms): Promise<Finding[]> {
  return [
    ...(await examineSettings(inspection, terms)),
    findOk('scripts', `all ${await inspection.loadScripts()} Redis scripts can be loaded`),
    ...(await examineLatency(inspection)),
  ];
}

async function examineSettings(inspection: Inspection, { shards, stuckMs }: DatabaseTerms): Promise<Finding[]> {
  const found = await inspection.readDatabase();
  if (found === undefined) return [findOk('database', `empty: the first worker creates it with ${shards} shards`)];
  return [
    examineLoss(await inspection.readDatabaseLoss()),
    examineSchema(found),
    found.shards === shards
      ? findOk('shards', `${shards} shards, as in the database`)
      : findWrong(
          'shards',
          `the database has ${found.shards} shards, but TURNFOLD_SHARDS is ${shards}: workers refuse to start`,
          `Set TURNFOLD_SHARDS to ${found.shards}, or use another database.`,
        ),
    ...examineShards(await inspection.measureShards(found.shards), stuckMs),
    examineQuarantined(await inspection.listQuarantined(found.shards)),
    examineWebhooks(await inspection.listWebhooks()),
  ];
}

/** Reports a loss as a warning, because all processes continue with the data that is left. */
export function examineLoss(loss: Awaited<ReturnType<DatabaseWatch['readLoss']>>): Finding {
  const name = 'database';
  if (loss === undefined) return findOk(name, 'no loss of data was noticed within a day');
  const what = `${describeLoss(loss)}. Noticed ${Math.round(loss.agoMs / 60_000)} min ago`;
  return findWarning(name, what, 'docs/runbook.md (TurnfoldDatabaseLost) explains the causes and what to do.');
}

function examineSchema({ schema, current, refusal }: DatabaseFacts): Finding {
  const name = 'schema';
  if (refusal !== undefined) return findWrong(name, refusal.reason, 'Until then, workers and clients refuse to start.');
  if (schema === current) return findOk(name, `${schema}, as this program expects`);
  return findOk(name, `${schema}, and the first worker of this program raises it to ${current}`);
}

/** Every running worker sweeps each shard once a second, so an overdue record shows that no worker runs. */
export function examineShards(measure: ShardMeasure, stuckMs: number): Finding[] {
  const { overdue, oldestOverdueMs, openPasses, oldestOpenPassMs, failedTurns, oldestIdleMs } = measure;
  const due = formatAge(overdue.turn + overdue.pass + overdue.scheduled, oldestOverdueMs);
  const passes = formatAge(openPasses, oldestOpenPassMs);
  const idle = formatAge(overdue.idle, oldestIdleMs);
  return [
    oldestOverdueMs <= stuckMs
      ? findOk('overdue entries', due)
      : findWrong(
          'overdue entries',
          `${due}: no worker sweeps them`,
          'Start a worker. If a worker is running, read its log.',
        ),
    oldestOpenPassMs <= stuckMs
      ? findOk('open passes', passes)
      : findWarning('open passes', passes, 'Start more compaction or summarization workers, or read their logs.'),
    oldestIdleMs <= stuckMs
      ? findOk('conversations to erase', idle)
      : findWarning(
          'conversations to erase',
          `${idle}: their idle TTL has passed`,
          'Start a worker. If a worker is running, read its log. Erasing very many conversations takes time.',
        ),
    failedTurns === 0
      ? findOk('failed turns', 'no turn failed in the last seven days')
      : findWarning(
          'failed turns',
          `${failedTurns} are kept`,
          'turnfold failed lists them with their errors. turnfold redrive runs one again.',
        ),
  ];
}

const NAMED_RECORDS = 3;

/** Conversations with a record in quarantine make no progress until a person repairs or drops the record. */
export function examineQuarantined(records: readonly QuarantinedRecord[]): Finding {
  const name = 'corrupt records';
  if (records.length === 0) return findOk(name, 'no unreadable record was found');
  const first = records.slice(0, NAMED_RECORDS).map((record) => {
    return `${JSON.stringify(record.name)} in shard ${record.shard} (${record.why})`;
  });
  const more = records.length > NAMED_RECORDS ? ' …' : '';
  const what = `${records.length} unreadable and set aside: ${first.join(', ')}${more}`;
  return findWrong(name, what, 'turnfold quarantine lists them. docs/runbook.md explains how to repair or drop each.');
}

export function examineWebhooks(webhooks: readonly WebhookStatus[]): Finding {
  const name = 'webhooks';
  const dead = webhooks.filter(({ health }) => health.deadAt !== undefined);
  const failing = webhooks.filter(({ health }) => health.deadAt === undefined && health.failingSince !== undefined);
  const lossy = webhooks.filter(({ health }) => health.losses !== undefined);
  const troubled = [
    ...describeSome(dead, 'set aside'),
    ...describeSome(failing, 'failing'),
    ...describeSome(lossy, 'missed events'),
  ];
  if (troubled.length === 0)
    return findOk(name, webhooks.length === 0 ? 'none' : `${webhooks.length}, none is failing`);
  const remedy = 'turnfold webhooks list shows why. Repair the receiver, then run turnfold webhooks retry.';
  return findWarning(name, troubled.join(', '), remedy);
}

function describeSome(webhooks: readonly WebhookStatus[], what: string): string[] {
  const [first, ...others] = webhooks;
  if (first === undefined) return [];
  const { id, tenant } = first.webhook;
  return [`${what}: ${id} of tenant ${tenant}${others.length === 0 ? '' : ` and ${others.length} more`}`];
}

function formatAge(count: number, oldestMs: number): string {
  return count === 0 ? 'none' : `${count}, the oldest for ${Math.round(oldestMs / 1_000)} s`;
}

const PINGS = 100;
/** ms from which an answer of Redis is slow: each step of a turn makes about five calls, one after the other. */
const SLOW_MS = 20;
/** ms from which a slow answer is an error: a worker renews its leases every 2 s, and no lease of 8 s may lapse. */
const TOO_SLOW_MS = 1_000;
const SKEWED_MS = 1_000;

async function examineLatency(inspection: Inspection): Promise<Finding[]> {
  const { p50Ms, p99Ms, skewMs } = await inspection.measureAnswers(PINGS);
  const what = `p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms of ${PINGS} pings`;
  const remedy = 'Run workers near Redis. Check the SLOWLOG, CPU and disk of Redis.';
  const latency =
    p99Ms > TOO_SLOW_MS
      ? findWrong('latency', what, remedy)
      : p50Ms > SLOW_MS
        ? findWarning('latency', what, remedy)
        : findOk('latency', what);
  const isSkewed = Math.abs(skewMs) > SKEWED_MS;
  const skew = `${Math.abs(Math.round(skewMs))} ms ${skewMs < 0 ? 'behind' : 'ahead of'} this machine`;
  return [
    latency,
    isSkewed
      ? findWarning(
          'clock',
          `Redis is ${skew}: leases are correct, but measured waits are not`,
          'Use NTP on both machines.',
        )
      : findOk('clock', `Redis is ${skew}`),
  ];
}

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
    const remedy = 'Resume the BullMQ queue with resume() or a queue dashboard.';
    return findWrong(name, `paused (shard ${paused.join(', ')}): workers take no jobs from it`, remedy);
  }
  const waits = shards.flatMap(({ waitMs }) => (waitMs === undefined ? [] : [waitMs]));
  if (waits.length === 0) return findOk(name, 'no job waits');
  const waitMs = Math.max(...waits);
  if (waitMs <= stuckMs) return findOk(name, `oldest job waits ${Math.round(waitMs)} ms`);
  const remedy = `To take jobs faster, start more workers: turnfold worker --roles ${queue}.`;
  return findWarning(name, `oldest job waits ${Math.round(waitMs / 1_000)} s`, remedy);
}

function examineWorkers(queue: string, shards: readonly QueueReport[]): Finding {
  const name = `${queue} workers`;
  const counts = shards.flatMap(({ workers }) => (workers === undefined ? [] : [workers]));
  if (counts.length < shards.length) return findOk(name, 'number unknown: this Redis does not list its clients');
  const least = Math.min(...counts);
  if (least > 0) return findOk(name, `${least} connected`);
  const remedy = `Start a worker: turnfold worker --roles ${queue} --agents <file>.`;
  return shards.some(({ waitMs }) => waitMs !== undefined)
    ? findWrong(name, 'jobs wait, but no worker is connected', remedy)
    : findWarning(name, 'no worker is connected', remedy);
}

export function examineGates(gates: readonly GateState[]): Finding {
  const name = 'gates of models';
  const limited = gates.filter(({ waiting, pausedMs }) => waiting > 0 || pausedMs > 0);
  if (limited.length === 0) return findOk(name, 'no provider limits the calls of a model');
  const listed = limited.map(({ gate, pausedMs, perMinute, waiting }) => {
    const pause = pausedMs > 0 ? `paused for ${Math.ceil(pausedMs / 1_000)} s` : 'open';
    const rate = perMinute === undefined ? '' : `, about ${Math.round(perMinute)} calls a minute`;
    return `${gate} (${pause}${rate}, ${waiting} waiting)`;
  });
  return findWarning(
    name,
    `providers limit the calls of models: ${listed.join(', ')}`,
    'The calls wait in order, each step for at most providerWaitMs (a day). Ask the provider for a higher limit, or give the agents a list of models.',
  );
}

export function examineMissingAgents(missing: readonly MissingAgent[]): Finding {
  const name = 'agents';
  if (missing.length === 0) return findOk(name, 'no work waits for an agent that no worker has');
  const listed = missing
    .map(({ agent, role, forMs }) => `${agent} (role ${role}, for ${Math.round(forMs / 1_000)} s)`)
    .join(', ');
  return findWrong(
    name,
    `work waits for agents that no running worker of its role has: ${listed}`,
    'Start a worker of that role whose --agents file has them. Otherwise the turns fail as unknown_agent.',
  );
}
