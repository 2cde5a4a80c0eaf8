import type { PassPlan } from '../../../src/domain/compaction/plan.ts';
import type { Reason } from '../../../src/domain/compaction/thresholds.ts';
import {
  type Backoff,
  type ConversationState,
  NO_BACKOFF,
  type Quarantine,
  type StepState,
} from '../../../src/domain/conversation.ts';
import type { ConversationRef, TraceParent } from '../../../src/domain/ids.ts';
import { type LogEntry, NO_WEIGHT, type WeighedMessage, type Weight } from '../../../src/domain/message.ts';
import type { ListedConversation } from '../../../src/domain/ports/listing-store.ts';
import type { DecisionAnswer } from '../../../src/domain/ports/proposal-store.ts';
import type { SummaryRecord } from '../../../src/domain/ports/summary-store.ts';
import type { UnusedAnswer } from '../../../src/domain/ports/turn-answers.ts';
import type { Forking, ForkPlan } from '../../../src/domain/ports/version-store.ts';
import type { Proposal, Verdict } from '../../../src/domain/proposal.ts';
import type { SizeAnchor } from '../../../src/domain/size.ts';
import type { AnswerEnd, StepRecord, TurnFailure, TurnState, Waiting, WaitRequest } from '../../../src/domain/turn.ts';
import type { Summary, Version } from '../../../src/domain/version.ts';

/** `t:<id>:<turn>` */
export interface MemoryTurn {
  readonly turn: string;
  readonly agent: string;
  readonly payloadHash: string;
  readonly acceptedAt: number;
  readonly askedIn?: TraceParent | undefined;
  readonly dueAt?: number;
  /** until it is settled */
  context?: string | undefined;
  /** until it is in the log */
  input?: WeighedMessage | undefined;
  state: TurnState;
  /** owner of the first claim since it was accepted or last suspended */
  taken?: string | undefined;
  inputSeq?: number;
  readonly steps: Map<string, StepRecord>;
  readonly answers: Map<string, string>;
  /** of each answer: what the log says of the call if the answer is never used */
  readonly unused: Map<string, UnusedAnswer>;
  readonly suspensions: Map<string, number>;
  /** kept past the claim that goes on, until its step is recorded */
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
  /** wake of the cancel that settled it */
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
  /** the owner that handed it back at a stop, until the next claim */
  releasedBy?: string | undefined;
  review?: MemoryReview | undefined;
}

/** A proposal that waits, and what somebody decided on it. */
export interface MemoryReview {
  readonly proposal: Proposal;
  readonly proposedAt: number;
  readonly expiresAt: number;
  decision?: { readonly operation: string; readonly verdict: Verdict } | undefined;
}

/** All that lies under one conversation's keys. Fields as in src/store/conversation-record.ts, by their long names. */
export interface MemoryConversation {
  readonly ref: ConversationRef;
  readonly agent: string;
  epoch: number;
  owner?: string | undefined;
  leaseUntil?: number | undefined;
  attempts: number;
  /** its last claim runs with nothing else in its process */
  isAlone?: boolean;
  wake?: string;
  /** wake of the claim that settled a poison turn, and the turn */
  poisoned?: { readonly wake: string; readonly turn: string } | undefined;
  /** when one of its turns settled last */
  settledAt?: number;
  readonly log: LogEntry[];
  turns: number;
  /** open call → the provider's id, or empty */
  readonly openCalls: Map<string, string>;
  version: number;
  weight: Weight;
  base: number;
  baseTotal: Weight;
  anchor?: SizeAnchor;
  readonly versions: Map<number, Version>;
  readonly summaries: Map<string, Summary>;
  /** whole texts kept beside clipped messages, by hash */
  readonly texts: Map<string, string>;
  passed: { head: number; turns: number };
  backoff: Backoff;
  pass?: MemoryPass | undefined;
  quarantine?: Quarantine;
  answeredVersion?: number;
  /** the pass that ended last, the turn wake that its end brought and whether a turn waited: for an end sent again */
  lastEnd?: {
    readonly passId: string;
    readonly wakeTurn: string;
    readonly isAwaited: boolean;
    readonly settles: boolean;
  };
  /** the owner whose pass a restore ended or a turn took over last */
  superseded?: string | undefined;
  /** how long it may rest, and until when it does */
  ttl?: { readonly ms: number; readonly ends: number } | undefined;
  /** the system prompt written last, and for which turn */
  system?: { readonly turn: string; readonly text: string };
  readonly mailbox: string[];
  lastTurn?: NonNullable<ListedConversation['lastTurn']>;
  readonly turnRecords: Map<string, MemoryTurn>;
  readonly summaryRecords: Map<string, MemorySummary>;
  /** what became of decisions on proposals, by operation */
  readonly decisions: Map<string, DecisionAnswer>;
  readonly operations: Map<string, { readonly from: number; readonly to: number }>;
  /** replacements of the live version, by operation */
  readonly replacements: Map<string, { readonly version: number; readonly wakeTurn?: string }>;
  /** versions that are kept for good */
  readonly points: Set<number>;
  /** the fork that made it; open while it is being copied */
  fork?: { readonly operation: string; readonly plan: ForkPlan; readonly isOpen: boolean; readonly until: number };
  readonly events: MemoryEvent[];
}

