import type { VersionChange } from '../domain/diff.ts';
import type { LogEntry } from '../domain/message.ts';
import type { FailedTurn, OpenTurns } from '../domain/ports/turn-store.ts';
import type { TurnState, TurnView } from '../domain/turn.ts';
import type { Version } from '../domain/version.ts';
import type { AnyAgents, AppendFor, ConversationsFor, EnqueueFor } from './agent-types.ts';
import { answerTurn } from './answers.ts';
import { type Appended, appendMessages } from './appends.ts';
import { requestCompaction } from './compaction.ts';
import {
  type ContextView,
  type ConversationView,
  describeConversation,
  diff,
  eraseConversation,
  listVersions,
  readContextView,
  readLog,
  showVersion,
} from './contexts.ts';
import { type EventOptions, type EventOrLoss, followEvents } from './events.ts';
import { type FailedInput, listFailedTurns, type RedriveInput, redriveTurn } from './failed-turns.ts';
import { type Fork, type ForkInput, forkConversation } from './forks.ts';
import { type CallAnswer, type ContextPoint, type ConversationName, readConversationName } from './input.ts';
import {
  type ConversationPage,
  listConversations,
  listOpenTurns,
  listWaiting,
  type OpenTurnsInput,
  type WaitingInput,
  type WaitingPage,
} from './listings.ts';
import type { ClientPorts } from './ports.ts';
import {
  type ApprovalInput,
  approveProposal,
  type DecisionView,
  type ProposalView,
  type RejectionInput,
  readProposal,
  rejectProposal,
} from './proposals.ts';
import { type StreamOptions, streamTurn, type TurnProgress } from './stream.ts';
import { cancelTurn, type EnqueuedTurn, enqueueTurn, readResult } from './turns.ts';
import { type RestoreInput, type RollbackInput, restoreConversation, rollBackTurn } from './versions.ts';

/**
 * What other services use. Conversations are named by id, or by `{tenant, id}`. Every failure is a `TurnfoldError` with a
 * code; while Redis is away a call goes on trying for `deadlineMs`, then fails with `redis_unavailable`. With a `durability`, each call that writes
 * answers once what it wrote is held so, else fails with `accepted_unsure`, which names the id under which it may be made again.
 */
