import { createClient } from '../api/client/client.ts';
import { storePorts } from '../api/client/ports.ts';
import type { AnyAgents } from '../api/contract/agent-types.ts';
import type { TurnfoldClient } from '../api/contract/client.ts';
import type { Agent } from '../domain/agent.ts';
import type { Clock, IdSource } from '../domain/clock.ts';
import type { WorkerEvent } from '../domain/events.ts';
import type { PolicyInput } from '../domain/policy.ts';
import { noTracing } from '../domain/tracing.ts';
import { readAgents } from '../host/agent-schema.ts';
import { type LoadedAgents, prepareAgents } from '../host/agents.ts';
import { createHandlers } from '../host/handlers.ts';
import { createSummarizers } from '../host/summarizers.ts';
import { createIdSource } from '../jobs/id-source.ts';
import { type EmbeddedStore, openEmbeddedStore } from '../store/open-embedded-store.ts';
import { loadTokenCounter } from '../wire/tokens/token-counter.ts';
import { Calibrations } from '../workers/calibrations.ts';
import { Shutdown } from '../workers/shutdown.ts';
import { systemTimers } from '../workers/timers.ts';
import { InProcessQueue } from './in-process-queue.ts';

export interface TestWorkersOptions<Agents extends readonly Agent[] = readonly Agent[]> {
  /** The agents under test, in the form that `startWorkers` accepts. */
  readonly agents: Agents;
  readonly policy?: PolicyInput;
}

/** All workers in this process, with a store in memory and a client of that store. */
export interface TestWorkers<Agents extends AnyAgents = AnyAgents> {
  readonly client: TurnfoldClient<Agents>;
  /** All events that the workers have emitted so far, oldest first. */
  readonly events: readonly WorkerEvent[];
  /** Resolves when all workers are idle. Rejects if a worker had an unexpected error. */
  idle(): Promise<void>;
  /** Moves the clock, then runs what has become due: scheduled turns, deadlines, retries, idle TTLs. */
  advance(ms: number): Promise<void>;
  /** Stops the workers and drops all conversations. */
  close(): Promise<void>;
}

/**
 * Starts every worker with a store in memory, to test agents, policies and services without Redis. A turn runs as soon
 * as the client accepts it. Deadlines pass only when the test calls `advance`.
 * @throws invalid_config for an invalid agent, invalid_policy for a policy that cannot work
 */
export async function openTestWorkers<const Agents extends readonly Agent[]>({
  agents: agentsToTest,
  policy = {},
}: TestWorkersOptions<Agents>): Promise<TestWorkers<Agents>> {
  const { agents: read, problems } = readAgents(agentsToTest);
  if (problems[0] !== undefined) throw problems[0];
  const agents = await prepareAgents(read, policy, () => 1);
  const { store, redis, close } = await openEmbeddedStore();
  const clock: Clock = { now: () => redis.database.now() };
  let aheadMs = 0;
  redis.database.clock = () => Date.now() + aheadMs;
  const queue = new InProcessQueue();
  const shutdown = new Shutdown();
  const events: WorkerEvent[] = [];
  const onEvent = (event: WorkerEvent): void => void events.push(event);
  const { sweeper, ...handlers } = createHandlers({
    worker: createIdSource().next(),
    store,
    wakes: queue,
    agents,
    calibrations: new Calibrations({ clock, timers: systemTimers, onEvent }),
    summarizers: await createSummarizers(agents.all, []),
    onEvent,
    tracing: noTracing,
    shutdown,
    clock,
  });
  queue.connect(handlers);
  const client = openTestClient({ store, queue, clock, agents, ids: createIdSource() });
  return {
    client: client as unknown as TurnfoldClient<Agents>, // agent names and context types exist only at compile time
    events,
    idle: () => queue.idle(),
    advance: async (ms) => {
      await queue.idle();
      aheadMs += ms;
      await sweeper.sweepOnce();
      await queue.idle();
    },
    close: async () => {
      shutdown.begin(0, systemTimers);
      await queue.close();
      close();
    },
  };
}

interface TestClientParts {
  readonly store: EmbeddedStore['store'];
  readonly queue: InProcessQueue;
  readonly clock: Clock;
  readonly agents: LoadedAgents;
  readonly ids: IdSource;
}

function openTestClient({ store, queue, clock, agents, ids }: TestClientParts): TurnfoldClient {
  return createClient({
    ...storePorts(store),
    streamNotices: store,
    notifications: { wait: (_conversation, ms, signal) => queue.nextChange(ms, signal) },
    wakes: queue,
    queues: queue,
    onError: (error) => {
      throw error;
    },
    counterFor: async (agent) => agents.find(agent)?.counter ?? (await loadTokenCounter('o200k_base')),
    currentTrace: () => undefined,
    ids,
    now: () => clock.now(),
  });
}