/** `nth` of its conversation, from 1, trimmed ones included. */
export interface MemoryEvent {
  readonly nth: number;
  readonly at: number;
  readonly type: string;
  readonly fields: Readonly<Record<string, string>>;
}

export type MemorySummary =
  | { readonly kind: 'claim'; readonly owner: string; until: number }
  | { readonly kind: 'record'; readonly record: SummaryRecord; until: number }
  | { readonly kind: 'part'; readonly text: string; until: number };

/**
 * What the in-memory stores share: one process's Redis. Every operation of theirs is synchronous inside, as a script is,
 * so no other can come between.
 */
export class MemoryDatabase {
  readonly conversations = new Map<string, MemoryConversation>();
  /** erased conversations, until when (ms) */
  readonly gone = new Map<string, number>();
  /** member as in src/store/keys.ts, of `ready` and `idle` → when somebody must look again (ms) */
  readonly ready = new Map<string, number>();
  /** member → times that it was pushed out */
  readonly sweeps = new Map<string, number>();
  /** member of `idle` → whose call ended its expiry */
  readonly expiries = new Map<string, { readonly owner: string; readonly removedKeys: number }>();
  /** shard → last sweep (ms) */
  readonly sweptAt = new Map<number, number>();
  /** entries that were set aside, and why */
  readonly quarantined = new Map<string, string>();
  readonly #clock: () => number;
  readonly #removedKeys = new Map<string, number>();
  #offsetMs = 0;

  constructor(clock: () => number = Date.now) {
    this.#clock = clock;
  }

  /** ms since epoch */
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

  /** With findFork before it: as find_refusal in lua/shared/create.lua. */
  findOtherAgent(ref: ConversationRef, agent: string): string | undefined {
    const known = this.isGone(ref) ? undefined : this.find(ref)?.agent;
    return known === agent ? undefined : known;
  }

  findFork(ref: ConversationRef): Forking | undefined {
    const fork = this.isGone(ref) ? undefined : this.find(ref)?.fork;
    return fork?.isOpen ? { status: 'forking', isAbandoned: fork.until <= this.now() } : undefined;
  }

  /** The conversation; where there is none, or it was erased, a new one. */
  open(ref: ConversationRef, agent: string): MemoryConversation {
    if (this.isGone(ref)) this.remove(ref);
    this.gone.delete(nameOf(ref));
    const found = this.find(ref);
    if (found !== undefined) return found;
    const made = createConversation(ref, agent);
    this.conversations.set(nameOf(ref), made);
    return made;
  }

  /** Removes what an erase removes; the mark `gone` is the caller's. */
  remove(ref: ConversationRef): void {
    this.conversations.delete(nameOf(ref));
    const name = `${ref.tenant}|${ref.id}`;
    this.expiries.delete(`r|${name}`);
    for (const member of this.ready.keys()) {
      const rest = member.slice(2);
      if (rest === name || rest.startsWith(`${name}|`)) this.ready.delete(member);
    }
  }

  /** @param removedKeys answered again where the erase is sent again */
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
  const { answeredVersion = -1, fork, ttl } = conversation;
  const answered = Math.max(answeredVersion, anchor?.version ?? -1);
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
    ...(answered >= 0 && { answeredVersion: answered }),
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
