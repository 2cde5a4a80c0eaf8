import type { Backoff } from '../../../src/domain/conversation.ts';
import type { WorkerEvent } from '../../../src/domain/events.ts';
import type { ConversationRef } from '../../../src/domain/ids.ts';
import { addWeights, type Message, NO_WEIGHT } from '../../../src/domain/message.ts';
import type { Model, ModelProfile } from '../../../src/domain/model.ts';
import type { Reason } from '../../../src/domain/pass.ts';
import type { Policy, PolicyInput } from '../../../src/domain/policy.ts';
import type { Summarizer, SummaryRequest } from '../../../src/domain/summarizer.ts';
import { noTracing } from '../../../src/domain/tracing.ts';
import { TURN_LIMITS } from '../../../src/domain/turn.ts';
import { type Segment, START_VERSION, type Version } from '../../../src/domain/version.ts';
import type {
  PassDeliveryResult,
  PassHandler,
  SummarizationHandler,
  SummarizationResult,
  TurnHandler,
} from '../../../src/jobs/ports.ts';
import { scriptedModel } from '../../../src/providers/scripted.ts';
import type { PassRequest } from '../../../src/store/passes.ts';
import { loadTokenCounter } from '../../../src/wire/tokens/token-counter.ts';
import { createPassHandler, takeOverPass } from '../../../src/workers/compaction/pass-delivery.ts';
import type { CompactionPorts } from '../../../src/workers/compaction/pass-writes.ts';
import { recountContext } from '../../../src/workers/compaction/recount.ts';
import { type PreparedAgent, prepareAgent } from '../../../src/workers/prepared-agent.ts';
import { Shutdown } from '../../../src/workers/shutdown.ts';
import { SoloLock } from '../../../src/workers/solo-lock.ts';
import { createSummarizationHandler } from '../../../src/workers/summarization/summarization-delivery.ts';
import { createSweeper, type Sweeper, type SweeperPorts } from '../../../src/workers/sweeper/sweeper.ts';
import { createTurnHandler } from '../../../src/workers/turn/turn-delivery.ts';
import type { TurnPorts } from '../../../src/workers/turn/turn-ports.ts';
import type { SummarizationPorts } from '../../../src/workers/worker-ports.ts';
import { TestDatabase } from '../../store/test-database.ts';
import { ManualTimers } from '../turn/manual-timers.ts';
import { type Child, MemoryQueue } from './memory-queue.ts';

export const ref: ConversationRef = { tenant: '_', id: 'talk' };

/**
 * Five sequences of 608 tokens, each after a user message of 24 tokens. The last two messages are in the retention
 * window. Each sequence ends with a message that is larger than the verbatim tail of the default budget.
 */
export const FIVE_SEQUENCES = 'u20 a20 a580 '.repeat(5).concat('u20 a20');

export type AllPorts = TurnPorts & CompactionPorts & SummarizationPorts & SweeperPorts;

export interface FixtureOptions {
  readonly policy?: PolicyInput;
  readonly model?: Model;
  readonly profile?: Partial<ModelProfile>;
  readonly summarizers?: readonly Summarizer[];
  /** Wraps the ports that the workers use. */
  readonly wrap?: (ports: AllPorts) => AllPorts;
}

const WORDS = ['word', 'order', 'table', 'river', 'stone', 'garden', 'window', 'market'];

/** A text of this many tokens, one per word. */
export function words(count: number): string {
  return Array.from({ length: count }, (_, index) => ` ${WORDS[index % WORDS.length]}`).join('');
}

/** A summarizer that always writes the same short text for the same range. */
export function brief(id = 'brief'): Summarizer & { readonly requests: SummaryRequest[] } {
  const requests: SummaryRequest[] = [];
  return {
    id,
    requests,
    summarize: async (request) => {
      requests.push(request);
      return { status: 'written', text: `what happened in ${request.range.from}-${request.range.to}` };
    },
  };
}

/**
 * All workers, over a store in this process. The test controls time, queue, summarizers and events. By default, a pass is due
 * from 1,500 tokens. It compacts to 1,100 tokens and keeps the last two messages.
 */
