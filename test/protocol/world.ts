import { DelayedError, type Job, WaitingChildrenError } from 'bullmq';
import type { ClientPorts, ClientStores } from '../../src/api/client/ports.ts';
import type { Tool } from '../../src/domain/agent.ts';
import type { ConversationRef } from '../../src/domain/ids.ts';
import type { Message } from '../../src/domain/message.ts';
import type { Model } from '../../src/domain/model.ts';
import type { PolicyInput } from '../../src/domain/policy.ts';
import type { Summarizer } from '../../src/domain/summarizer.ts';
import { noTracing } from '../../src/domain/tracing.ts';
import { deliverTurns, type JobDelivery } from '../../src/jobs/bullmq/delivery.ts';
import { deliverPasses, deliverSummarizations } from '../../src/jobs/bullmq/fan-out.ts';
import type { QueueSet } from '../../src/jobs/bullmq/queue-set.ts';
import type { WakeQueue } from '../../src/jobs/ports.ts';
import { QUEUES, type QueueName } from '../../src/jobs/queues.ts';
import { createPassHandler, takeOverPass } from '../../src/workers/compaction/pass-delivery.ts';
import type { CompactionPorts } from '../../src/workers/compaction/pass-writes.ts';
import { recountContext } from '../../src/workers/compaction/recount.ts';
import { type PreparedAgent, prepareAgent } from '../../src/workers/prepared-agent.ts';
import { Shutdown } from '../../src/workers/shutdown.ts';
import { SoloLock } from '../../src/workers/solo-lock.ts';
import { createSummarizationHandler } from '../../src/workers/summarization/summarization-delivery.ts';
import { createSweeper, type SweeperPorts } from '../../src/workers/sweeper/sweeper.ts';
import type { Timers } from '../../src/workers/timers.ts';
import { createTurnHandler } from '../../src/workers/turn/turn-delivery.ts';
import type { TurnPorts } from '../../src/workers/turn/turn-ports.ts';
import type { SummarizationPorts } from '../../src/workers/worker-ports.ts';
import { WorldClock } from './clock.ts';
import { type Actor, HeldCalls, type Origin, type Process } from './held-calls.ts';
import type { MemoryJobs, StoredJob, TakenJob } from './memory-jobs.ts';
import { copyShared, type Mutate, openShared, type Shared, WORD_COUNTER } from './shared.ts';
import { ID_MARK } from './templates.ts';

export const ref: ConversationRef = { tenant: '_', id: 'talk' };
export const AGENT = 'guide';

type Ports = TurnPorts & CompactionPorts & SummarizationPorts & SweeperPorts;

/** The agent of a world and the services outside turnfold. */
export interface Surroundings {
  readonly model: Model;
  readonly tools?: readonly Tool[];
  readonly policy?: PolicyInput;
  readonly summarizers?: readonly Summarizer[];
}

export interface WorldOptions {
  readonly surround: (clock: WorldClock) => Surroundings;
  /** Duration of a model call in ms (default 0). */
  readonly modelMs?: number;
  /** Records the replies to all actors, so that the world can be saved. */
  readonly recordsReplies?: boolean;
  /** Timers of the workers (default: timers on the clock of the world). */
  readonly timers?: Timers;
  readonly mutate?: Mutate;
  /** Services that use the client at the same time. */
  readonly clients?: readonly ((ports: ClientPorts) => Promise<unknown>)[];
}

/** The parts of a world that never change. */
interface Setting {
  readonly options: WorldOptions;
  readonly surroundings: Surroundings;
  readonly agent: PreparedAgent;
}

/** A copy of a world at one moment. Timers cannot be copied, so such a world uses NO_TIMERS. */
export interface SavedWorld {
  readonly setting: Setting;
  readonly now: number;
  readonly shared: Shared;
  readonly actors: readonly Pick<Actor, 'name' | 'origin' | 'begunAt' | 'replies'>[];
  /** Actor and number of each call that took effect without a reply. */
  readonly resent: ReadonlySet<string>;
}

/**
 * The whole system in one process, with a clock that only the test moves. The workers, the queue deliveries and the client
 * functions are real. The stores run the shipped scripts on a Redis in this process, and the queues are in memory. Every call between them is held until the test releases the call.
 */
export class World {
  readonly clock: WorldClock;
  readonly shared: Shared;
  readonly held: HeldCalls;
  readonly working = new Set<Actor>();
  /** Errors that ended an actor. Only an outage may do that. */
  readonly failures: unknown[] = [];
  readonly #setting: Setting;

  private constructor(setting: Setting, clock: WorldClock, shared: Shared) {
    this.clock = clock;
    this.shared = shared;
    this.#setting = setting;
    this.held = new HeldCalls(shared, clock, setting.options.recordsReplies ?? false);
  }

  static async open(options: WorldOptions): Promise<World> {
    const clock = new WorldClock();
    const surroundings = options.surround(clock);
    const { model, tools = [], policy = {} } = surroundings;
    const given = { name: AGENT, system: 'You guide.', model, tools, policy };
    const agent = await prepareAgent(given, {}, { loadCounter: async () => WORD_COUNTER });
    return new World({ options, surroundings, agent }, clock, openShared(clock, options.mutate));
  }

