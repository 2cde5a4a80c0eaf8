import { createInboxHandler } from '../api/inbox/turn-job.ts';
import type { EventListener } from '../domain/events.ts';
import { totalConcurrency } from '../jobs/bullmq/queue-workers.ts';
import { openWakeQueue } from '../jobs/bullmq/wake-queue.ts';
import { createIdSource } from '../jobs/id-source.ts';
import type { InboxHandler } from '../jobs/ports.ts';
import { type ConnectedStore, checkNode, connectStore } from '../store/connect-store.ts';
import { combineListeners } from '../telemetry/listeners.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { loadTokenCounter } from '../wire/tokens/token-counter.ts';
import { AgentsElsewhere } from '../workers/agents-elsewhere.ts';
import { Calibrations } from '../workers/calibrations.ts';
import { Gates } from '../workers/gates.ts';
import type { FactorOf } from '../workers/prepared-agent.ts';
import { Shutdown } from '../workers/shutdown.ts';
import { systemTimers } from '../workers/timers.ts';
import { prepareAgents, prepareShadow } from './agents.ts';
import { Closers } from './closers.ts';
import { createHandlers, type HandlerParts } from './handlers.ts';
import { openWorkerPages } from './health/worker-pages.ts';
import { createListeners, type Listeners, reportTo } from './listeners.ts';
import { listRetirements } from './retirements.ts';
import { type RoleParts, startRoles, type Workers } from './start-roles.ts';
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

export { ROLES, type WorkerRole, type Workers, type WorkersOptions };

/*
 * The start of a worker process is in two files. This file checks the options, prepares agents and policies, and
 * opens the connections. `start-roles.ts` then starts to take jobs. So a wrong option, agent or key ends the start
 * before the worker owns a turn. While Redis is unreachable, the start waits without a limit.
 *
 * Every opened resource registers its `close` in `Closers` at once. The same list serves three cases: a start that
 * fails half way, a signal during the start, and `close` of running workers. Resources close in reverse order. So the
 * queue workers stop while presence, gates and connections, which their last writes need, are still open.
 *
 * Parts are passed as arguments, and no container creates them. The compiler then finds a missing part, and a test
 * passes its own, as `testing/index.ts` does with a store in memory.
 */

/**
 * Starts the workers of a process, for one role or all. A sweeper runs beside any role. If the start fails, everything
 * that was opened is closed.
 * @throws invalid_config or invalid_policy for an invalid option, agent or policy, with the field. Thrown before any
 * connection is opened
 * @throws incompatible_store or redis_full if Redis cannot be used. The signal's reason if the signal aborts.
 */
export async function startWorkers(options: WorkersOptions): Promise<Workers> {
  checkNode(process.versions.node);
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

/** Rejects as soon as the signal aborts. ioredis may never settle a command that waits for Redis. */
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

type Startup = Listeners & RoleParts;

async function openWorkers(startup: Startup): Promise<Workers> {
  const { settings, onEvent, onContent, tracing, closers } = startup;
  const { redisUrl: url, redisTls: tls, prefix, shards, queueShards, signal } = settings;
  const calibrations = new Calibrations({ clock: systemClock, timers: systemTimers, onEvent });
  const prepared = await preparePolicies(startup, (model, initial) => calibrations.factorOf(model, initial));
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
    ...prepared,
    worker,
    store,
    wakes,
    calibrations,
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

async function preparePolicies({ settings, tracing }: Startup, factorOf: FactorOf) {
  const agents = await prepareAgents(settings.agents, settings.policy, factorOf);
  // Only the summarization role needs the summarizers and their API keys.
  const summarized = settings.roles.includes('summarization') ? agents.all : [];
  const summarizers = await createSummarizers(summarized, settings.summarizers, tracing);
  const shadowed = settings.shadow && (await prepareShadow(settings.agents, settings.shadow, factorOf));
  return { agents, summarizers, shadowed };
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

/** Jobs in parallel by role. 0 for roles that this process does not have. */
function concurrencyByRole({ roles, concurrency, queueShards }: WorkersSettings): Record<string, number> {
  return Object.fromEntries(
    ROLES.map((role) => [role, roles.includes(role) ? totalConcurrency(concurrency[role], queueShards) : 0]),
  );
}

function openGates(store: ConnectedStore['gates'], { onEvent, closers }: Startup): Gates {
  const gates = new Gates({ clock: systemClock, timers: systemTimers, onEvent });
  gates.start(store);
  closers.add(() => gates.stop());
  return gates;
}

function openElsewhere(
  presence: ConnectedStore['presence'],
  { agents, missingAgentMs: giveUpMs }: WorkersSettings,
): AgentsElsewhere {
  const names = agents.map(({ name }) => name);
  return new AgentsElsewhere({ names, presence, clock: systemClock, giveUpMs });
}

/** Fraction of `maxmemory` above which a start warns: Redis may be full within hours. */
const NEARLY_FULL = 0.8;

async function reportServers({ readMemory, isAppendOnly }: ConnectedStore, onEvent: EventListener): Promise<void> {
  const [use, isDurable] = await Promise.all([readMemory(), isAppendOnly()]);
  if (use !== undefined && use.usedBytes >= NEARLY_FULL * use.limitBytes)
    onEvent({ type: 'redis_nearly_full', ...use });
  if (isDurable === false) onEvent({ type: 'redis_not_persistent' });
}
