import { expect } from 'vitest';
import type { Tool } from '../../../src/domain/agent.ts';
import type { ContextSource } from '../../../src/domain/context.ts';
import type { WorkerEvent } from '../../../src/domain/events.ts';
import type { ConversationRef } from '../../../src/domain/ids.ts';
import type { Message } from '../../../src/domain/message.ts';
import type { Model } from '../../../src/domain/model.ts';
import type { PolicyInput } from '../../../src/domain/policy.ts';
import type { ContextReader } from '../../../src/domain/ports/context-store.ts';
import type { PassIntake, PassRequest } from '../../../src/domain/ports/pass-store.ts';
import type { TurnView } from '../../../src/domain/turn.ts';
import { START_VERSION } from '../../../src/domain/version.ts';
import { loadTokenCounter } from '../../../src/tokens/token-counter.ts';
import { type PreparedAgent, prepareAgent } from '../../../src/workers/prepared-agent.ts';
import { type DeliveryOutcome, TurnDelivery } from '../../../src/workers/turn/turn-delivery.ts';
import type { TurnDependencies } from '../../../src/workers/turn/turn-dependencies.ts';
import { MemoryDatabase, toConversationState } from '../../fakes/store/database.ts';
import { fulfilWait } from '../../fakes/store/mailbox.ts';
import { openMemoryTurnStore } from '../../fakes/store/turn-store.ts';
import { ManualTimers, settleTasks } from './manual-timers.ts';

export const ref: ConversationRef = { tenant: '_', id: 'talk' };

export interface FixtureOptions {
  readonly model: Model;
  readonly tools?: readonly Tool[];
  readonly policy?: PolicyInput;
  readonly maxSteps?: number;
  readonly toolResultMaxTokens?: number;
  readonly settings?: TurnDependencies['settings'];
  /** puts something between the worker and its ports */
  readonly wrap?: (ports: TurnDependencies) => TurnDependencies;
}

/** A turn worker over the stores in memory, with time, wakes and events in the test's hands. */
export class Fixture {
  readonly timers = new ManualTimers();
  readonly db = new MemoryDatabase(() => this.timers.now());
  readonly store = openMemoryTurnStore(this.db);
  readonly events: WorkerEvent[] = [];
  readonly wakes: { readonly kind: 'turn' | 'pass'; readonly wake: string }[] = [];
  readonly passRequests: PassRequest[] = [];
  readonly agent: PreparedAgent;
  takeovers = 0;
  readonly ports: TurnDependencies;
  #ids = 0;

  private constructor(agent: PreparedAgent, { settings, wrap = (ports) => ports }: FixtureOptions) {
    this.agent = agent;
    this.ports = wrap({
      turns: this.store,
      contexts: openContexts(this.db),
      passes: this.#openPasses(),
      takeover: {
        settleNow: async () => {
          this.takeovers += 1;
          this.endPass();
        },
      },
      wakes: {
        wake: async (kind, conversation, wake) => {
          expect(conversation).toEqual(ref);
          this.wakes.push({ kind, wake });
        },
      },
      agents: { find: (name) => (name === agent.agent.name ? agent : undefined) },
      clock: this.timers,
      ids: { next: () => this.nextId() },
      timers: this.timers,
      onEvent: (event) => this.events.push(event),
      ...(settings && { settings }),
    });
  }

  static async open(options: FixtureOptions): Promise<Fixture> {
    const { model, tools = [], policy = {}, maxSteps, toolResultMaxTokens } = options;
    const agent = {
      name: 'guide',
      system: 'You guide.',
      model,
      tools,
      policy,
      ...(maxSteps !== undefined && { maxSteps }),
      ...(toolResultMaxTokens !== undefined && { toolResultMaxTokens }),
    };
    return new Fixture(await prepareAgent(agent, {}, loadTokenCounter), options);
  }

  nextId(): string {
    this.#ids += 1;
    return `id${this.#ids}`;
  }

