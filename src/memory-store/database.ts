import { type Backoff, type LeftRange, NO_BACKOFF, type Quarantine } from '../domain/conversation.ts';
import type { ConversationRef } from '../domain/ids.ts';
import { type LogEntry, NO_WEIGHT, type Weight } from '../domain/message.ts';
import type { ListedConversation } from '../domain/ports/listing-store.ts';
import type { DecisionAnswer } from '../domain/ports/proposal-store.ts';
import type { SummaryRecord } from '../domain/ports/summary-store.ts';
import type { Forking, ForkPlan } from '../domain/ports/version-store.ts';
import type { Delivery } from '../domain/ports/webhook-store.ts';
import type { RequestFacts } from '../domain/request-facts.ts';
import type { SizeAnchor } from '../domain/size.ts';
import type { TurnUsage } from '../domain/turn.ts';
import type { SeqRange, Summary, Version } from '../domain/version.ts';
import type { StoredWebhook } from '../domain/webhook.ts';
import type { MemoryPass } from './pass-record.ts';
import { scriptTime } from './script-time.ts';
import type { MemoryStream, MemoryTurn } from './turn-record.ts';

export interface MemoryConversation {
  readonly ref: ConversationRef;
  readonly agent: string;
  readonly incarnation: string;
  readonly createdAt: number;
  /** True if a conversation with this id was erased shortly before. */
  readonly isRecreated: boolean;
  epoch: number;
  owner?: string | undefined;
  leaseUntil?: number | undefined;
  attempts: number;
  /**
   * Set while the last claimed turn runs with nothing else in its process. If the process dies, that turn is the cause
   * (I10). `watched`: a parent process reports the death.
   */
  alone?: 'watched' | 'unwatched' | undefined;
  wake?: string;
  settledBy?: number;
  /** The turn that was settled last because its workers kept dying, and the wake of the claim that settled it. */
  poisoned?: { readonly wake: string; readonly turn: string } | undefined;
  /** Time at which a turn was last settled. */
  settledAt?: number;
  readonly log: LogEntry[];
  /** Ranges of the log that are packed. In memory, these entries stay in `log`. */
  packed: SeqRange[];
  turns: number;
  /** Usage of all settled turns and summaries. */
  spent?: TurnUsage;
  /** Map of open tool calls: our call id → the provider's call id, empty if both are equal. */
  readonly openCalls: Map<string, string>;
  version: number;
  weight: Weight;
  base: number;
  baseTotal: Weight;
  anchor?: SizeAnchor;
  requestFacts?: RequestFacts;
  readonly versions: Map<number, Version>;
  readonly summaries: Map<string, Summary>;
  /** Full texts of messages that the context shows clipped, by hash. */
  readonly texts: Map<string, string>;
  passed: { head: number; turns: number };
  backoff: Backoff;
  pass?: MemoryPass | undefined;
  quarantine?: Quarantine;
  answeredVersion?: number;
  /** The compaction pass that ended last. A repeated call that ended it gets its reply from here (I5). */
  lastEnd?: {
    readonly passId: string;
    readonly wakeTurn: string;
    readonly isAwaited: boolean;
    readonly settles: boolean;
  };
  /** Owner of the pass that was last ended by a restore or taken over by a turn. */
  superseded?: string | undefined;
  /** Idle TTL of the conversation and the time at which it expires, in ms. */
  ttl?: { readonly ms: number; readonly ends: number } | undefined;
  /** The last system prompt that an agent's function wrote, and the turn for which it was written. */
  system?: { readonly turn: string; readonly text: string };
  readonly mailbox: string[];
  /** True if turns may wait to go into the running turn. */
  isSteered?: boolean;
  /** Ranges of the log that the next turn removes from the context. */
  undo: SeqRange[];
  /** Ranges of the log that left the context when their turns were settled. */
  left: LeftRange[];
  lastTurn?: NonNullable<ListedConversation['lastTurn']>;
  readonly turnRecords: Map<string, MemoryTurn>;
  readonly summaryRecords: Map<string, MemorySummary>;
  /** For each operation id, the reply to a decision on a proposal, for a repeated call. */
  readonly decisions: Map<string, DecisionAnswer>;
  readonly operations: Map<string, { readonly from: number; readonly to: number }>;
  /** For each operation id, the version that a restore or rollback made, for a repeated call. */
  readonly replacements: Map<string, { readonly version: number; readonly wakeTurn?: string }>;
  /** Numbers of versions that are restore points, and so are never dropped. */
  readonly points: Set<number>;
  /** The fork that created this conversation. `isOpen` is true while log entries are copied from the source. */
  fork?: { readonly operation: string; readonly plan: ForkPlan; readonly isOpen: boolean; readonly until: number };
  readonly events: MemoryEvent[];
  /** Streams of followed turns. */
  readonly streams: Map<string, MemoryStream>;
}

