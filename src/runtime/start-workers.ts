import type { Agent } from '../domain/agent.ts';
import type { EventListener } from '../domain/events.ts';
import type { Model } from '../domain/model.ts';
import type { PolicyInput } from '../domain/policy.ts';
import type { RedisTls } from '../domain/redis-tls.ts';
import { LoopWatch } from '../health/loop-watch.ts';
import type { QueueErrorListener } from '../queue/queue-connection.ts';
import { openQueueWorkers, type QueueWorkers } from '../queue/queue-workers.ts';
import { countHands } from '../queue/shares.ts';
import { type OpenWakeQueue, openWakeQueue } from '../queue/wake-queue.ts';
import { type ConnectedStore, connectStore } from '../store/connect-store.ts';
import { combineListeners } from '../telemetry/listeners.ts';
import { createMetrics, type Metrics } from '../telemetry/metrics.ts';
import { Calibrations } from '../workers/calibrations.ts';
import { systemTimers } from '../workers/timers.ts';
import { prepareAgents } from './agents.ts';
import { createHandlers, type HandlerParts, type Handlers } from './handlers.ts';
import { type ListeningOptions, openListening } from './listening.ts';
import { createMeasures } from './measures.ts';
import { MeasuringLease } from './measuring-lease.ts';
import { prepareShadow } from './shadow.ts';
import { createSummarizers } from './summarizers.ts';
import { createIdSource, systemClock } from './system.ts';
import { listWorkerChecks } from './worker-checks.ts';
import { openWorkerPages, type WorkerPages } from './worker-pages.ts';

export const ROLES = ['turn', 'compaction', 'summarization'] as const;
export type Role = (typeof ROLES)[number];

export interface WorkersOptions extends ListeningOptions {
  readonly redisUrl: string;
  /** for `rediss`: an authority of your own, a certificate of ours */
  readonly redisTls?: RedisTls | undefined;
  readonly agents: readonly Agent[];
  readonly roles: readonly Role[];
  /** models that policies name as summarizers, besides those of the agents */
  readonly summarizers?: readonly Model[];
  /** what agents' policies are merged over */
  readonly policy?: PolicyInput;
  /** a second policy, whole: measured at every pass that ends here, and never committed */
  readonly shadow?: PolicyInput;
  readonly shards: number;
  readonly queueShards: number;
  /** jobs at a time in this process, by role; one of each queue shard at least */
  readonly concurrency: Readonly<Record<Role, number>>;
  /** absent: no pages for metrics and health */
  readonly metrics?: { readonly host: string; readonly port: number };
  /** ms that a close waits for what is under way */
  readonly shutdownMs: number;
  /** ms that work may wait for a worker with free hands, until that one is not ready (a minute) */
  readonly stuckMs?: number;
}

export interface Workers {
  /** where the metrics page is, where there is one */
  readonly metricsUrl: string | undefined;
  /** stops intake, finishes or hands back what is under way; `deadline`: not all of it in time */
  close(): Promise<'closed' | 'deadline'>;
}

/**
 * Starts the workers of a process: one role, or all of them. The sweeper runs beside any role.
 * @throws invalid_config, invalid_policy, incompatible_store before anything is taken; nothing stays open then
 */
export async function startWorkers(options: WorkersOptions): Promise<Workers> {
  const { redisUrl: url, redisTls: tls, shards, queueShards } = options;
  const { onContent, tracing, ...listening } = openListening(options);
  const metrics = createMetrics({ concurrency: countHandsOf(options), onEvent: listening.onEvent });
  const onEvent = combineListeners(metrics.listener, listening.onEvent);
  const calibrations = new Calibrations({ clock: systemClock, timers: systemTimers, onEvent });
  const factorOf = (model: string): number => calibrations.factorOf(model);
  const agents = await prepareAgents(options.agents, options.policy ?? {}, factorOf);
  // Others need not know the summarizers, nor hold their keys.
  const summarized = options.roles.includes('summarization') ? agents.all : [];
  const summarizers = await createSummarizers(summarized, options.summarizers ?? [], tracing);
  const shadowed = options.shadow && (await prepareShadow(options.agents, options.shadow, factorOf));
  const onError = reportTo(onEvent);
  const pages = await openWorkerPages(options.metrics);
  const connecting = connectStore({ url, tls, shards, onError: (error) => onError(error, 'store') });
  const { store, readMemory, measures, checkServer, close } = await connecting.catch(async (error: unknown) => {
    await pages.close();
    throw error;
  });
  const wakes = openWakeQueue({ url, tls, shards: queueShards, onError });
  const closeAll = async (): Promise<void> => void (await Promise.all([pages.close(), wakes.close(), close()]));
  try {
    await tellOfMemory(readMemory, onEvent);
    await calibrations.start(store);
    const connections = { store, wakes, measures, checkServer, pages, closeAll };
    const told = { onEvent, onContent, tracing, metrics };
    return await startRoles({ ...options, ...told, ...connections, agents, shadowed, calibrations, summarizers });
  } catch (error) {
    await closeAll();
    throw error;
  }
}

