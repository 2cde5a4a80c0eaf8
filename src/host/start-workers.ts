import { setTimeout as sleep } from 'node:timers/promises';
import { createInboxHandler } from '../api/inbox/turn-job.ts';
import type { EventListener } from '../domain/events.ts';
import { openQueueWorkers, type QueueWorkers, totalConcurrency } from '../jobs/bullmq/queue-workers.ts';
import { type OpenWakeQueue, openWakeQueue } from '../jobs/bullmq/wake-queue.ts';
import { createIdSource } from '../jobs/id-source.ts';
import type { InboxHandler } from '../jobs/ports.ts';
import { type ConnectedStore, connectStore } from '../store/connect-store.ts';
import { combineListeners } from '../telemetry/listeners.ts';
import { createMetrics, type Metrics } from '../telemetry/metrics.ts';
import { loadTokenCounter } from '../wire/tokens/token-counter.ts';
import { Calibrations } from '../workers/calibrations.ts';
import { DatabaseChecks } from '../workers/database-checks.ts';
import type { FactorOf } from '../workers/prepared-agent.ts';
import { Presence } from '../workers/presence.ts';
import { Shutdown } from '../workers/shutdown.ts';
import { packDueLogs } from '../workers/sweeper/packer.ts';
import type { Sweeper } from '../workers/sweeper/sweeper.ts';
import { systemTimers } from '../workers/timers.ts';
import { prepareAgents, prepareShadow } from './agents.ts';
import { Closers } from './closers.ts';
import { createHandlers, type HandlerParts, type Handlers } from './handlers.ts';
import type { EventLoopMonitor } from './health/event-loop-monitor.ts';
import { listWorkerChecks } from './health/worker-checks.ts';
import { openWorkerPages, type WorkerPages } from './health/worker-pages.ts';
import { createListeners, type Listeners, reportTo } from './listeners.ts';
import { createMeasures, MeasuringLease } from './measures.ts';
import { openElsewhere, openGates } from './open-sharing.ts';
import { reportServers } from './report-servers.ts';
import { listRetirements } from './retirements.ts';
import { startDeliverer } from './start-deliverer.ts';
import { createSummarizers } from './summarizers.ts';
import { SuspectProcesses } from './suspect-processes.ts';
import { systemClock } from './system.ts';
import { watchLoop } from './watch-loop.ts';
import {
  ROLES,
  readWorkersOptions,
  type WorkerRole,
  type WorkersOptions,
  type WorkersSettings,
} from './workers-options.ts';

export { ROLES, type WorkerRole, type WorkersOptions };

export interface Workers {
  /** URL of the metrics page. Undefined if no pages are served. */
  readonly metricsUrl: string | undefined;
  /**
   * Stops the workers: they take no more jobs, start no more steps, and hand back all turns, compactions and
   * summarizations. Model and tool calls in flight continue for most of `shutdownMs`.
   * @returns `deadline` if a call was aborted, or if Redis was unreachable and a lease remained
   */
  close(): Promise<'closed' | 'deadline'>;
}

/**
 * Starts the workers of a process, for one role or all. A sweeper runs beside any role. If the start fails, everything
 * that was opened is closed.
 * @throws invalid_config or invalid_policy for an invalid option, agent or policy, with the field and before any
 * connection
 * @throws incompatible_store or redis_full if Redis cannot be used. The signal's reason if the signal aborts.
 */
export async function startWorkers(options: WorkersOptions): Promise<Workers> {
  const settings = readWorkersOptions(options);
  const { signal } = settings;
  signal?.throwIfAborted();
  const { tracing, onContent, onEvent: listener } = createListeners(settings);
  const metrics = createMetrics({
    prefix: settings.prefix,
    concurrency: concurrencyByRole(settings),
    onEvent: listener,
  });
  const onEvent = combineListeners(metrics.listener, listener);
  for (const message of settings.warnings) onEvent({ type: 'policy_warned', message });
  for (const retirement of listRetirements(settings, systemClock.now()))
    onEvent({ type: 'model_retires', ...retirement });
  const closers = new Closers((error) => onEvent({ type: 'worker_failed', where: 'close', error }));
  try {
    return await unlessAborted(openWorkers({ settings, onEvent, onContent, tracing, metrics, closers }), signal);
  } catch (error) {
    await closers.close();
    throw error;
  }
}

/**
 * Awaits `work`, and rejects as soon as the signal aborts. ioredis may never settle a command that waits for Redis.
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

/** Everything that the start prepares before it opens a connection. */
interface Startup extends Listeners {
  readonly settings: WorkersSettings;
  readonly metrics: Metrics;
  readonly closers: Closers;
}