export interface MemoryEvent {
  /** Position among all events of the conversation, counted from 1. */
  readonly nth: number;
  readonly at: number;
  readonly type: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** Unsent events of a conversation for one webhook. */
export interface MemoryDelivery extends Pick<Delivery, 'webhook' | 'conversation' | 'next' | 'attempts'> {
  /** Time of the next attempt, or of the end of a claim. */
  readonly dueAt: number;
}

export type MemorySummary =
  | { readonly kind: 'claim'; readonly owner: string; until: number }
  | { readonly kind: 'record'; readonly record: SummaryRecord; until: number }
  | { readonly kind: 'part'; readonly text: string; until: number };

/** Records behind all memory stores. Each operation is synchronous, so it is as atomic as a Lua script in Redis. */
export class MemoryDatabase {
  readonly conversations = new Map<string, MemoryConversation>();
  /** Erased conversation → time in ms at which the store forgets that it was erased. */
  readonly gone = new Map<string, number>();
  /** Entry of a turn or pass (name from members.ts) → time in ms at which the sweeper next inspects it. */
  readonly ready = new Map<string, number>();
  /** Conversation whose log entries may be packed (`tenant|id`) → time in ms. */
  readonly unpacked = new Map<string, number>();
  /** Entry of a turn or pass → number of sweeps since a worker last claimed it. */
  readonly sweeps = new Map<string, number>();
  /** Name of an idle conversation → the call that finished its erase, and how many keys were removed. */
  readonly expiries = new Map<string, { readonly owner: string; readonly removedKeys: number }>();
  /** Name of a turn's stream → readers to notify. */
  readonly readers = new Map<string, Set<() => void>>();
  /** Tenant → usage of its settled turns and summaries. */
  readonly tenantUsage = new Map<string, TurnUsage>();
  readonly webhooks = new Map<string, StoredWebhook>();
  /** Webhook and conversation → its unsent events. */
  readonly outbox = new Map<string, MemoryDelivery>();
  readonly lastSweepMsByShard = new Map<number, number>();
  /** Quarantined entry of a turn or pass → reason for the quarantine. */
  readonly quarantined = new Map<string, string>();
  readonly copy: <Value>(value: Value) => Value;
  readonly #clock: () => number;
  readonly #removedKeys = new Map<string, number>();
  #offsetMs = 0;
  #created = 0;

  /** @param copy copies every context and message that is stored or returned, as a database does */
  constructor(clock = scriptTime(Date.now), copy: <Value>(value: Value) => Value = structuredClone) {
    this.#clock = clock;
    this.copy = copy;
  }

  now(): number {
    return this.#clock() + this.#offsetMs;
  }

  advance(ms: number): void {
    this.#offsetMs += ms;
  }

  find(ref: ConversationRef): MemoryConversation | undefined {
    return this.conversations.get(nameOf(ref));
  }

  isGone(ref: ConversationRef): boolean {
    return (this.gone.get(nameOf(ref)) ?? 0) > this.now();
  }

  /** Returns the conversation's owner if it is another agent, as `lua/shared/create.lua` checks in Redis. */
  findOtherAgent(ref: ConversationRef, agent: string): string | undefined {
    const known = this.isGone(ref) ? undefined : this.find(ref)?.agent;
    return known === agent ? undefined : known;
  }

  findFork(ref: ConversationRef): Forking | undefined {
    const fork = this.isGone(ref) ? undefined : this.find(ref)?.fork;
    return fork?.isOpen ? { status: 'forking', isAbandoned: fork.until <= this.now() } : undefined;
  }

  /** Finds the conversation, or creates one if it is missing or erased. */
  open(ref: ConversationRef, agent: string): MemoryConversation {
    const isRecreated = this.isGone(ref);
    if (isRecreated) this.remove(ref);
    this.gone.delete(nameOf(ref));
    const found = this.find(ref);
    if (found !== undefined) return found;
    this.#created += 1;
    const made = createConversation(ref, agent, {
      incarnation: String(this.#created),
      createdAt: this.now(),
      isRecreated,
    });
    this.conversations.set(nameOf(ref), made);
    return made;
  }

  /** Removes every record of a conversation. The caller marks the conversation as erased in `gone`. */
  remove(ref: ConversationRef): void {
    this.conversations.delete(nameOf(ref));
    const name = `${ref.tenant}|${ref.id}`;
    this.expiries.delete(`r|${name}`);
    this.unpacked.delete(name);
    for (const member of this.ready.keys()) {
      const rest = member.slice(2);
      if (rest === name || rest.startsWith(`${name}|`)) this.ready.delete(member);
    }
  }

  /** @param removedKeys number of removed keys, which a repeated erase reports again */
  markGone(ref: ConversationRef, removedKeys = 0): void {
    this.gone.set(nameOf(ref), this.now() + 86_400_000);
    this.#removedKeys.set(nameOf(ref), removedKeys);
  }

  removedKeys(ref: ConversationRef): number {
    return this.#removedKeys.get(nameOf(ref)) ?? 0;
  }
}

function nameOf({ tenant, id }: ConversationRef): string {
  return `${tenant}/${id}`;
}

function createConversation(
  ref: ConversationRef,
  agent: string,
  creation: Pick<MemoryConversation, 'incarnation' | 'createdAt' | 'isRecreated'>,
): MemoryConversation {
  return {
    ref,
    agent,
    ...creation,
    epoch: 0,
    attempts: 0,
    log: [],
    packed: [],
    turns: 0,
    openCalls: new Map(),
    version: 0,
    weight: NO_WEIGHT,
    base: 0,
    baseTotal: NO_WEIGHT,
    versions: new Map(),
    summaries: new Map(),
    texts: new Map(),
    passed: { head: 0, turns: 0 },
    backoff: NO_BACKOFF,
    mailbox: [],
    undo: [],
    left: [],
    turnRecords: new Map(),
    summaryRecords: new Map(),
    decisions: new Map(),
    operations: new Map(),
    replacements: new Map(),
    points: new Set(),
    events: [],
    streams: new Map(),
  };
}
