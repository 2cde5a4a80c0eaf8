import { readAnswers } from '../../../src/api/client/answers.ts';
import type { CallAnswer } from '../../../src/api/contract/call-answers.ts';
import type { Agent, Tool } from '../../../src/domain/agent.ts';
import { NO_BACKOFF } from '../../../src/domain/conversation.ts';
import type { WorkerEvent } from '../../../src/domain/events.ts';
import type { ConversationRef } from '../../../src/domain/ids.ts';
import { type Message, NO_WEIGHT } from '../../../src/domain/message.ts';
import type { Model } from '../../../src/domain/model.ts';
import type { PassOutcome } from '../../../src/domain/pass.ts';
import type { PolicyInput } from '../../../src/domain/policy.ts';
import { noTracing } from '../../../src/domain/tracing.ts';
import type { TurnView } from '../../../src/domain/turn.ts';
import { type Segment, START_VERSION, type Version } from '../../../src/domain/version.ts';
import type { TurnDeliveryResult } from '../../../src/jobs/ports.ts';
import type { PassLease } from '../../../src/store/pass-record.ts';
import type { PassRequest } from '../../../src/store/passes.ts';
import type { PieceBatch } from '../../../src/store/stream-entries.ts';
import { loadTokenCounter } from '../../../src/wire/tokens/token-counter.ts';
import { recountContext } from '../../../src/workers/compaction/recount.ts';
import { type PreparedAgent, prepareAgent } from '../../../src/workers/prepared-agent.ts';
import { Shutdown } from '../../../src/workers/shutdown.ts';
import { SoloLock } from '../../../src/workers/solo-lock.ts';
import { TurnDelivery } from '../../../src/workers/turn/turn-delivery.ts';
import type { TurnPorts } from '../../../src/workers/turn/turn-ports.ts';
import { TestDatabase } from '../../store/test-database.ts';
import { ManualTimers, settleTasks } from './manual-timers.ts';

export const ref: ConversationRef = { tenant: '_', id: 'talk' };

export interface FixtureOptions {
  readonly model: Model;
  readonly tools?: readonly Tool[];
  readonly policy?: PolicyInput;
  readonly maxSteps?: number;
  readonly turnTimeoutMs?: number;
  readonly toolResultMaxTokens?: number;
  readonly recall?: boolean;
  readonly system?: Agent['system'];
  readonly settings?: TurnPorts['settings'];
  /** Number of messages that remain in the context after the turn has taken over a compaction pass. Default: all. */
  readonly takeoverKeeps?: number;
  /** Wraps the ports that the worker uses. */
  readonly wrap?: (ports: TurnPorts) => TurnPorts;
}

/** A turn worker over a store in this process. The test controls time, wakes and events. */
export class Fixture {
  readonly timers: ManualTimers;
  readonly db: TestDatabase;
  readonly store: TestDatabase['store'];
  readonly events: WorkerEvent[] = [];
  readonly shutdown = new Shutdown();
  readonly solo = new SoloLock();
  readonly wakes: { readonly kind: 'turn' | 'pass'; readonly wake: string }[] = [];
  readonly passRequests: PassRequest[] = [];
  readonly agent: PreparedAgent;
  takeovers = 0;
  recounts = 0;
  /** Token counts of providers that the worker reported for calibration. */
  readonly observed: { readonly model: string; readonly providerTokens: number; readonly counted: number }[] = [];
  /** Batches of pieces that the worker sent. */
  readonly batches: PieceBatch[] = [];
  readonly ports: TurnPorts;
  #ids = 0;

  private constructor(agent: PreparedAgent, options: FixtureOptions, timers: ManualTimers, db: TestDatabase) {
    const { settings, wrap = (ports) => ports } = options;
    const { store } = db;
    this.timers = timers;
    this.db = db;
    this.store = store;
    this.agent = agent;
    this.ports = wrap({
      turns: store,
      contexts: store,
      passes: {
        requestPass: async (request) => {
          this.passRequests.push(request);
          return store.requestPass(request);
        },
      },
      takeover: {
        settleNow: async () => {
          this.takeovers += 1;
          const claim = await store.takeOverPass(ref, this.nextId(), this.nextId());
          if (claim.status !== 'claimed') return { status: 'none_open' };
          const outcome = await this.#endClaimed(claim.pass.lease, options.takeoverKeeps);
          return { status: 'ended', outcome };
        },
        recount: async (conversation, asked) => {
          this.recounts += 1;
          const { agents } = this.ports;
          return await recountContext({ contexts: store, summaries: store, agents }, conversation, asked);
        },
      },
      streams: {
        // The store gathers the questions of 20 ms, by a timer that no test controls.
        isFollowed: async (conversation, turn) => db.run('EXISTS', db.keyspace.stream(conversation, turn)) === 1,
        appendPieces: async (lease, batch) => {
          this.batches.push(batch as PieceBatch);
          return await store.appendPieces(lease, batch);
        },
        readValues: (conversation, turn) => store.readValues(conversation, turn),
      },
      wakes: {
        wake: async (kind, conversation, wake) => {
          if (conversation.id === ref.id) this.wakes.push({ kind, wake });
        },
      },
      agents: { find: (name) => (name === agent.agent.name ? agent : undefined) },
      calibrations: {
        observe: async (model, providerTokens, counted) => {
          this.observed.push({ model, providerTokens, counted });
        },
      },
      clock: this.timers,
      ids: { next: () => this.nextId() },
      owners: { next: () => this.nextId() },
      timers: this.timers,
      onEvent: (event) => this.events.push(event),
      tracing: noTracing,
      shutdown: this.shutdown,
      solo: this.solo,
      ...(settings && { settings }),
    });
  }

