import type { WebhookStatus } from '../domain/ports/webhook-store.ts';
import { QUEUES } from '../jobs/queues.ts';
import type { StateCount } from '../queue/queue-reports.ts';
import { type BoardQueue, type OpenWakeQueue, openWakeQueue } from '../queue/wake-queue.ts';
import type { RedisLocation } from '../redis/address.ts';
import { type Inspection, openInspection } from '../store/inspection.ts';
import { countWaitingTurns } from '../telemetry/measured-gauges.ts';
import { examineQuarantined, examineQueues, examineShards, examineWebhooks } from './database-checks.ts';
import { examineInbox } from './inbox-check.ts';

export interface FleetOptions extends RedisLocation {
  readonly shards: number;
  readonly queueShards: number;
  /** True if workers take turns from the inbox. */
  readonly inbox: boolean;
  readonly stuckMs: number;
  /** Address of a dashboard, which the report names. */
  readonly grafanaUrl: string | undefined;
  readonly onError: (error: unknown) => void;
}

export type FleetReport = Awaited<ReturnType<typeof readFleet>>;

/** Reads the state of all workers and queues. */
export interface Fleet {
  /** Concurrent calls share one reading, so that many open pages cost Redis no more than one. */
  read(): Promise<FleetReport>;
  /** The queues themselves, for a dashboard. */
  readonly queues: readonly BoardQueue[];
  close(): Promise<void>;
}

/** A worker without a heartbeat for this long counts as dead, as for the event `worker lost`. */
const LOST_AFTER_MS = 20_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/**
 * Opens the report of the whole deployment. It uses the checks of `doctor`, so both find the same problems.
 * @throws redis_unavailable if Redis does not answer
 */
export async function openFleet(options: FleetOptions): Promise<Fleet> {
  const { url, tls, queueShards, onError } = options;
  const inspection = await openInspection({ url, tls });
  const wakes = openWakeQueue({ url, tls, shards: queueShards, onError, failsFast: true });
  let reading: Promise<FleetReport> | undefined;
  return {
    queues: wakes.listQueues(),
    async read() {
      reading ??= readFleet(options, inspection, wakes).finally(() => {
        reading = undefined;
      });
      return await reading;
    },
    async close() {
      inspection.close();
      await wakes.close();
    },
  };
}

async function readFleet(options: FleetOptions, inspection: Inspection, wakes: OpenWakeQueue) {
  const { shards, stuckMs, inbox: isOn, grafanaUrl } = options;
  const at = Date.now();
  const [workers, failures, backlog, quarantined, webhooks] = await Promise.all([
    inspection.listWorkers(),
    inspection.listFailureTimes(shards, at - HOUR_MS),
    inspection.measureShards(shards),
    inspection.listQuarantined(shards),
    inspection.listWebhooks(),
  ]);
  const [reports, counts, hours, inbox] = await Promise.all([
    wakes.reportQueues(),
    wakes.countJobs(),
    wakes.readHour(),
    wakes.reportInbox(),
  ]);
  const queues = hours.map(({ queue, ...hour }) => {
    const own = reports.filter((report) => report.queue === queue);
    return { queue, counts: namedCounts(counts, queue), ...joinShards(own), ...hour };
  });
  const turns = queues.find(({ queue }) => queue === QUEUES.turn);
  return {
    at,
    workers: workers.map((worker) => ({ ...worker, isLost: at - worker.seenAt > LOST_AFTER_MS })),
    queues,
    inbox,
    mailboxes: { waiting: countWaitingTurns(counts), oldestMs: turns?.waitMs ?? 0 },
    backlog,
    failedTurns: countByMinute(failures, at),
    quarantined,
    webhooks: webhooks.flatMap(describeTrouble),
    findings: [
      ...examineQueues(reports, stuckMs),
      ...examineInbox(inbox, { isOn, stuckMs }),
      ...examineShards(backlog, stuckMs),
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

/** Reports the longest wait and the lowest number of workers of any shard. A shard without workers runs no turns. */
function joinShards(shards: readonly ShardReport[]) {
  const waits = shards.flatMap(({ waitMs }) => waitMs ?? []);
  const workers = shards.flatMap((shard) => shard.workers ?? []);
  return {
    isPaused: shards.some(({ isPaused }) => isPaused),
    ...(waits.length > 0 && { waitMs: Math.max(...waits) }),
    ...(workers.length === shards.length && workers.length > 0 && { workers: Math.min(...workers) }),
  };
}

function countByMinute(times: readonly number[], now: number): number[] {
  const minutes = Array.from({ length: HOUR_MS / MINUTE_MS }, () => 0);
  const last = Math.floor(now / MINUTE_MS);
  for (const time of times) {
    const at = minutes.length - 1 - (last - Math.floor(time / MINUTE_MS));
    if (minutes[at] !== undefined) minutes[at] += 1;
  }
  return minutes;
}

function describeTrouble({ webhook: { id, tenant, url }, health }: WebhookStatus) {
  const state = health.deadAt !== undefined ? 'set_aside' : health.failingSince !== undefined ? 'failing' : undefined;
  if (state === undefined && health.losses === undefined) return [];
  // The address alone: its query may hold a secret of the receiver.
  const { origin } = new URL(url);
  return [{ webhook: id, tenant, origin, state: state ?? ('missed_events' as const), ...health }];
}