export interface TurnfoldClient<Agents extends AnyAgents = AnyAgents> {
  /** durably accepts a turn; the same `turn` id again answers its present state */
  enqueueTurn(input: EnqueueFor<Agents>): Promise<EnqueuedTurn>;
  /** the turn as it stands; with `waitMs` not before it is settled or the time is up */
  result(conversation: ConversationName, turn: string, options?: { readonly waitMs?: number }): Promise<TurnView>;
  /**
   * the turn's text as its model writes it, what it waits for whenever it waits, and its result at the end. Pieces are hints: some may be lost, and a step may
   * begin again; the result comes from the log. Ends with the signal's reason once it is aborted
   */
  stream(conversation: ConversationName, turn: string, options?: StreamOptions): AsyncIterable<TurnProgress>;
  /** settles a turn that is not settled as canceled; answers the state that it is in then, `completed` where that came first */
  cancel(conversation: ConversationName, turn: string): Promise<TurnState>;
  /**
   * turns that are accepted and not settled, with what the first one waits for: what to give `answer` and `cancel`. In the
   * order in which they will be answered, then scheduled ones by due time; 100, or as many as `limit` says (1,000 at most)
   */
  openTurns(conversation: ConversationName, input?: OpenTurnsInput): Promise<OpenTurns>;
  /**
   * conversations of all tenants or of one, by agent or state, a page at a time (100, or as many as `limit` says). An erase and
   * the end of an idle TTL take a conversation off the list
   */
  conversations(input?: ConversationsFor<Agents>): Promise<ConversationPage>;
  /**
   * turns of all conversations that wait for a result from outside or for a decision, a page at a time: the calls with their
   * arguments, since when, and the deadlines. What to show a person, and to give `answer`
   */
  waiting(input?: WaitingInput): Promise<WaitingPage>;
  /** failed turns of all conversations, newest first, as long as their records are kept (7 days) */
  failedTurns(input?: FailedInput): Promise<FailedTurn[]>;
  /**
   * brings a failed turn's input again, as a new turn at the tail. The same call again answers the same turn; another
   * `operation` makes another. A failed pass needs none: `compact` asks for the next
   */
  redrive(conversation: ConversationName, turn: string, input?: RedriveInput): Promise<EnqueuedTurn>;
  /**
   * brings results of tools that run elsewhere, or approvals, by call id: those that the turn waits for, all of them or none is
   * taken. The first answer to a call counts
   */
  answer(
    conversation: ConversationName,
    turn: string,
    answers: Readonly<Record<string, CallAnswer>>,
  ): Promise<'answered' | 'still_waiting'>;
  /** adds messages without a turn, for callers with a loop of their own */
  append(input: AppendFor<Agents>): Promise<Appended>;
  /** what the agent still knows: the live context, or a kept version's at a head */
  context(conversation: ConversationName, at?: ContextPoint): Promise<ContextView>;
  /** the context of one kept version, as it was when it was made */
  show(conversation: ConversationName, version: number): Promise<ContextView>;
  /** Kept versions, oldest first. */
  versions(conversation: ConversationName): Promise<Version[]>;
  /** what changed from one kept version to another; 0 is the whole log */
  diff(conversation: ConversationName, before: number, after: number): Promise<VersionChange[]>;
  /** the whole log, archived messages included */
  log(conversation: ConversationName): Promise<LogEntry[]>;
  /**
   * what was settled, committed, proposed and decided: durable events, oldest first, about the last 500 and for 24 h. Give `after`
   * the id of the last one that you handled, and none is missed over a crash; where some are no longer kept, `lost` says so.
   * Ends with the signal's reason once it is aborted
   */
  events(conversation: ConversationName, options?: EventOptions): AsyncIterable<EventOrLoss>;
  /** head, size, open calls and the pass in progress, without messages */
  describe(conversation: ConversationName): Promise<ConversationView>;
  /** puts a kept version over the live one, with everything newer or without */
  restore(conversation: ConversationName, input: RestoreInput): Promise<Version>;
  /** the context as it was before a settled turn */
  rollBackTurn(conversation: ConversationName, turn: string, input?: RollbackInput): Promise<Version>;
  /** copies a conversation into a new one, which takes no turns before that is done */
  fork(from: ConversationName, to: ConversationName, input?: ForkInput): Promise<Fork>;
  /** asks for a pass now, whatever the thresholds say; answers the pass's id */
  compact(conversation: ConversationName): Promise<string>;
  /** what a pass under review would commit; undefined where nothing waits */
  proposal(conversation: ConversationName): Promise<ProposalView | undefined>;
  /** has a proposal committed, with other texts for some of its summaries if need be; with `waitMs` answers how that ended */
  approve(conversation: ConversationName, proposal: string, input?: ApprovalInput): Promise<DecisionView>;
  /** ends the pass that made a proposal; the same content is not proposed again before the context has grown by 15 % */
  reject(conversation: ConversationName, proposal: string, input?: RejectionInput): Promise<DecisionView>;
  /** removes the conversation and everything that belongs to it; made again, also what came under its name since */
  erase(conversation: ConversationName): Promise<{ readonly removedKeys: number }>;
}

export function createClient(ports: ClientPorts): TurnfoldClient {
  return {
    enqueueTurn: (input) => enqueueTurn(ports, input),
    result: (conversation, turn, options) => readResult(ports, conversation, turn, options),
    stream: (conversation, turn, options) => streamTurn(ports, conversation, turn, options),
    cancel: (conversation, turn) => cancelTurn(ports, conversation, turn),
    openTurns: (conversation, input) => listOpenTurns(ports, conversation, input),
    conversations: (input) => listConversations(ports, input),
    waiting: (input) => listWaiting(ports, input),
    failedTurns: (input) => listFailedTurns(ports, input),
    redrive: (conversation, turn, input) => redriveTurn(ports, conversation, turn, input),
    answer: (conversation, turn, answers) => answerTurn(ports, conversation, turn, answers),
    append: (input) => appendMessages(ports, input),
    context: (conversation, at) => readContextView(ports, conversation, at),
    show: (conversation, version) => showVersion(ports, conversation, version),
    versions: (conversation) => listVersions(ports, conversation),
    diff: (conversation, before, after) => diff(ports, conversation, before, after),
    log: (conversation) => readLog(ports, conversation),
    events: (conversation, options) => followEvents(ports, conversation, options),
    describe: (conversation) => describeConversation(ports, conversation),
    restore: (conversation, input) => restoreConversation(ports, conversation, input),
    rollBackTurn: (conversation, turn, input) => rollBackTurn(ports, conversation, turn, input),
    fork: (from, to, input) => forkConversation(ports, from, to, input),
    compact: async (conversation) => await requestCompaction(ports, readConversationName(conversation), true),
    proposal: (conversation) => readProposal(ports, conversation),
    approve: (conversation, proposal, input) => approveProposal(ports, conversation, proposal, input),
    reject: (conversation, proposal, input) => rejectProposal(ports, conversation, proposal, input),
    erase: (conversation) => eraseConversation(ports, conversation),
  };
}
