import { DelayedError, type Job, WaitingChildrenError } from 'bullmq';
import type { ClientPorts } from '../../src/client/ports.ts';
import type { Tool } from '../../src/domain/agent.ts';
import type { ConversationRef } from '../../src/domain/ids.ts';
import type { Message } from '../../src/domain/message.ts';
import type { Model } from '../../src/domain/model.ts';
import type { PolicyInput } from '../../src/domain/policy.ts';
import type { WakeQueue } from '../../src/domain/ports/queue.ts';
import type { Summarizer } from '../../src/domain/ports/summarizer.ts';
import { QUEUES, type QueueName } from '../../src/jobs/names.ts';
import type { Delivery } from '../../src/queue/delivery.ts';
import { deliverPasses } from '../../src/queue/pass-deliveries.ts';
import type { QueueSet } from '../../src/queue/queue-set.ts';
import { deliverSummarizations } from '../../src/queue/summarization-deliveries.ts';
import { deliverTurns } from '../../src/queue/turn-deliveries.ts';
import type { Store } from '../../src/store/open-store.ts';
import { createPassHandler, takeOverPass } from '../../src/workers/compaction/pass-delivery.ts';
import type { CompactionPorts } from '../../src/workers/compaction/ports.ts';
import { type PreparedAgent, prepareAgent } from '../../src/workers/prepared-agent.ts';
import type { SummarizationPorts } from '../../src/workers/summarization/ports.ts';
import { createSummarizationHandler } from '../../src/workers/summarization/summarization-delivery.ts';
import { createSweeper, type SweeperPorts } from '../../src/workers/sweeper/sweeper.ts';
import type { Timers } from '../../src/workers/timers.ts';
import { createTurnHandler } from '../../src/workers/turn/turn-delivery.ts';
import type { TurnDependencies } from '../../src/workers/turn/turn-dependencies.ts';
import { MemoryDatabase } from '../fakes/store/database.ts';
import { openMemoryStore } from '../fakes/store/open-memory-store.ts';
import { WorldClock } from './clock.ts';
import { type Actor, HeldCalls, type Process } from './held-calls.ts';
import { MemoryJobs, type StoredJob } from './memory-jobs.ts';
import { WORD_COUNTER } from './word-counter.ts';

export const ref: ConversationRef = { tenant: '_', id: 'talk' };
export const AGENT = 'guide';

const CLIENT_WORK = { queue: 'client' } as unknown as StoredJob;

type Ports = TurnDependencies & CompactionPorts & SummarizationPorts & SweeperPorts;

/** What stands outside of turnfold, and how its agent is set up. Built anew for each world, on that world's clock. */
export interface Surroundings {
  readonly model: Model;
  readonly tools?: readonly Tool[];
  readonly policy?: PolicyInput;
  readonly summarizers?: readonly Summarizer[];
}

export interface WorldOptions {
  readonly surround: (clock: WorldClock) => Surroundings;
  /** how long a model takes, in ms */
  readonly modelMs?: number;
  readonly tracksReplies?: boolean;
  /** timers of workers; those of the world's clock unless given */
  readonly timers?: Timers;
  /** breaks the store, to see that it is noticed */
  readonly mutate?: (store: Store, db: MemoryDatabase) => Store;
}

/**
 * Everything between a service and its answer, in one process and without any time of its own: the real workers, the real
 * deliveries of the queue, the client's ports, over stores and queues in memory. Each call between them is held.
 */
export class World {
  readonly clock: WorldClock;
  readonly db = new MemoryDatabase(() => this.clock.now());
  readonly jobs: MemoryJobs;
  readonly held: HeldCalls;
  readonly agent: PreparedAgent;
  readonly store: Store;
  readonly working = new Map<Actor, StoredJob>();
  /** what no delivery may end with: anything but an outage */
  readonly failures: unknown[] = [];
  readonly #surroundings: Surroundings;
  readonly #options: WorldOptions;

