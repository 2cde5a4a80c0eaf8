import { LOST_AFTER_MS } from '../../domain/lease.ts';
import { HOUR_MINUTES, type StateCount } from '../../jobs/bullmq/queue-reports.ts';
import { type BoardQueue, type OpenWakeQueue, openWakeQueue } from '../../jobs/bullmq/wake-queue.ts';
import { QUEUES } from '../../jobs/queues.ts';
import { type Inspection, openInspection } from '../../store/inspection.ts';
import type { RedisLocation } from '../../store/redis/address.ts';
import type { WebhookStatus } from '../../store/webhooks.ts';
import { countWaitingTurns } from '../../telemetry/measured-gauges.ts';
import {
  examineGates,
  examineLoss,
  examineMissingAgents,
  examineQuarantined,
  examineQueues,
  examineShards,
  examineWebhooks,
} from './database-checks.ts';
import { examineInbox } from './inbox-check.ts';
import { WaitHistory } from './wait-history.ts';

export interface FleetOptions extends RedisLocation {
  readonly shards: number;
  readonly queueShards: number;
  readonly inbox: boolean;
  readonly stuckMs: number;
  readonly grafanaUrl: string | undefined;
  readonly onError: (error: unknown) => void;
  /** ms for which `read` returns the same report (1,000). */
  readonly keptMs?: number;
}

type FleetReport = Awaited<ReturnType<typeof readFleet>>;

export interface Fleet {
  /** Reads the report. Many open pages together cost Redis one reading a second. */
  read(): Promise<FleetReport>;
  readonly readLoss: Inspection['readDatabaseLoss'];
  readonly queues: readonly BoardQueue[];
  close(): Promise<void>;
}

const KEPT_MS = 1_000;
/** ms between two readings without a viewer. They make the waits of the last hour known. */
const LOOK_MS = 60_000;

/** Uses the checks of `doctor`, so both find the same problems. @throws redis_unavailable if Redis does not answer */
export async function openFleet(options: FleetOptions): Promise<Fleet> {
  const { url, tls, prefix, queueShards, onError } = options;
  const inspection = await openInspection({ url, tls, prefix });
  const wakes = openWakeQueue({ url, tls, prefix, shards: queueShards, onError, failsFast: true });
  const close = async (): Promise<void> => {
    inspection.close();
    await wakes.close();
  };
  await wakes.connect().catch(async (error: unknown) => {
    await close();
    throw error;
  });
  const waits = new Map<string, WaitHistory>();
  const read = keepFor(options.keptMs ?? KEPT_MS, () => readFleet(options, { inspection, wakes, waits }));
  const looks = setInterval(() => void read().catch(onError), LOOK_MS).unref();
  return {
    queues: wakes.listQueues(),
    read,
    readLoss: () => inspection.readDatabaseLoss(),
    async close() {
      clearInterval(looks);
      await close();
    },
  };
}

/** Concurrent calls share one reading. A failure is not kept. */
function keepFor<Value>(keptMs: number, read: () => Promise<Value>): () => Promise<Value> {
  let last: Promise<Value> | undefined;
  let endsAt = 0;
  return async () => {
    if (last !== undefined && performance.now() < endsAt) return await last;
    const reading = read();
    last = reading;
    endsAt = Number.POSITIVE_INFINITY;
    try {
      return await reading;
    } catch (error) {
      last = undefined;
      throw error;
    } finally {
      endsAt = performance.now() + keptMs;
    }
  };
}

interface FleetSources {
  readonly inspection: Inspection;
  readonly wakes: OpenWakeQueue;
  readonly waits: Map<string, WaitHistory>;
}

async function readFleet(options: FleetOptions, { inspection, wakes, waits }: FleetSources) {
  const { shards, stuckMs, inbox: isOn, grafanaUrl } = options;
  // The clock of this process may differ from that of Redis by more than the time between renewals.
  const at = await inspection.readClock();
  const [workers, failedTurns, backlog, quarantined, webhooks, missing, gates, loss] = await Promise.all([
    inspection.listWorkers(),
    inspection.countFailures(shards, { at, minutes: HOUR_MINUTES }),
    inspection.measureShards(shards),
    inspection.listQuarantined(shards),
    inspection.listWebhooks(),
    inspection.listMissingAgents(),
    inspection.listGates(),
    inspection.readDatabaseLoss(),
  ]);
  const [reports, counts, hours, inbox] = await Promise.all([
    wakes.reportQueues(),
    wakes.countJobs(),
    wakes.readHour(),
    wakes.reportInbox(),
  ]);
  const queues = hours.map(({ queue, ...hour }) => {
    const own = reports.filter((report) => report.queue === queue);
    const joined = joinShards(own);
    const history = waits.get(queue) ?? new WaitHistory();
    waits.set(queue, history);
    history.note(at, joined.waitMs ?? 0);
    return { queue, counts: namedCounts(counts, queue), ...joined, ...hour, waits: history.list(at) };
  });
  const turns = queues.find(({ queue }) => queue === QUEUES.turn);
  return {
    at,
    workers: workers.map((worker) => ({ ...worker, isLost: at - worker.seenAt > LOST_AFTER_MS })),
    queues,
    inbox,
    mailboxes: { waiting: countWaitingTurns(counts), oldestMs: turns?.waitMs ?? 0 },
    backlog,
    failedTurns,
    quarantined,
    webhooks: webhooks.flatMap(describeTrouble),
    findings: [
      examineLoss(loss),
      ...examineQueues(reports, stuckMs),
      ...examineInbox(inbox, { isOn, stuckMs }),
      ...examineShards(backlog, stuckMs),
      examineMissingAgents(missing),
      examineGates(gates),
      examineQuarantined(quarantined),
      examineWebhooks(webhooks),
    ],
    ...(grafanaUrl !== undefined && { grafanaUrl }),
  };
}

function namedCounts(counts: readonly StateCount[], queue: string): Record<string, number> {
  return Object.fromEntries(counts.filter((one) => one.queue === queue).map(({ state, count }) => [state, count]));
}

type ShardReport = Awaited<ReturnType<OpenWakeQueue['reportQueues']>>[number];

/** Longest wait and fewest workers of any shard of a queue: a shard without workers runs no turns. */
function joinShards(shards: readonly ShardReport[]) {
  const waits = shards.flatMap(({ waitMs }) => waitMs ?? []);
  const workers = shards.flatMap((shard) => shard.workers ?? []);
  return {
    isPaused: shards.some(({ isPaused }) => isPaused),
    ...(waits.length > 0 && { waitMs: Math.max(...waits) }),
    ...(workers.length === shards.length && workers.length > 0 && { workers: Math.min(...workers) }),
  };
}

function describeTrouble({ webhook: { id, tenant, url }, health }: WebhookStatus) {
  const state = health.deadAt !== undefined ? 'set_aside' : health.failingSince !== undefined ? 'failing' : undefined;
  if (state === undefined && health.losses === undefined) return [];
  // The query of the URL may hold a secret of the receiver.
  const { origin } = new URL(url);
  return [{ webhook: id, tenant, origin, state: state ?? ('missed_events' as const), ...health }];
}
