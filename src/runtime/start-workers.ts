import { setTimeout as sleep } from 'node:timers/promises';
import type { EventListener } from '../domain/events.ts';
import { EventLoopMonitor } from '../health/event-loop-monitor.ts';
import { listWorkerChecks } from '../health/worker-checks.ts';
import { openWorkerPages, type WorkerPages } from '../health/worker-pages.ts';
import type { QueueErrorListener } from '../queue/queue-connection.ts';
import type { CloseOutcome } from '../queue/queue-workers.ts';
import { openQueueWorkers, type QueueWorkers, totalConcurrency } from '../queue/queue-workers.ts';
import { type OpenWakeQueue, openWakeQueue } from '../queue/wake-queue.ts';
import { type ConnectedStore, connectStore } from '../store/connect-store.ts';
import { combineListeners } from '../telemetry/listeners.ts';
import { createMetrics, type Metrics } from '../telemetry/metrics.ts';
import { Calibrations } from '../workers/calibrations.ts';
import { Presence } from '../workers/presence.ts';
import { Shutdown } from '../workers/shutdown.ts';
import type { Sweeper } from '../workers/sweeper/sweeper.ts';
import { systemTimers } from '../workers/timers.ts';
import { BrokenDelivery } from '../workers/turn/turn-errors.ts';
import { prepareAgents } from './agents.ts';
import { Closers } from './closers.ts';
import { createHandlers, type HandlerParts, type Handlers } from './handlers.ts';
import { createListeners, type ListenerOptions, type Listeners } from './listeners.ts';
import { createMeasures, MeasuringLease } from './measures.ts';
import { prepareShadow } from './shadow.ts';
import { createSummarizers } from './summarizers.ts';
import { createIdSource, systemClock } from './system.ts';
import {
  ROLES,
  readWorkersOptions,
  type WorkerRole,
  type WorkersOptions,
  type WorkersSettings,
} from './workers-options.ts';

export { ROLES, type WorkerRole, type WorkersOptions };

export interface Workers {
  /** URL of the metrics page, if pages are served. */
  readonly metricsUrl: string | undefined;
  /**
   * Takes no more jobs, starts no more steps, and hands back all turns, passes and summaries. Calls in flight
   * continue for most of `shutdownMs`.
   * @returns `deadline` if a call was cut off, or a lease was left behind because Redis was away
   */
  close(): Promise<'closed' | 'deadline'>;
}

/**
 * Starts the workers of a process, for one role or all. The sweeper runs beside any role. After an error nothing
 * stays open.
 * @throws invalid_config, invalid_policy, with the field and before any connection
 * @throws incompatible_store, redis_full, the signal's reason
 */
export async function startWorkers(options: WorkersOptions): Promise<Workers> {
  const settings = readWorkersOptions(options);
  const { signal, warnings, metrics: pagesAt, ...others } = settings;
  signal?.throwIfAborted();
  const listening = createListeners(settings);
  const metrics = createMetrics({ concurrency: concurrencyByRole(settings), onEvent: listening.onEvent });
  const onEvent = combineListeners(metrics.listener, listening.onEvent);
  for (const message of warnings) onEvent({ type: 'policy_warned', message });
  const closers = new Closers((error) => onEvent({ type: 'worker_failed', where: 'close', error }));
  try {
    return await unlessAborted(
      openWorkers({ ...others, ...listening, onEvent, metrics, pagesAt, closers, signal }),
      signal,
    );
  } catch (error) {
    await closers.close();
    throw error;
  }
}

/**
 * Rejects as soon as the signal aborts, because ioredis may never settle a command that waits for Redis.
 * @throws the signal's reason
 */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await work;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

type OpeningParts = Omit<WorkersSettings, 'metrics' | 'warnings' | keyof ListenerOptions> &
  Listeners & {
    readonly metrics: Metrics;
    readonly pagesAt: WorkersSettings['metrics'];
    readonly closers: Closers;
  };

/** Opens each resource and registers its close. */
async function openWorkers(parts: OpeningParts): Promise<Workers> {
  const { redisUrl: url, redisTls: tls, shards, queueShards, closers, signal, onEvent } = parts;
  const calibrations = new Calibrations({ clock: systemClock, timers: systemTimers, onEvent });
  const prepared = await prepare(parts, (model) => calibrations.factorOf(model));
  const onError = reportTo(onEvent);
  const pages = await openWorkerPages(parts.pagesAt);
  closers.add(() => pages.close());
  const connected = await connectStore({ url, tls, shards, onError: (error) => onError(error, 'store'), signal });
  closers.add(connected.close);
  const wakes = openWakeQueue({ url, tls, shards: queueShards, onError });
  closers.add(() => wakes.close());
  await reportMemory(connected.readMemory, onEvent);
  await calibrations.start(connected.store);
  closers.add(() => calibrations.stop());
  return await startRoles({ ...parts, ...connected, ...prepared, wakes, pages, calibrations });
}

/** Prepares agents and policies before anything is opened. */
async function prepare(
  { agents: given, policy, shadow, roles, summarizers: models, tracing }: OpeningParts,
  factorOf: (model: string) => number,
): Promise<Pick<HandlerParts, 'agents' | 'summarizers' | 'shadowed'>> {
  const agents = await prepareAgents(given, policy, factorOf);
  // Other roles do not need the summarizers or their keys.
  const summarized = roles.includes('summarization') ? agents.all : [];
  const summarizers = await createSummarizers(summarized, models, tracing);
  const shadowed = shadow && (await prepareShadow(given, shadow, factorOf));
  return { agents, summarizers, shadowed };
}

