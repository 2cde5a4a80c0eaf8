import { setTimeout as sleep } from 'node:timers/promises';
import { Deliverer } from '../api/webhooks/deliverer.ts';
import { createWebhookSender } from '../api/webhooks/sender.ts';
import type { EventListener } from '../domain/events.ts';
import { openQueueWorkers, type QueueWorkers } from '../jobs/bullmq/queue-workers.ts';
import type { OpenWakeQueue } from '../jobs/bullmq/wake-queue.ts';
import type { InboxHandler } from '../jobs/ports.ts';
import type { ConnectedStore } from '../store/connect-store.ts';
import type { Measures } from '../telemetry/measured-gauges.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Calibrations } from '../workers/calibrations.ts';
import { DatabaseChecks } from '../workers/database-checks.ts';
import { Presence } from '../workers/presence.ts';
import type { Shutdown } from '../workers/shutdown.ts';
import { packDueLogs } from '../workers/sweeper/packer.ts';
import type { Sweeper } from '../workers/sweeper/sweeper.ts';
import { systemTimers } from '../workers/timers.ts';
import type { Closers } from './closers.ts';
import type { Handlers } from './handlers.ts';
import type { EventLoopMonitor } from './health/event-loop-monitor.ts';
import { listWorkerChecks } from './health/worker-checks.ts';
import type { WorkerPages } from './health/worker-pages.ts';
import { reportTo } from './listeners.ts';
import { systemClock } from './system.ts';
import type { WorkersSettings } from './workers-options.ts';

export interface Workers {
  /** Undefined if no pages are served. */
  readonly metricsUrl: string | undefined;
  /**
   * Stops the workers: they take no more jobs, start no more steps, and hand back all turns, compactions and
   * summarizations. Model and tool calls in flight continue for most of `shutdownMs`.
   * @returns `deadline` if a call was aborted, or if Redis was unreachable and a lease could not be handed back
   */
  close(): Promise<'closed' | 'deadline'>;
}

export interface RoleParts {
  readonly settings: WorkersSettings;
  readonly onEvent: EventListener;
  readonly metrics: Metrics;
  readonly closers: Closers;
}

interface OpenResources {
  readonly worker: string;
  readonly connected: ConnectedStore;
  readonly wakes: OpenWakeQueue;
  readonly pages: WorkerPages;
  readonly calibrations: Calibrations;
  readonly shutdown: Shutdown;
  readonly loop: EventLoopMonitor;
  readonly handlers: Handlers;
  readonly inbox: InboxHandler;
}

/** Starts to take jobs. All connections are open by then. */
export async function startRoles(parts: RoleParts, open: OpenResources): Promise<Workers> {
  const { settings, onEvent, metrics, closers } = parts;
  const { worker, connected, wakes, pages, shutdown, loop, handlers, inbox } = open;
  const { store, checkServer } = connected;
  const { stuckMs, shutdownMs } = settings;
  const presence = await startPresence(parts, open);
  const workers = openRoles(settings, { ...handlers, inbox }, onEvent);
  closers.add(async () => {
    shutdown.begin(shutdownMs, systemTimers);
    await stopWork(workers, handlers.sweeper);
  });
  const databaseChecks = startDatabaseChecks(parts, connected);
  const lease = new MeasuringLease(connected.measures, worker);
  closers.add(() => lease.end());
  metrics.measure(createMeasures(lease, open));
  pages.begin({ metrics, checks: listWorkerChecks({ checkServer, databaseChecks, wakes, workers, loop, stuckMs }) });
  closers.add(() => pages.stop());
  const deliverer = startDeliverer(parts, open);
  closers.add(() => deliverer.close());
  await workers.start();
  const { sweeper } = handlers;
  sweeper.start([
    () => presence.watch((gone) => sweeper.endLeases(gone)),
    () => databaseChecks.tick(),
    () => packDueLogs({ packs: store, shutdown, onEvent }),
  ]);
  return {
    metricsUrl: pages.metricsUrl,
    async close() {
      await closers.close();
      // The workers are closed already, so this call only returns the outcome of the first close.
      const outcome = await workers.close();
      return shutdown.cutOff > 0 ? 'deadline' : outcome;
    },
  };
}

async function startPresence({ settings, onEvent, closers }: RoleParts, open: OpenResources): Promise<Presence> {
  const presence = new Presence(
    {
      worker: open.worker,
      roles: settings.roles,
      startedAt: systemClock.now(),
      agents: settings.agents.map(({ name }) => name),
    },
    { store: open.connected.presence, timers: systemTimers, clock: systemClock, onEvent },
  );
  await presence.start();
  closers.add(() => presence.end());
  return presence;
}

function startDatabaseChecks({ onEvent, closers }: RoleParts, connected: ConnectedStore): DatabaseChecks {
  const checks = new DatabaseChecks({
    watch: connected.database,
    timers: systemTimers,
    onEvent,
    // No work of this process may continue in a database that the process cannot use.
    onIncompatible: () => void closers.close(),
  });
  checks.start();
  connected.onReconnect(() => void checks.checkNow());
  closers.add(async () => checks.stop());
  return checks;
}

/** ms to wait for a running sweep. An aborted sweep leaves work that it has already rescheduled to the next sweep. */
const SWEEP_END_MS = 1_000;