export class Fixture {
  readonly timers: ManualTimers;
  readonly db: TestDatabase;
  readonly store: TestDatabase['store'];
  readonly queue = new MemoryQueue();
  readonly events: WorkerEvent[] = [];
  readonly shutdown = new Shutdown();
  readonly agent: PreparedAgent;
  readonly ports: AllPorts;
  readonly turn: TurnHandler;
  readonly compaction: PassHandler;
  readonly summarization: SummarizationHandler;
  readonly sweeper: Sweeper;
  summarizers: readonly Summarizer[];
  /** Policies for which the worker asked for a chain of summarizers. */
  readonly policies: Policy[] = [];
  #ids = 0;

  private constructor(agent: PreparedAgent, options: FixtureOptions, timers: ManualTimers, db: TestDatabase) {
    const { summarizers = [brief()], wrap = (ports) => ports } = options;
    const { store } = db;
    this.timers = timers;
    this.db = db;
    this.store = store;
    this.agent = agent;
    this.summarizers = summarizers;
    this.ports = wrap({
      turns: store,
      passes: store,
      contexts: store,
      summaries: store,
      sweep: store,
      streams: store,
      wakes: this.queue,
      takeover: {
        settleNow: (conversation) => takeOverPass(this.ports, conversation),
        recount: (conversation, asked) => recountContext(this.ports, conversation, asked),
      },
      summarizers: (policy) => {
        this.policies.push(policy);
        return this.summarizers;
      },
      calibrations: { observe: async () => undefined },
      agents: { find: (name) => (name === agent.agent.name ? agent : undefined) },
      clock: timers,
      ids: { next: () => this.nextId() },
      owners: { next: () => this.nextId() },
      timers,
      onEvent: (event) => this.events.push(event),
      tracing: noTracing,
      shutdown: this.shutdown,
      solo: new SoloLock(),
    });
    this.turn = createTurnHandler(this.ports);
    this.compaction = createPassHandler(this.ports);
    this.summarization = createSummarizationHandler(this.ports);
    this.sweeper = createSweeper(this.ports);
  }

  static async open(options: FixtureOptions = {}): Promise<Fixture> {
    const { profile = { windowTokens: 100_000 }, model = scriptedModel({ profile, decide: () => ({}) }) } = options;
    const policy = { tokenThreshold: 1_500, maxTokens: 1_100, retentionWindow: 2, ...options.policy };
    const agent = { name: 'guide', system: 'You guide.', model, tools: [], policy };
    const prepared = await prepareAgent(agent, {}, { loadCounter: loadTokenCounter });
    const timers = new ManualTimers();
    return new Fixture(prepared, options, timers, await TestDatabase.open(timers));
  }

  nextId(): string {
    this.#ids += 1;
    return `id${this.#ids}`;
  }

  /** Appends messages written as `u20 a300`: role and words of each. Each message has four more tokens. */
  async append(script: string, agent = 'guide'): Promise<void> {
    const roles: Readonly<Record<string, Message['role']>> = { u: 'user', a: 'assistant' };
    const messages = script
      .trim()
      .split(/\s+/)
      .map((part): Message => ({ role: roles[part[0] ?? ''] ?? 'system', content: words(Number(part.slice(1))) }));
    const result = await this.store.append({
      conversation: ref,
      operation: this.nextId(),
      agent,
      expectedHead: (await this.store.readConversation(ref))?.head ?? 0,
      messages: await Promise.all(messages.map((message) => this.agent.weigh(message))),
      opens: [],
      closes: [],
    });
    if (result.status !== 'appended') throw new Error(`not appended: ${result.status}`);
  }

  async accept(turn: string, content: string): Promise<void> {
    const wake = this.nextId();
    const accepted = await this.store.accept({
      conversation: ref,
      turn,
      agent: 'guide',
      input: await this.agent.weigh({ role: 'user', content }),
      payloadHash: turn,
      wake,
      maxQueuedTurns: 100,
    });
    if (accepted.status === 'accepted' && accepted.needsWake) await this.queue.wake('turn', ref, wake);
  }

  /** Creates a turn that waits for a compaction pass. */
  async waitForPass(reasons: readonly Reason[] = ['manual'], tokens = 20): Promise<void> {
    await this.accept('t1', words(tokens));
    const claim = await this.store.claim(ref, this.nextId(), this.nextId());
    if (claim.status !== 'claimed') throw new Error(`not claimed: ${claim.status}`);
    await this.request(...reasons);
    const waitMs = TURN_LIMITS.compactionWaitMs;
    const { passId } = (await this.store.readConversation(ref)) ?? {};
    await this.store.suspend(claim.turn.lease, { for: 'compaction', step: 'model-1', waitMs, calls: [], passId });
    this.queue.clear();
  }

