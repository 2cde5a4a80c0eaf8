import type { Agent } from '../domain/agent.ts';
import type { EventListener } from '../domain/events.ts';
import type { Model } from '../domain/model.ts';
import type { PolicyInput } from '../domain/policy.ts';
import { QUEUES } from '../jobs/names.ts';
import type { QueueErrorListener } from '../queue/queue-connection.ts';
import { openQueueWorkers } from '../queue/queue-workers.ts';
import { type OpenWakeQueue, openWakeQueue } from '../queue/wake-queue.ts';
import { type ConnectedStore, connectStore } from '../store/connect-store.ts';
import { combineListeners } from '../telemetry/listeners.ts';
import type { Measures } from '../telemetry/measured-gauges.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { serveMetrics } from '../telemetry/metrics-server.ts';
import { Calibrations } from '../workers/calibrations.ts';
import { systemTimers } from '../workers/timers.ts';
import { prepareAgents } from './agents.ts';
import { createHandlers, type HandlerParts } from './handlers.ts';
import { prepareShadow } from './shadow.ts';
import { createSummarizers } from './summarizers.ts';
import { systemClock } from './system.ts';

export const ROLES = ['turn', 'compaction', 'summarization'] as const;
export type Role = (typeof ROLES)[number];

export interface WorkersOptions {
  readonly redisUrl: string;
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
  /** jobs at a time in this process, by role */
  readonly concurrency: Readonly<Record<Role, number>>;
  /** absent: no metrics page */
  readonly metrics?: { readonly host: string; readonly port: number };
  /** ms that a close waits for what is under way */
  readonly shutdownMs: number;
  readonly onEvent?: EventListener;
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
  const { redisUrl: url, shards, queueShards, onEvent = () => undefined } = options;
  const calibrations = new Calibrations({ clock: systemClock, timers: systemTimers, onEvent });
  const factorOf = (model: string): number => calibrations.factorOf(model);
  const agents = await prepareAgents(options.agents, options.policy ?? {}, factorOf);
  // Others need not know the summarizers, nor hold their keys.
  const summarized = options.roles.includes('summarization') ? agents.all : [];
  const summarizers = await createSummarizers(summarized, options.summarizers ?? []);
  const shadowed = options.shadow && (await prepareShadow(options.agents, options.shadow, factorOf));
  const onError = reportTo(onEvent);
  const { store, readMemory, close } = await connectStore({ url, shards, onError: (error) => onError(error, 'store') });
  const wakes = openWakeQueue({ url, shards: queueShards, onError });
  const closeConnections = async (): Promise<void> => void (await Promise.all([wakes.close(), close()]));
  try {
    await tellOfMemory(readMemory, onEvent);
    await calibrations.start(store);
    const parts = { store, wakes, agents, shadowed, calibrations, summarizers, onEvent, readMemory, closeConnections };
    return await startRoles({ ...options, ...parts });
  } catch (error) {
    await closeConnections();
    throw error;
  }
}

interface RoleParts extends Omit<WorkersOptions, 'agents' | 'summarizers' | 'onEvent'>, HandlerParts {
  readonly wakes: OpenWakeQueue;
  readonly readMemory: ConnectedStore['readMemory'];
  readonly closeConnections: () => Promise<void>;
}

/** All that runs over the open connections. */
async function startRoles({
  store,
  wakes,
  calibrations,
  summarizers,
  readMemory,
  closeConnections,
  ...options
}: RoleParts): Promise<Workers> {
  const metrics = createMetrics({
    measures: {
      ...measureQueues(wakes),
      measureOverdue: () => store.measureOverdue(),
      readMemory,
      readCalibrations: async () => calibrations.factors,
    },
    onEvent: options.onEvent,
  });
  const onEvent = combineListeners(metrics.listener, options.onEvent);
  const { sweeper, ...handlers } = createHandlers({
    store,
    wakes,
    calibrations,
    summarizers,
    agents: options.agents,
    shadowed: options.shadowed,
    onEvent,
  });
  const workers = openQueueWorkers({
    url: options.redisUrl,
    shards: options.queueShards,
    roles: Object.fromEntries(
      options.roles.map((role) => [role, { handler: handlers[role], concurrency: options.concurrency[role] }]),
    ),
    onError: reportTo(onEvent),
    deadlineMs: options.shutdownMs,
  });
  const page = options.metrics === undefined ? undefined : await serveMetrics({ ...options.metrics, metrics });
  await workers.start();
  sweeper.start();
  return {
    metricsUrl: page === undefined ? undefined : `http://${page.host}:${page.port}/metrics`,
    async close() {
      sweeper.stop();
      calibrations.stop();
      const outcome = await workers.close();
      await Promise.all([page?.close(), closeConnections()]);
      return outcome;
    },
  };
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

/**
 * A conversation whose turns wait for a worker has one wake in the turn queue, however many turns it has: those behind the
 * first could not be taken by another worker. To count them, too, every accept and every end of a turn would have to.
 */
function measureQueues(wakes: OpenWakeQueue): Measures {
  return {
    countJobs: () => wakes.countJobs(),
    measureWaiting: async () => {
      const [counts, waits] = await Promise.all([wakes.countJobs(), wakes.readOldestWaits()]);
      const waiting = counts.filter(
        ({ queue, state }) => queue === QUEUES.turn && state !== 'active' && state !== 'failed',
      );
      return {
        turns: waiting.reduce((sum, { count }) => sum + count, 0),
        oldestMs: waits.find(({ queue }) => queue === QUEUES.turn)?.waitMs ?? 0,
      };
    },
  };
}