  async accept(turn: string, content: string, agent = 'guide'): Promise<void> {
    const accepted = await this.store.accept({
      conversation: ref,
      turn,
      agent,
      input: await this.agent.weigh({ role: 'user', content }),
      payloadHash: content,
      wake: this.nextId(),
      maxQueuedTurns: 100,
    });
    expect(accepted.status).toBe('accepted');
  }

  deliver(): Promise<DeliveryOutcome> {
    return new TurnDelivery(this.ports, ref).run();
  }

  /** Delivers for the next turn as often as a sweeper would, until the head waits or the mailbox is empty. */
  async resume(turn: string, answers: Readonly<Record<string, unknown>>): Promise<void> {
    const texts = Object.entries(answers).map(([call, answer]): [string, string] => [call, JSON.stringify(answer)]);
    await this.store.resume({ conversation: ref, turn, answers: new Map(texts), wake: this.nextId() });
  }

  async view(turn: string): Promise<TurnView | undefined> {
    return this.store.readTurn(ref, turn);
  }

  get log(): Message[] {
    return this.db.find(ref)?.log.map(({ message }) => message) ?? [];
  }

  eventsOf<Type extends WorkerEvent['type']>(type: Type): Extract<WorkerEvent, { type: Type }>[] {
    return this.events.filter((event): event is Extract<WorkerEvent, { type: Type }> => event.type === type);
  }

  /** Ends the pass in progress; what waited for it goes on. A version of `keep` messages stands for the rest. */
  endPass(keep?: number): void {
    const conversation = this.db.find(ref);
    if (conversation === undefined) return;
    if (keep !== undefined) commitEviction(conversation, keep);
    conversation.pass = undefined;
    conversation.passed = { head: conversation.log.length, turns: conversation.turns };
    fulfilWait(this.db, conversation, 'compaction', this.nextId());
  }

  /** Nothing of a delivery that ended is left behind. */
  async expectQuiet(): Promise<void> {
    await settleTasks();
    expect(this.timers.pending).toBe(0);
  }

  #openPasses(): PassIntake {
    return {
      requestPass: async (request) => {
        const conversation = this.db.find(ref);
        if (conversation === undefined || this.db.isGone(ref)) return { status: 'gone' };
        this.passRequests.push(request);
        if (conversation.pass !== undefined) {
          conversation.pass.reasons.push(...request.reasons);
          return { status: 'joined', passId: conversation.pass.passId, needsWake: false };
        }
        const { passId, wake, reasons } = request;
        conversation.pass = { passId, wake, reasons: [...reasons], attempts: 0, requestedAt: this.db.now() };
        return { status: 'requested', passId, needsWake: true };
      },
    };
  }
}

/** Evicts all but the last messages, as a commit would. */
function commitEviction(conversation: NonNullable<ReturnType<MemoryDatabase['find']>>, keep: number): void {
  const base = conversation.log.length - keep;
  const baseTotal = conversation.log[base - 1]?.total ?? { tokens: 0, bytes: 0 };
  const number = conversation.version + 1;
  const weight = { tokens: 0, bytes: 0 };
  const segment = { kind: 'evicted' as const, from: 1, to: base, weight };
  conversation.versions.set(number, {
    ...START_VERSION,
    number,
    parent: number - 1,
    base,
    baseTotal,
    segments: [segment],
  });
  Object.assign(conversation, { version: number, base, baseTotal, weight });
}

function openContexts(db: MemoryDatabase): TurnDependencies['contexts'] {
  const readContext: ContextReader['readContext'] = async (conversation): Promise<ContextSource | undefined> => {
    const found = db.find(conversation);
    if (found === undefined) return undefined;
    const version = found.versions.get(found.version) ?? START_VERSION;
    const entries = found.log.filter(({ seq }) => seq > version.base);
    return { version, head: found.log.length, entries, checkpoints: new Map() };
  };
  return {
    readContext,
    readConversation: async (conversation) => {
      const found = db.find(conversation);
      return found && toConversationState(found);
    },
    readLog: async (conversation, ranges) =>
      (db.find(conversation)?.log ?? []).filter(({ seq }) => ranges.some(({ from, to }) => from <= seq && seq <= to)),
  };
}