interface RoleParts
  extends Omit<WorkersOptions, 'agents' | 'summarizers' | 'metrics' | keyof ListeningOptions>,
    HandlerParts {
  readonly metrics: Metrics;
  readonly wakes: OpenWakeQueue;
  readonly measures: ConnectedStore['measures'];
  readonly checkServer: ConnectedStore['checkServer'];
  readonly pages: WorkerPages;
  readonly closeAll: () => Promise<void>;
}

type Hands = Pick<WorkersOptions, 'roles' | 'concurrency' | 'queueShards'>;

/** Jobs at a time by role; 0 of one that this process has not. */
function countHandsOf({ roles, concurrency, queueShards }: Hands): Record<string, number> {
  return Object.fromEntries(
    ROLES.map((role) => [role, roles.includes(role) ? countHands(concurrency[role], queueShards) : 0]),
  );
}

const STUCK_MS = 60_000;

/** All that runs over the open connections. */
async function startRoles({
  store,
  wakes,
  calibrations,
  summarizers,
  metrics,
  measures,
  checkServer,
  pages,
  closeAll,
  ...options
}: RoleParts): Promise<Workers> {
  const lease = new MeasuringLease({
    measures,
    timers: systemTimers,
    clock: systemClock,
    owner: createIdSource().next(),
  });
  metrics.measure(createMeasures({ store, measures, wakes, calibrations, lease }));
  const { onEvent } = options;
  const { sweeper, ...handlers } = createHandlers({
    store,
    wakes,
    calibrations,
    summarizers,
    agents: options.agents,
    shadowed: options.shadowed,
    onContent: options.onContent,
    tracing: options.tracing,
    onEvent,
  });
  const workers = openRoles(options, handlers, onEvent);
  const loop = new LoopWatch();
  const { stuckMs = STUCK_MS } = options;
  pages.begin({ metrics, checks: listWorkerChecks({ checkServer, wakes, workers, loop, stuckMs }) });
  await workers.start();
  sweeper.start();
  return {
    metricsUrl: pages.metricsUrl,
    async close() {
      pages.stop();
      lease.end();
      sweeper.stop();
      calibrations.stop();
      const outcome = await workers.close();
      loop.stop();
      await closeAll();
      return outcome;
    },
  };
}

type RoleOptions = Pick<
  WorkersOptions,
  'redisUrl' | 'redisTls' | 'queueShards' | 'roles' | 'concurrency' | 'shutdownMs'
>;

/** Takes the jobs of each role; `start` begins. */
function openRoles(
  { redisUrl, redisTls, queueShards, roles, concurrency, shutdownMs }: RoleOptions,
  handlers: Pick<Handlers, Role>,
  onEvent: EventListener,
): QueueWorkers {
  return openQueueWorkers({
    url: redisUrl,
    tls: redisTls,
    shards: queueShards,
    roles: Object.fromEntries(roles.map((role) => [role, { handler: handlers[role], concurrency: concurrency[role] }])),
    onError: reportTo(onEvent),
    onReclaim: (queue) => onEvent({ type: 'job_reclaimed', queue }),
    deadlineMs: shutdownMs,
  });
}

/** Of its limit: past this, Redis is a matter of hours. */
const NEARLY_FULL = 0.8;

async function tellOfMemory(readMemory: ConnectedStore['readMemory'], onEvent: EventListener): Promise<void> {
  const use = await readMemory();
  if (use === undefined || use.usedBytes < NEARLY_FULL * use.limitBytes) return;
  onEvent({ type: 'redis_nearly_full', ...use });
}

function reportTo(onEvent: EventListener): QueueErrorListener {
  return (error, where) => onEvent({ type: 'worker_failed', where, error });
}