  static async open(options: FixtureOptions): Promise<Fixture> {
    const { model, tools = [], policy = {}, maxSteps, turnTimeoutMs, toolResultMaxTokens, recall } = options;
    const agent = {
      name: 'guide',
      system: options.system ?? 'You guide.',
      model,
      tools,
      policy,
      ...(maxSteps !== undefined && { maxSteps }),
      ...(turnTimeoutMs !== undefined && { turnTimeoutMs }),
      ...(toolResultMaxTokens !== undefined && { toolResultMaxTokens }),
      ...(recall !== undefined && { recall }),
    };
    const prepared = await prepareAgent(agent, {}, { loadCounter: loadTokenCounter });
    const timers = new ManualTimers();
    return new Fixture(prepared, options, timers, await TestDatabase.open(timers));
  }

  nextId(): string {
    this.#ids += 1;
    return `id${this.#ids}`;
  }

  accept(turn: string, content: string, agent?: string): Promise<void> {
    return this.acceptMessage(turn, { role: 'user', content }, agent);
  }

  async acceptMessage(turn: string, message: Message, agent = 'guide'): Promise<void> {
    const accepted = await this.store.accept({
      conversation: ref,
      turn,
      agent,
      input: await this.agent.weigh(message),
      payloadHash: message.content,
      wake: this.nextId(),
      maxQueuedTurns: 100,
    });
    if (accepted.status !== 'accepted') throw new Error(`turn ${turn} is ${accepted.status}`);
  }

  async deliver(): Promise<TurnDeliveryResult['status']> {
    return (await new TurnDelivery(this.ports, ref).run()).status;
  }

  /** Sends results or decisions for tool calls, by call id, as a caller would. */
  async resume(turn: string, answers: Readonly<Record<string, CallAnswer>>): Promise<void> {
    const brought = await readAnswers(this.agent.counter, answers);
    await this.store.answerTurn({ conversation: ref, turn, answers: brought, wake: this.nextId() });
  }

  async view(turn: string): Promise<TurnView | undefined> {
    return this.store.readTurn(ref, turn);
  }

  async readLog(): Promise<Message[]> {
    return (await this.db.find(ref))?.log.map(({ message }) => message) ?? [];
  }

  eventsOf<Type extends WorkerEvent['type']>(type: Type): Extract<WorkerEvent, { type: Type }>[] {
    return this.events.filter((event): event is Extract<WorkerEvent, { type: Type }> => event.type === type);
  }

  /**
   * Ends the open compaction pass, and wakes the turns that wait for it. With `keep`, the pass evicts all but the last
   * messages.
   */
  async endPass(keep?: number): Promise<void> {
    const claim = await this.store.claimPass(ref, this.nextId(), 'job', this.nextId());
    if (claim.status === 'claimed') await this.#endClaimed(claim.pass.lease, keep);
  }

  async #endClaimed(lease: PassLease, keep?: number): Promise<PassOutcome['kind']> {
    const end = { backoff: NO_BACKOFF, wakeTurn: this.nextId() };
    if (keep === undefined) {
      await this.store.endPass(lease, { ...end, outcome: { kind: 'none' } });
      return 'none';
    }
    const version = await this.#evictAllBut(keep);
    await this.store.commitVersion(lease, {
      ...end,
      outcome: { kind: 'committed', version: version.number },
      expectedVersion: version.number - 1,
      version,
      summaries: new Map(),
      byHash: new Map(),
      keepVersions: 10,
    });
    return 'committed';
  }

  /** Ends the open compaction pass as failed, so that it decides nothing about the context's size. */
  async failPass(): Promise<void> {
    const claim = await this.store.claimPass(ref, this.nextId(), 'job', this.nextId());
    if (claim.status !== 'claimed') throw new Error(`no pass is open: ${claim.status}`);
    const outcome = { kind: 'failed', code: 'poison' } as const;
    await this.store.endPass(claim.pass.lease, { backoff: NO_BACKOFF, wakeTurn: this.nextId(), outcome });
  }

  /** Number of timers that still run after all work has ended. A delivery that ended must leave none. */
  async countTimers(): Promise<number> {
    await settleTasks();
    return this.timers.pending;
  }

  async #evictAllBut(keep: number): Promise<Version> {
    const { log = [], size } = (await this.db.find(ref)) ?? {};
    const version = size?.version ?? 0;
    const base = log.length - keep;
    const segment: Segment = { kind: 'evicted', from: 1, to: base, weight: NO_WEIGHT };
    const { total: baseTotal = NO_WEIGHT } = log[base - 1] ?? {};
    return {
      ...START_VERSION,
      number: version + 1,
      parent: version,
      cause: 'pass',
      base,
      baseTotal,
      segments: [segment],
    };
  }
}