  private constructor(agent: PreparedAgent, surroundings: Surroundings, options: WorldOptions, clock: WorldClock) {
    const { tracksReplies = false, mutate = (store) => store } = options;
    this.clock = clock;
    this.jobs = new MemoryJobs(clock);
    this.agent = agent;
    this.#surroundings = surroundings;
    this.#options = options;
    this.held = new HeldCalls(clock, tracksReplies);
    this.store = mutate(openMemoryStore(this.db), this.db);
  }

  static async open(options: WorldOptions): Promise<World> {
    const clock = new WorldClock();
    const surroundings = options.surround(clock);
    const { model, tools = [], policy = {} } = surroundings;
    const agent = { name: AGENT, system: 'You guide.', model, tools, policy };
    const prepared = await prepareAgent(agent, {}, { loadCounter: async () => WORD_COUNTER });
    return new World(prepared, surroundings, options, clock);
  }

  /** Messages that are there before anything begins. */
  async write(messages: readonly Message[]): Promise<void> {
    const weighed = await Promise.all(messages.map((message) => this.agent.weigh(message)));
    const request = { conversation: ref, operation: 'before', agent: AGENT, expectedHead: 0, opens: [], closes: [] };
    const { status } = await this.store.append({ ...request, messages: weighed });
    if (status !== 'appended') throw new Error(`not written: ${status}`);
  }