interface RoleParts
  extends Omit<OpeningParts, 'policy' | 'shadow' | 'signal' | 'pagesAt' | Exclude<keyof HandlerParts, 'shutdown'>>,
    Pick<ConnectedStore, 'measures' | 'presence' | 'checkServer'>,
    Omit<HandlerParts, 'shutdown'> {
  readonly wakes: OpenWakeQueue;
  readonly pages: WorkerPages;
}

type RoleSettings = Pick<WorkersSettings, 'roles' | 'concurrency' | 'queueShards'>;

/** Jobs at a time by role, 0 for other roles. */
function concurrencyByRole({ roles, concurrency, queueShards }: RoleSettings): Record<string, number> {
  return Object.fromEntries(
    ROLES.map((role) => [role, roles.includes(role) ? totalConcurrency(concurrency[role], queueShards) : 0]),
  );
}

/** Starts everything that uses the open connections. */
async function startRoles(parts: RoleParts): Promise<Workers> {
  const { store, wakes, calibrations, metrics, measures, checkServer, pages, closers, stuckMs, onEvent } = parts;
  const shutdown = new Shutdown();
  const { sweeper, ...handlers } = createHandlers({ ...parts, shutdown });
  const loop = new EventLoopMonitor();
  closers.add(() => loop.stop());
  const owner = createIdSource().next();
  const presence = openPresence(owner, parts);
  await presence.start();
  closers.add(() => presence.end());
  const workers = openRoles(parts, handlers, onEvent);
  const stop = (): Promise<CloseOutcome> => stopRoles({ workers, sweeper, shutdown, shutdownMs: parts.shutdownMs });
  closers.add(stop);
  const lease = new MeasuringLease({ measures, timers: systemTimers, clock: systemClock, owner });
  closers.add(() => lease.end());
  metrics.measure(createMeasures({ store, measures, wakes, calibrations, lease }));
  pages.begin({ metrics, checks: listWorkerChecks({ checkServer, wakes, workers, loop, stuckMs }) });
  closers.add(() => pages.stop());
  await workers.start();
  sweeper.start();
  return {
    metricsUrl: pages.metricsUrl,
    async close() {
      await closers.close();
      // Already closed, so this returns the outcome.
      const outcome = await workers.close();
      return shutdown.cutOff > 0 ? 'deadline' : outcome;
    },
  };
}

function openPresence(worker: string, { presence: store, roles, onEvent }: RoleParts): Presence {
  const entry = { worker, roles, startedAt: systemClock.now() };
  return new Presence(entry, { store, timers: systemTimers, clock: systemClock, onEvent });
}

interface StoppingParts {
  readonly workers: QueueWorkers;
  readonly sweeper: Sweeper;
  readonly shutdown: Shutdown;
  readonly shutdownMs: number;
}

/** Time for a sweep in progress to end. Without it, entries that it moved on wait for the next sweep. */
const SWEEP_END_MS = 1_000;

async function stopRoles({ workers, sweeper, shutdown, shutdownMs }: StoppingParts): Promise<CloseOutcome> {
  shutdown.begin(shutdownMs, systemTimers);
  const swept = sweeper.stop();
  const outcome = await workers.close();
  if (outcome === 'closed') await Promise.race([swept, sleep(SWEEP_END_MS, undefined, { ref: false })]);
  return outcome;
}

type RoleOptions = Pick<
  WorkersSettings,
  'redisUrl' | 'redisTls' | 'queueShards' | 'roles' | 'concurrency' | 'shutdownMs'
>;

/** Creates the queue workers of each role. `start` begins to take jobs. */
function openRoles(
  { redisUrl, redisTls, queueShards, roles, concurrency, shutdownMs }: RoleOptions,
  handlers: Pick<Handlers, WorkerRole>,
  onEvent: EventListener,
): QueueWorkers {
  return openQueueWorkers({
    url: redisUrl,
    tls: redisTls,
    shards: queueShards,
    roles: Object.fromEntries(roles.map((role) => [role, { handler: handlers[role], concurrency: concurrency[role] }])),
    onError: reportTo(onEvent),
    onReclaim: (queue) => onEvent({ type: 'job_reclaimed', queue }),
    onDrop: (queue, job, error) => onEvent({ type: 'job_dropped', queue, job, error }),
    deadlineMs: shutdownMs,
  });
}

/** Fraction of `maxmemory` above which a start warns: Redis may be full within hours. */
const NEARLY_FULL = 0.8;

async function reportMemory(readMemory: ConnectedStore['readMemory'], onEvent: EventListener): Promise<void> {
  const use = await readMemory();
  if (use === undefined || use.usedBytes < NEARLY_FULL * use.limitBytes) return;
  onEvent({ type: 'redis_nearly_full', ...use });
}

function reportTo(onEvent: EventListener): QueueErrorListener {
  return (error, where) => {
    const details = error instanceof BrokenDelivery ? { ...error.scope, error: error.cause } : { error };
    onEvent({ type: 'worker_failed', where, ...details });
  };
}