  async request(...reasons: Reason[]): Promise<void> {
    await this.#request({ reasons });
  }

  /** @param refusedTokens upper bound of the tokens of the request that the provider refused */
  async requestOverflow(refusedTokens: number): Promise<void> {
    await this.#request({ reasons: ['overflow'], refusedTokens });
  }

  async #request(why: Pick<PassRequest, 'reasons' | 'refusedTokens'>): Promise<void> {
    const wake = this.nextId();
    const asked = await this.store.requestPass({ conversation: ref, ...why, passId: this.nextId(), wake });
    if (asked.status === 'requested' && asked.needsWake) await this.queue.wake('pass', ref, wake);
  }

  deliver(job = 'job1', haveChildrenEnded = false): Promise<PassDeliveryResult> {
    return this.compaction({ conversation: ref, job, haveChildrenEnded });
  }

  /** Delivers the compaction pass, and returns the child jobs that it asks for. */
  async fanOut(job = 'job1'): Promise<readonly Child[]> {
    const result = await this.deliver(job);
    if (result.status !== 'parked') throw new Error('nothing was fanned out');
    return result.children;
  }

  summarize(child: Child, isLastAttempt = false): Promise<SummarizationResult> {
    const { child: _, ...task } = child;
    return this.summarization({ task, requestedAt: this.timers.now(), isLastAttempt });
  }

  /** Runs a whole pass: a delivery, its summarization jobs, and the delivery after them. */
  async runPass(job = 'job1'): Promise<void> {
    const result = await this.deliver(job);
    if (result.status !== 'parked') return;
    for (const child of result.children) await this.summarize(child);
    await this.deliver(job, true);
  }

  /** Ends a compaction pass that leaves this backoff. */
  async leaveBackoff(backoff: Backoff): Promise<void> {
    await this.store.requestPass({ conversation: ref, reasons: ['manual'], passId: 'idle', wake: this.nextId() });
    const claim = await this.store.claimPass(ref, 'owner', 'job', this.nextId());
    if (claim.status !== 'claimed') throw new Error(`not claimed: ${claim.status}`);
    const end = { outcome: { kind: 'none' }, backoff, wakeTurn: this.nextId() } as const;
    await this.store.endPass(claim.pass.lease, end);
  }

  /** Writes a live context version directly, without a compaction pass. Its segments are written as `raw 1-1`. */
  async writeVersion(...texts: readonly string[]): Promise<void> {
    const found = await this.db.find(ref);
    if (found === undefined) throw new Error('no conversation');
    const { log, size } = found;
    const segments = texts.map((text): Segment => {
      const [, kind, from, to] = /^(raw|evicted) (\d+)-(\d+)$/.exec(text) ?? [];
      const range = { from: Number(from), to: Number(to) };
      return kind === 'raw'
        ? { kind, ...range, weight: log.slice(range.from - 1, range.to).reduce(addWeights, NO_WEIGHT) }
        : { kind: 'evicted', ...range, weight: NO_WEIGHT };
    });
    const number = size.version + 1;
    const base = segments.at(-1)?.to ?? 0;
    const weight = segments.map((segment) => segment.weight).reduce(addWeights, NO_WEIGHT);
    const baseTotal = log[base - 1]?.total ?? NO_WEIGHT;
    const version: Version = { ...START_VERSION, number, parent: number - 1, base, baseTotal, weight, segments };
    const { keyspace } = this.db;
    const sizes = [weight.tokens, weight.bytes, base, baseTotal.tokens, baseTotal.bytes];
    this.db.run('HSET', keyspace.key(ref, 'ver'), number, JSON.stringify(version));
    this.db.run('HSET', keyspace.key(ref, 'c'), 'version', number, 'liveSize', sizes.join(' '));
  }

  async readVersion(): Promise<Version | undefined> {
    const found = await this.db.find(ref);
    return found?.versions.get(found.size.version);
  }

  /** The segments of the live context version in short form, such as `raw 1-1`. */
  async readSegments(): Promise<string[]> {
    const { segments = [] } = (await this.readVersion()) ?? {};
    return segments.map(({ kind, from, to }) => `${kind} ${from}-${to}`);
  }

  eventsOf<Type extends WorkerEvent['type']>(type: Type): Extract<WorkerEvent, { type: Type }>[] {
    return this.events.filter((event): event is Extract<WorkerEvent, { type: Type }> => event.type === type);
  }
}