  /** Takes a job and begins to work on it. */
  deliver(process: Process, job: StoredJob): void {
    const token = this.jobs.take(job);
    const actor = openActor(`${job.id}.${job.deliveries}`, process);
    this.working.set(actor, job);
    const ports = this.#openPorts(actor);
    const delivery = this.#deliveryOf(job.queue, actor, ports);
    const run = delivery(this.#jobAsSeen(actor, job), token);
    const end = (operation: 'end' | 'failAttempt', why?: unknown): void => {
      void this.held
        .hold(actor, `job.${operation}`, [why], async () => this.jobs[operation](job, token))
        .catch(() => undefined)
        .then(() => this.working.delete(actor));
    };
    run.then(
      () => end('end'),
      (error: unknown) => {
        if (error instanceof WaitingChildrenError || error instanceof DelayedError) this.working.delete(actor);
        else end('failAttempt', error);
      },
    );
  }

  /** One look at what is due. */
  sweep(process: Process, name: string): void {
    const actor = openActor(name, process);
    const job = { id: name } as StoredJob;
    this.working.set(actor, job);
    void createSweeper(this.#openPorts(actor))
      .sweepOnce()
      .catch((error: unknown) => this.#note(error))
      .then(() => this.working.delete(actor));
  }

  /** Work that is under way until it ends: a client's, which no job stands for. */
  begin(actor: Actor, run: Promise<unknown>): void {
    this.working.set(actor, CLIENT_WORK);
    void run.catch((error: unknown) => this.#note(error)).then(() => this.working.delete(actor));
  }

  /** What a service holds in its hands. */
  openClient(process: Process): { readonly actor: Actor; readonly ports: ClientPorts } {
    const actor = openActor(process.name, process);
    const ports = {
      turns: this.held.bind(actor, 'turns', this.store),
      passes: this.held.bind(actor, 'passes', this.store),
      wakes: this.#wakesOf(actor),
      ids: idsOf(actor),
      counterFor: async () => WORD_COUNTER,
    };
    return { actor, ports: ports as unknown as ClientPorts };
  }

  #deliveryOf(queue: QueueName, actor: Actor, ports: Ports): Delivery {
    const report = (error: unknown) => this.#note(error);
    if (queue === QUEUES.turn) return deliverTurns(createTurnHandler(ports), report);
    if (queue === QUEUES.summarization) {
      return deliverSummarizations(createSummarizationHandler(ports), new AbortController().signal, () => undefined);
    }
    const addBulk = (children: Parameters<MemoryJobs['addChildren']>[0]) =>
      this.held.hold(actor, 'queue.addBulk', children, async () => this.jobs.addChildren(children));
    return deliverPasses(createPassHandler(ports), { of: () => ({ addBulk }) } as unknown as QueueSet, report);
  }

  /** As far as deliveries look at a job of BullMQ's. */
  #jobAsSeen(actor: Actor, job: StoredJob): Job<unknown> {
    const { held, jobs } = this;
    const seen = {
      id: job.id,
      data: job.data,
      timestamp: job.timestamp,
      attemptsMade: job.attemptsMade,
      queueQualifiedName: job.queue,
      getDependenciesCount: () => held.hold(actor, 'job.count', [], async () => jobs.countChildren(job.id)),
      moveToWaitingChildren: (token: string) =>
        held.hold(actor, 'job.wait', [], async () => jobs.moveToWaitingChildren(job, token)),
      // By the process's own clock, as the delivery counts.
      moveToDelayed: (at: number, token: string) => {
        const delayMs = Math.max(1_000, Math.round((at - Date.now()) / 1_000) * 1_000);
        return held.hold(actor, 'job.delay', [], async () => jobs.moveToDelayed(job, token, delayMs));
      },
    };
    return seen as unknown as Job<unknown>;
  }

  #openPorts(actor: Actor): Ports {
    const { held, store, clock } = this;
    const timers = this.#options.timers ?? clock.timersOf(() => !actor.process.isDead);
    const { summarizers = [] } = this.#surroundings;
    const prepared = this.#openAgent(actor, timers);
    const ports: Ports = {
      turns: held.bind(actor, 'turns', store),
      passes: held.bind(actor, 'passes', store),
      contexts: held.bind(actor, 'contexts', store),
      summaries: held.bind(actor, 'summaries', store),
      sweep: held.bind(actor, 'sweep', store),
      texts: { publishText: async () => undefined },
      wakes: this.#wakesOf(actor),
      takeover: { settleNow: (conversation) => takeOverPass(ports, conversation) },
      summarizers: () => summarizers.map((summarizer) => held.bind(actor, 'summarizer', summarizer)),
      calibrations: { observe: async () => undefined },
      agents: { find: (name) => (name === AGENT ? prepared : undefined) },
      clock,
      ids: idsOf(actor),
      timers,
      onEvent: () => undefined,
    };
    return ports;
  }

  /** The agent, with a model and tools that are called as from outside. */
  #openAgent(actor: Actor, timers: Timers): PreparedAgent {
    const { agent } = this.agent;
    const { modelMs = 0 } = this.#options;
    const model: Model = {
      profile: agent.model.profile,
      generate: async (request) => {
        const about = [request.idempotencyKey, request.messages.length, request.version];
        const answer = await this.held.hold(actor, 'model.generate', about, () => agent.model.generate(request));
        if (modelMs > 0) await new Promise<void>((resolve) => void timers.after(modelMs, resolve));
        return answer;
      },
    };
    const tools = agent.tools.map((tool): Tool => {
      if (tool.run === undefined) return tool;
      const run = tool.run.bind(tool);
      return {
        ...tool,
        run: (input, context) => this.held.hold(actor, 'tool.run', [tool.name, input], () => run(input, context)),
      };
    });
    return { ...this.agent, agent: { ...agent, model, tools } };
  }

  #wakesOf(actor: Actor): WakeQueue {
    const wakes: WakeQueue = {
      wake: async (kind, conversation, wake) => this.jobs.add(kind, conversation, wake),
      isPending: async (_kind, _conversation, wake) => this.jobs.isPending(wake),
    };
    return this.held.bind(actor, 'wakes', wakes);
  }

  #note(error: unknown): void {
    this.failures.push(error);
  }
}

export function openProcess(name: string): Process {
  return { name, isDead: false };
}

function openActor(name: string, process: Process): Actor {
  return { name, process, seen: '', calls: 0, ids: 0 };
}

/** Ids that depend on nothing but who asks for them and how often he has. */
function idsOf(actor: Actor): { next(): string } {
  return {
    next: () => {
      actor.ids += 1;
      return `${actor.name}-${actor.ids}`;
    },
  };
}