  /** Continues a saved world. Its actors start again and replay the replies that they had received. */
  static async restore({ setting, now, shared, actors, resent }: SavedWorld): Promise<World> {
    const clock = new WorldClock(now);
    const world = new World(setting, clock, copyShared(shared, clock, setting.options.mutate));
    const restarted = actors.map((saved) => world.#openActor(saved.name, openProcess(saved.name), saved));
    for (const actor of restarted) world.#begin(actor);
    await world.held.replay(restarted);
    for (const call of world.held.all) call.isResent = resent.has(`${call.actor.name}#${call.number}`);
    return world;
  }

  save(): SavedWorld {
    const { held, working, clock } = this;
    const atWork = [...new Set([...working, ...held.all.map(({ actor }) => actor)])];
    const living = atWork.filter(({ process }) => !process.isDead);
    const resent = held.all.filter(({ isResent }) => isResent).map(({ actor, number }) => `${actor.name}#${number}`);
    return {
      setting: this.#setting,
      now: clock.now(),
      shared: copyShared(this.shared, clock),
      actors: living.map(({ name, origin, begunAt, replies }) => ({ name, origin, begunAt, replies: [...replies] })),
      resent: new Set(resent),
    };
  }

  get db(): Shared['db'] {
    return this.shared.db;
  }

  get jobs(): MemoryJobs {
    return this.shared.jobs;
  }

  /** Appends messages before the run begins. */
  async write(messages: readonly Message[]): Promise<void> {
    const weighed = await Promise.all(messages.map((message) => this.#setting.agent.weigh(message)));
    const request = { conversation: ref, operation: 'before', agent: AGENT, expectedHead: 0, opens: [], closes: [] };
    const { status } = await this.shared.store.append({ ...request, messages: weighed });
    if (status !== 'appended') throw new Error(`the first messages were not appended: ${status}`);
  }

  /** Starts a worker on a job. */
  deliver(process: Process, job: StoredJob): void {
    const taken = this.jobs.take(job);
    this.#begin(this.#openActor(`${job.id}.${job.deliveries}`, process, { origin: { kind: 'job', job: taken } }));
  }

  /** Starts one run of the sweeper. */
  sweep(process: Process, name: string): void {
    this.#begin(this.#openActor(name, process, { origin: { kind: 'sweep' } }));
  }

  /** Starts a run of the sweeper that ends the leases of one worker. */
  endLeases(process: Process, name: string, worker: string): void {
    this.#begin(this.#openActor(name, process, { origin: { kind: 'sweep', gone: worker } }));
  }

  /** Starts a client of the options. */
  beginClient(index: number): void {
    const name = `c${index + 1}`;
    this.#begin(this.#openActor(name, openProcess(name), { origin: { kind: 'client', index } }));
  }

  /** Opens client ports for a service that the caller runs itself. */
  openClient(process: Process): ClientPorts {
    return this.#clientPorts(this.#openActor(process.name, process, { origin: { kind: 'client', index: -1 } }));
  }

  #begin(actor: Actor): void {
    const { origin } = actor;
    this.working.add(actor);
    if (origin.kind === 'job') this.#beginDelivery(actor, origin.job);
    else {
      this.#run(actor, origin)
        .catch((error: unknown) => this.#note(error))
        .finally(() => this.working.delete(actor));
    }
  }

  #run(actor: Actor, origin: Exclude<Origin, { kind: 'job' }>): Promise<unknown> {
    if (origin.kind === 'sweep') {
      const sweeper = createSweeper(this.#openPorts(actor));
      return origin.gone === undefined ? sweeper.sweepOnce() : sweeper.endLeases(origin.gone);
    }
    const play = this.#setting.options.clients?.[origin.index];
    if (play === undefined) throw new Error(`no client ${origin.index}`);
    return play(this.#clientPorts(actor));
  }

  #beginDelivery(actor: Actor, job: TakenJob): void {
    const delivery = this.#deliveryOf(job.queue, actor, this.#openPorts(actor));
    const end = (operation: 'end' | 'failAttempt', why?: unknown): void => {
      void this.held
        .hold(actor, `job.${operation}`, [why], async ({ jobs }) => jobs[operation](job))
        .catch(() => undefined)
        .then(() => this.working.delete(actor));
    };
    delivery(this.#jobAsSeen(actor, job), job.token).then(
      () => end('end'),
      (error: unknown) => {
        if (error instanceof WaitingChildrenError || error instanceof DelayedError) this.working.delete(actor);
        else end('failAttempt', error);
      },
    );
  }

  #clientPorts(actor: Actor): ClientPorts {
    const bind = (room: keyof ClientStores) => this.held.bind(actor, room, ({ store }) => store);
    const ports: Omit<ClientPorts, 'queues' | 'notifications' | 'streamNotices' | 'onError'> = {
      turns: bind('turns'),
      streams: bind('streams'),
      contexts: bind('contexts'),
      passes: bind('passes'),
      versions: bind('versions'),
      proposals: bind('proposals'),
      events: bind('events'),
      listings: bind('listings'),
      tokens: bind('tokens'),
      wakes: this.#wakesOf(actor),
      ids: idsOf(actor),
      now: () => actor.sees ?? this.clock.now(),
      counterFor: async () => WORD_COUNTER,
      currentTrace: () => undefined,
    };
    return ports as ClientPorts;
  }

  #deliveryOf(queue: QueueName, actor: Actor, ports: Ports): JobDelivery {
    const drop = (_job: string, error: unknown) => this.#note(error);
    const listeners = { report: () => undefined, drop };
    if (queue === QUEUES.turn) return deliverTurns(createTurnHandler(ports), listeners);
    if (queue === QUEUES.summarization) {
      return deliverSummarizations(createSummarizationHandler(ports), listeners);
    }
    const addBulk = (children: Parameters<MemoryJobs['addChildren']>[0]) =>
      this.held.hold(actor, 'queue.addBulk', children, async ({ jobs }) => jobs.addChildren(children));
    return deliverPasses(createPassHandler(ports), { of: () => ({ addBulk }) } as unknown as QueueSet, listeners);
  }

  /** The part of a BullMQ job that deliveries use. */
  #jobAsSeen(actor: Actor, job: TakenJob): Job<unknown> {
    const { held } = this;
    const seen = {
      id: job.id,
      data: job.data,
      timestamp: job.timestamp,
      attemptsMade: job.attemptsMade,
      queueQualifiedName: job.queue,
      getDependenciesCount: () => held.hold(actor, 'job.count', [], async ({ jobs }) => jobs.countChildren(job.id)),
      moveToWaitingChildren: () =>
        held.hold(actor, 'job.wait', [], async ({ jobs }) => jobs.moveToWaitingChildren(job)),
      // Deliveries compute this time with Date.now, not with the clock of the world.
      moveToDelayed: (at: number) => {
        const delayMs = Math.max(1_000, Math.round((at - Date.now()) / 1_000) * 1_000);
        return held.hold(actor, 'job.delay', [delayMs], async ({ jobs }) => jobs.moveToDelayed(job, delayMs));
      },
    };
    return seen as unknown as Job<unknown>;
  }