/** Prepares the agents, then opens each resource and registers how to close it. */
async function openWorkers(startup: Startup): Promise<Workers> {
  const { settings, onEvent, onContent, tracing, closers } = startup;
  const { redisUrl: url, redisTls: tls, prefix, shards, queueShards, signal } = settings;
  const calibrations = new Calibrations({ clock: systemClock, timers: systemTimers, onEvent });
  const factorOf: FactorOf = (model, initial) => calibrations.factorOf(model, initial);
  const agents = await prepareAgents(settings.agents, settings.policy, factorOf);
  // Only the summarization role needs the summarizers and their API keys.
  const summarized = settings.roles.includes('summarization') ? agents.all : [];
  const summarizers = await createSummarizers(summarized, settings.summarizers, tracing);
  const shadowed = settings.shadow && (await prepareShadow(settings.agents, settings.shadow, factorOf));

  const onError = reportTo(onEvent);
  const pages = await openWorkerPages(settings.metrics);
  closers.add(() => pages.close());
  const worker = createIdSource().next();
  const onStoreError = (error: Error): void => onError(error, 'store');
  const connected = await connectStore({ url, tls, prefix, shards, worker, onError: onStoreError, signal });
  const { store } = connected;
  closers.add(connected.close);
  const wakes = openWakeQueue({ url, tls, prefix, shards: queueShards, onError });
  closers.add(() => wakes.close());
  await reportServers(connected, onEvent);
  await calibrations.start(store);
  closers.add(() => calibrations.stop());
  const gates = openGates(connected.gates, startup);
  const loop = watchLoop(startup, { worker });
  const shutdown = new Shutdown();
  const ports = {
    worker,
    store,
    wakes,
    agents,
    calibrations,
    summarizers,
    shadowed,
    loop,
    onEvent,
    onContent,
    tracing,
    shutdown,
    elsewhere: openElsewhere(connected.presence, settings),
    gates,
    providerWaitMs: settings.providerWaitMs,
    suspects: openSuspects(startup, shutdown),
  };
  return await startRoles(startup, {
    worker,
    connected,
    wakes,
    pages,
    calibrations,
    shutdown,
    loop,
    handlers: createHandlers(ports),
    inbox: openInbox(ports),
  });
}

function openInbox({ store, wakes, tracing, agents }: HandlerParts): InboxHandler {
  return createInboxHandler({
    turns: store,
    wakes,
    ids: createIdSource(),
    currentTrace: () => tracing.current(),
    counterFor: async (agent) => agents.find(agent)?.counter ?? (await loadTokenCounter('o200k_base')),
  });
}

function openSuspects({ settings, onEvent, onContent }: Startup, shutdown: Shutdown): SuspectProcesses | undefined {
  const { agentsModule } = settings;
  if (agentsModule === undefined) return undefined;
  return new SuspectProcesses({ ...settings, agentsModule, onEvent, onContent, shutdown });
}

/** Connections and stores that all worker roles of a process share. */
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

/** Starts the worker roles once all connections are open. */
async function startRoles({ settings, onEvent, metrics, closers }: Startup, open: OpenResources): Promise<Workers> {
  const { worker, connected, wakes, pages, calibrations, shutdown, loop, handlers, inbox } = open;
  const { store, measures, checkServer, database } = connected;
  const { stuckMs, shutdownMs } = settings;
  const presence = new Presence(
    {
      worker,
      roles: settings.roles,
      startedAt: systemClock.now(),
      agents: settings.agents.map(({ name }) => name),
    },
    { store: connected.presence, timers: systemTimers, clock: systemClock, onEvent },
  );
  await presence.start();
  closers.add(() => presence.end());
  const workers = openRoles(settings, { ...handlers, inbox }, onEvent);
  closers.add(async () => {
    shutdown.begin(shutdownMs, systemTimers);
    await stopWork(workers, handlers.sweeper);
  });
  const databaseChecks = new DatabaseChecks({
    watch: database,
    timers: systemTimers,
    onEvent,
    // Nothing of this process may go on in a database that it cannot use.
    onIncompatible: () => void closers.close(),
  });
  databaseChecks.start();
  connected.onReconnect(() => void databaseChecks.checkNow());
  closers.add(async () => databaseChecks.stop());
  const lease = new MeasuringLease({ measures, timers: systemTimers, clock: systemClock, owner: worker });
  closers.add(() => lease.end());
  metrics.measure(createMeasures({ store, measures, wakes, calibrations, lease }));
  pages.begin({ metrics, checks: listWorkerChecks({ checkServer, databaseChecks, wakes, workers, loop, stuckMs }) });
  closers.add(() => pages.stop());
  const deliverer = startDeliverer({ store, owner: worker, onEvent, ...settings.webhooks });
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
      // The workers are already closed, so this second call of `close` only returns the outcome of the first.
      const outcome = await workers.close();
      return shutdown.cutOff > 0 ? 'deadline' : outcome;
    },
  };
}

/** Number of parallel jobs for each role, 0 for roles that this process does not have. */
function concurrencyByRole({ roles, concurrency, queueShards }: WorkersSettings): Record<string, number> {
  return Object.fromEntries(
    ROLES.map((role) => [role, roles.includes(role) ? totalConcurrency(concurrency[role], queueShards) : 0]),
  );
}

/**
 * How long a close waits for a sweep in progress, in ms. An aborted sweep would leave due work that it has already
 * rescheduled to the next sweep.
 */
const SWEEP_END_MS = 1_000;

async function stopWork(workers: QueueWorkers, sweeper: Sweeper): Promise<void> {
  const swept = sweeper.stop();
  const outcome = await workers.close();
  if (outcome === 'closed') await Promise.race([swept, sleep(SWEEP_END_MS, undefined, { ref: false })]);
}

/** Jobs of the inbox in parallel. Each takes one short script, so more would not be faster. */
const INBOX_CONCURRENCY = 8;

/** Creates the queue workers of each role. The workers take no jobs until `start` is called. */
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