async function stopWork(workers: QueueWorkers, sweeper: Sweeper): Promise<void> {
  const swept = sweeper.stop();
  const outcome = await workers.close();
  if (outcome === 'closed') await Promise.race([swept, sleep(SWEEP_END_MS, undefined, { ref: false })]);
}

/** Inbox jobs in parallel. Each takes one short script, so a larger number would not be faster. */
const INBOX_CONCURRENCY = 8;

function openRoles(
  settings: WorkersSettings,
  handlers: Handlers & Pick<OpenResources, 'inbox'>,
  onEvent: EventListener,
): QueueWorkers {
  const { redisUrl: url, redisTls: tls, prefix, queueShards: shards, roles, concurrency, shutdownMs } = settings;
  const takesInbox = settings.inbox && roles.includes('turn');
  return openQueueWorkers({
    url,
    tls,
    prefix,
    shards,
    roles: {
      ...Object.fromEntries(roles.map((role) => [role, { handler: handlers[role], concurrency: concurrency[role] }])),
      ...(takesInbox && { inbox: { handler: handlers.inbox, concurrency: INBOX_CONCURRENCY } }),
    },
    onError: reportTo(onEvent),
    onReclaim: (queue) => onEvent({ type: 'job_reclaimed', queue }),
    onDrop: (queue, job, error) => onEvent({ type: 'job_dropped', queue, job, error }),
    onTaken: (delivery) => onEvent({ type: 'inbox_job_taken', ...delivery }),
    deadlineMs: shutdownMs,
  });
}

function createMeasures(lease: MeasuringLease, { connected, wakes, calibrations }: OpenResources): Measures {
  const { store, measures } = connected;
  return {
    isMeasuring: () => lease.ask(),
    ping: () => measures.ping(),
    countJobs: () => wakes.countJobs(),
    measureWaits: () => measureWaits(wakes),
    measureShards: () => store.measureShards(),
    measureServers: () => measures.measureServers(),
    listMissingAgents: () => measures.listMissingAgents(),
    listGates: () => measures.listGates(),
    readCalibrations: async () => calibrations.factors,
  };
}

async function measureWaits(wakes: OpenWakeQueue): Promise<ReadonlyMap<string, number>> {
  const byQueue = Map.groupBy(await wakes.readShardWaits(), ({ queue }) => queue);
  return new Map([...byQueue].map(([queue, shards]) => [queue, Math.max(...shards.map(({ waitMs = 0 }) => waitMs))]));
}

/** ms of the measuring lease. If the owner crashes, the gauges of shared state are missing for up to this time. */
const LEASE_MS = 10_000;
const BEAT_MS = 3_000;
/** A worker gives up the lease so many ms after the last scrape. Scrapes may be a minute apart, and one may fail. */
const RECENTLY_MS = 150_000;

/**
 * Lease of the one worker that measures the state in Redis. If every worker ran its 256 scripts, dashboards that sum
 * the series would also count them several times. Only workers whose metrics page is read take the lease.
 */
class MeasuringLease {
  readonly #hold: (leaseMs: number) => Promise<boolean>;
  readonly #heartbeat: { stop(): void };
  #isEnded = false;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(measures: ConnectedStore['measures'], owner: string) {
    this.#hold = (leaseMs) => measures.holdMeasuring(owner, leaseMs);
    this.#heartbeat = systemTimers.every(BEAT_MS, async () => {
      if (systemClock.now() - this.#readAt < RECENTLY_MS) await this.#hold(LEASE_MS);
    });
  }

  /** Called at each scrape. @returns true if this worker reports the gauges of shared state */
  async ask(): Promise<boolean> {
    if (this.#isEnded) return false;
    this.#readAt = systemClock.now();
    return await this.#hold(LEASE_MS);
  }

  /** Gives the lease back without waiting for Redis. If Redis is unreachable, the lease lapses. */
  end(): void {
    this.#isEnded = true;
    this.#heartbeat.stop();
    if (this.#readAt !== Number.NEGATIVE_INFINITY) this.#hold(0).catch(() => undefined);
  }
}

const DELIVERY_INTERVAL_MS = 1_000;
/** ms to wait until webhook requests in flight are given back. Otherwise their claims end after 30 s. */
const DELIVERY_END_MS = 1_000;

/** Delivers webhooks once a second, while this process has the lease of deliveries. */
function startDeliverer(
  { settings, onEvent }: RoleParts,
  { connected, worker: owner }: OpenResources,
): { close(): Promise<void> } {
  const sender = createWebhookSender({ allowsPrivate: settings.webhooks.allowPrivate });
  const deliverer = new Deliverer({ store: connected.store, sender, clock: systemClock, onEvent, owner });
  let isClosed = false;
  const timer = systemTimers.every(DELIVERY_INTERVAL_MS, async () => {
    try {
      await deliverer.lookForDeliveries();
    } catch (error) {
      if (!isClosed) onEvent({ type: 'worker_failed', where: 'webhooks', error });
    }
  });
  return {
    async close() {
      isClosed = true;
      timer.stop();
      await Promise.race([deliverer.stop(), sleep(DELIVERY_END_MS, undefined, { ref: false })]);
      await sender.close();
    },
  };
}
