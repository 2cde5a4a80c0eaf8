import type { PassPlan } from '../domain/compaction/plan.ts';
import type { Reason } from '../domain/compaction/thresholds.ts';
import {
  type Backoff,
  type ConversationState,
  NO_BACKOFF,
  type Quarantine,
  type StepState,
} from '../domain/conversation.ts';
import type { ConversationRef, TraceParent } from '../domain/ids.ts';
import { type LogEntry, NO_WEIGHT, type WeighedMessage, type Weight } from '../domain/message.ts';
import type { ListedConversation } from '../domain/ports/listing-store.ts';
import type { DecisionAnswer } from '../domain/ports/proposal-store.ts';
import type { SummaryRecord } from '../domain/ports/summary-store.ts';
import type { UnusedAnswer } from '../domain/ports/turn-answers.ts';
import type { Forking, ForkPlan } from '../domain/ports/version-store.ts';
import type { Proposal, Verdict } from '../domain/proposal.ts';
import type { SizeAnchor } from '../domain/size.ts';
import type { AnswerEnd, StepRecord, TurnFailure, TurnState, Waiting, WaitRequest } from '../domain/turn.ts';
import type { Summary, Version } from '../domain/version.ts';
import { scriptTime } from './script-time.ts';

/** `t:<id>:<turn>` */
export interface MemoryTurn {
  readonly turn: string;
  readonly agent: string;
  readonly payloadHash: string;
  readonly acceptedAt: number;
  readonly askedIn?: TraceParent | undefined;
  readonly dueAt?: number;
  /** Dropped when the turn is settled. */
  context?: string | undefined;
  /** Dropped when the message is in the log. */
  input?: WeighedMessage | undefined;
  state: TurnState;
  /** Owner of the first claim since the turn was accepted or suspended. */
  taken?: string | undefined;
  inputSeq?: number;
  readonly steps: Map<string, StepRecord>;
  readonly answers: Map<string, string>;
  /** By call: the result for the log if the answer is never used. */
  readonly unused: Map<string, UnusedAnswer>;
  readonly suspensions: Map<string, number>;
  /** Kept after the wait until its step is recorded. */
  waiting?:
    | (Waiting & Pick<WaitRequest, 'suspendedIn'> & { isOver: boolean; isFulfilled: boolean; readonly steps: number })
    | undefined;
  usage?: { inputTokens: number; outputTokens: number };
  requestTokens?: number[];
  answerSeq?: number;
  end?: AnswerEnd;
  failure?: TurnFailure;
  readonly redriveOf?: string;
  redrivenAs?: string;
  settledAt?: number;
  /** Wake of the cancel that settled the turn. */
  canceledBy?: string;
}

/** `pass:<id>` */
export interface MemoryPass {
  passId: string;
  reasons: Reason[];
  refusedTokens?: number | undefined;
  calibration?: number | undefined;
  wake?: string;
  attempts: number;
  owner?: string | undefined;
  leaseUntil?: number | undefined;
  requestedAt: number;
  plan?: PassPlan | undefined;
  isResumed?: boolean;
  parked?: { readonly job: string; readonly by: string; readonly untilMs: number } | undefined;
  /** Owner that released the pass at a stop, until the next claim. */
  releasedBy?: string | undefined;
  review?: MemoryReview | undefined;
}

export interface MemoryReview {
  readonly proposal: Proposal;
  readonly proposedAt: number;
  readonly expiresAt: number;
  decision?: { readonly operation: string; readonly verdict: Verdict } | undefined;
}

export interface MemoryConversation {
  readonly ref: ConversationRef;
  readonly agent: string;
  epoch: number;
  owner?: string | undefined;
  leaseUntil?: number | undefined;
  attempts: number;
  /** The last claim runs alone in its process (I10). */
  isAlone?: boolean;
  wake?: string;
  /** The last poison turn, and the wake of the claim that settled it. */
  poisoned?: { readonly wake: string; readonly turn: string } | undefined;
  /** Time of the last settlement. */
  settledAt?: number;
  readonly log: LogEntry[];
  turns: number;
  /** Open call → id of the provider, or empty. */
  readonly openCalls: Map<string, string>;
  version: number;
  weight: Weight;
  base: number;
  baseTotal: Weight;
  anchor?: SizeAnchor;
  readonly versions: Map<number, Version>;
  readonly summaries: Map<string, Summary>;
  /** Whole texts of clipped messages, by hash. */
  readonly texts: Map<string, string>;
  passed: { head: number; turns: number };
  backoff: Backoff;
  pass?: MemoryPass | undefined;
  quarantine?: Quarantine;
  answeredVersion?: number;
  /** The pass that ended last. Answers a repeated end (I5). */
  lastEnd?: {
    readonly passId: string;
    readonly wakeTurn: string;
    readonly isAwaited: boolean;
    readonly settles: boolean;
  };
  /** Owner of the pass that a restore ended or a turn took over last. */
  superseded?: string | undefined;
  /** Idle TTL and its end, in ms. */
  ttl?: { readonly ms: number; readonly ends: number } | undefined;
  /** The last written system prompt, and its turn. */
  system?: { readonly turn: string; readonly text: string };
  readonly mailbox: string[];
  lastTurn?: NonNullable<ListedConversation['lastTurn']>;
  readonly turnRecords: Map<string, MemoryTurn>;
  readonly summaryRecords: Map<string, MemorySummary>;
  /** Answers to decisions on proposals, by operation. */
  readonly decisions: Map<string, DecisionAnswer>;
  readonly operations: Map<string, { readonly from: number; readonly to: number }>;
  /** Replacements of the live version, by operation. */
  readonly replacements: Map<string, { readonly version: number; readonly wakeTurn?: string }>;
  /** Restore points: versions that are never dropped. */
  readonly points: Set<number>;
  /** The fork that made the conversation. It is open while its batches are copied. */
  fork?: { readonly operation: string; readonly plan: ForkPlan; readonly isOpen: boolean; readonly until: number };
  readonly events: MemoryEvent[];
}