  #openPorts(actor: Actor): Ports {
    const { held, clock } = this;
    const { options, surroundings } = this.#setting;
    const { summarizers = [] } = surroundings;
    const timers = options.timers ?? clock.timersOf(() => !actor.process.isDead);
    const prepared = this.#openAgent(actor, timers);
    const bind = (room: string) => held.bind(actor, room, ({ store }) => store);
    const ports: Ports = {
      turns: bind('turns'),
      passes: bind('passes'),
      contexts: bind('contexts'),
      summaries: bind('summaries'),
      sweep: bind('sweep'),
      streams: {
        isFollowed: async () => false,
        appendPieces: async () => ({ status: 'not_followed' }),
        readValues: async () => [],
      },
      wakes: this.#wakesOf(actor),
      takeover: {
        settleNow: (conversation) => takeOverPass(ports, conversation),
        recount: (conversation, asked) => recountContext(ports, conversation, asked),
      },
      summarizers: () => summarizers.map((summarizer) => held.bind(actor, 'summarizer', () => summarizer)),
      calibrations: { observe: async () => undefined },
      agents: { find: (name) => (name === AGENT ? prepared : undefined) },
      clock: { now: () => actor.sees ?? clock.now() },
      ids: idsOf(actor),
      owners: idsOf(actor),
      timers,
      onEvent: () => undefined,
      tracing: noTracing,
      shutdown: new Shutdown(),
      solo: new SoloLock(),
    };
    return ports;
  }

  /** The agent with a model and tools whose calls are held. */
  #openAgent(actor: Actor, timers: Timers): PreparedAgent {
    const prepared = this.#setting.agent;
    const { agent } = prepared;
    const { modelMs = 0 } = this.#setting.options;
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
    return { ...prepared, agent: { ...agent, model, tools } };
  }

  #wakesOf(actor: Actor): WakeQueue {
    return this.held.bind(
      actor,
      'wakes',
      ({ jobs }): WakeQueue => ({
        wake: async (kind, conversation, wake) => jobs.add(kind, conversation, wake),
        isPending: async (_kind, _conversation, wake) => jobs.isPending(wake),
        eraseJobs: async () => undefined,
      }),
    );
  }

  #openActor(name: string, process: Process, saved: Pick<Actor, 'origin'> & Partial<Actor>): Actor {
    const { origin, begunAt = this.clock.now(), replies = [] } = saved;
    return { name, process, origin, begunAt, replies: [...replies], calls: 0, ids: 0, sees: undefined };
  }

  #note(error: unknown): void {
    this.failures.push(error);
  }
}

export function openProcess(name: string): Process {
  return { name, isDead: false };
}

/** Ids that depend only on the actor and on the number of its earlier ids, so that a replay gets the same ids. */
function idsOf(actor: Actor): { next(): string } {
  const mark = actor.name.startsWith(ID_MARK) ? actor.name : `${ID_MARK}${actor.name}`;
  return {
    next: () => {
      actor.ids += 1;
      return `${mark}-${actor.ids}`;
    },
  };
}