export interface MemoryEvent {
  /** Position among all events of the conversation, from 1. */
  readonly nth: number;
  readonly at: number;
  readonly type: string;
  readonly fields: Readonly<Record<string, string>>;
}

export type MemorySummary =
  | { readonly kind: 'claim'; readonly owner: string; until: number }
  | { readonly kind: 'record'; readonly record: SummaryRecord; until: number }
  | { readonly kind: 'part'; readonly text: string; until: number };

/** The records behind the memory stores. Each operation runs synchronously, so it is as atomic as a script of Redis. */
export class MemoryDatabase {
  readonly conversations = new Map<string, MemoryConversation>();
  /** Erased conversation → end of its mark, in ms. */
  readonly gone = new Map<string, number>();
  /** Due entry (members.ts) → next time at which the sweeper inspects it, in ms. */
  readonly ready = new Map<string, number>();
  /** Due entry → number of sweeps without progress. */
  readonly sweeps = new Map<string, number>();
  /** Idle entry → the call that ended its expiry. */
  readonly expiries = new Map<string, { readonly owner: string; readonly removedKeys: number }>();
  readonly lastSweepMsByShard = new Map<number, number>();
  /** Due entry set aside → reason. */
  readonly quarantined = new Map<string, string>();
  readonly copy: <Value>(value: Value) => Value;
  readonly #clock: () => number;
  readonly #removedKeys = new Map<string, number>();
  #offsetMs = 0;

  /** @param copy copies contexts and messages on their way in and out, as a database does */
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

  /** Mirrors find_refusal of lua/shared/create.lua, after findFork. */
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
    if (this.isGone(ref)) this.remove(ref);
    this.gone.delete(nameOf(ref));
    const found = this.find(ref);
    if (found !== undefined) return found;
    const made = createConversation(ref, agent);
    this.conversations.set(nameOf(ref), made);
    return made;
  }

  /** Removes every record of a conversation. The caller sets the mark `gone`. */
  remove(ref: ConversationRef): void {
    this.conversations.delete(nameOf(ref));
    const name = `${ref.tenant}|${ref.id}`;
    this.expiries.delete(`r|${name}`);
    for (const member of this.ready.keys()) {
      const rest = member.slice(2);
      if (rest === name || rest.startsWith(`${name}|`)) this.ready.delete(member);
    }
  }

  /** @param removedKeys answer to a repeated erase */
  markGone(ref: ConversationRef, removedKeys = 0): void {
    this.gone.set(nameOf(ref), this.now() + 86_400_000);
    this.#removedKeys.set(nameOf(ref), removedKeys);
  }

  removedKeys(ref: ConversationRef): number {
    return this.#removedKeys.get(nameOf(ref)) ?? 0;
  }
}

export function toConversationState(conversation: MemoryConversation): ConversationState {
  const openCalls = [...conversation.openCalls].map(([id, providerId]) => ({ id, ...(providerId && { providerId }) }));
  return { ...toStepState(conversation), openCalls };
}

export function toStepState(conversation: MemoryConversation): StepState {
  const { agent, log, turns, version, weight, baseTotal, anchor, passed, backoff, pass, quarantine } = conversation;
  const { answeredVersion, fork, ttl } = conversation;
  return {
    agent,
    head: log.length,
    turns,
    size: { version, weight, baseTotal, headTotal: log.at(-1)?.total ?? NO_WEIGHT, ...(anchor && { anchor }) },
    passed: { ...passed },
    backoff,
    ...(pass && { passId: pass.passId }),
    ...(quarantine && { quarantine }),
    ...(fork?.isOpen && { isForking: true }),
    ...(answeredVersion !== undefined && { answeredVersion }),
    ...(ttl && { conversationTtl: ttl.ms }),
  };
}

function nameOf({ tenant, id }: ConversationRef): string {
  return `${tenant}/${id}`;
}

function createConversation(ref: ConversationRef, agent: string): MemoryConversation {
  return {
    ref,
    agent,
    epoch: 0,
    attempts: 0,
    log: [],
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
    turnRecords: new Map(),
    summaryRecords: new Map(),
    decisions: new Map(),
    operations: new Map(),
    replacements: new Map(),
    points: new Set(),
    events: [],
  };
}
