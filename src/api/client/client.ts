import type { VersionChange } from '../../compaction/diff.ts';
import type { CompactionReport } from '../../compaction/inspection/report.ts';
import type { LogEntry } from '../../domain/message.ts';
import type { TurnState, TurnUsage } from '../../domain/turn.ts';
import type { Version } from '../../domain/version.ts';
import type { FailedTurn } from '../../store/failed-turns.ts';
import type { OpenTurns } from '../../store/open-turns.ts';
import type { AnyAgents, AppendFor, ConversationsFor, EnqueueFor, ViewFor } from './agent-types.ts';
import { answerTurn } from './answers.ts';
import { type Appended, appendMessages } from './appends.ts';
import { type Breakdown, type BreakdownInput, readBreakdown } from './breakdown.ts';
import { requestCompaction } from './compaction.ts';
import {
  type ContextView,
  type ConversationView,
  describeConversation,
  diff,
  type LogPart,
  listVersions,
  readContextView,
  readLog,
  showVersion,
} from './contexts.ts';
import { type DryPlan, type DryRunInput, planCompaction } from './dry-run.ts';
import { type EventOptions, type EventOrLoss, followEvents } from './events.ts';
import { type FailedInput, listFailedTurns, type RedriveInput, redriveTurn } from './failed-turns.ts';
import { type Fork, type ForkInput, forkConversation } from './forks.ts';
import {
  type AnswerOptions,
  type CallAnswer,
  type ContextPoint,
  type ConversationName,
  readConversationName,
} from './input.ts';
import { eraseInspected, withRecent } from './inspected-version.ts';
import {
  type ConversationPage,
  listConversations,
  listOpenTurns,
  listWaiting,
  type OpenTurnsInput,
  readUsage,
  type UsageInput,
  type WaitingInput,
  type WaitingPage,
} from './listings.ts';
import { type Outline, type OutlineInput, readOutline } from './outline.ts';
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
import { type StreamOptions, streamTurn } from './stream.ts';
import { type EnqueueAnswer, enqueueTurns } from './turn-list.ts';
import type { TurnPart } from './turn-parts.ts';
import { readTurnSteps, type TurnSteps } from './turn-steps.ts';
import { cancelTurn, type EnqueuedTurn, enqueueTurn, type ResultOptions, readResult } from './turns.ts';
import { type ReportInput, reportVersion } from './version-report.ts';
import { type RestoreInput, type RollbackInput, restoreConversation, rollBackTurn } from './versions.ts';

/**
 * API of turnfold for services. A conversation is named by its id, or by `{tenant, id}`.
 * Every failure is a `TurnfoldError` with a code. While Redis is unreachable, a call is retried for `deadlineMs` and
 * then fails with `redis_unavailable`. With the option `durability`, a write returns once enough replicas or disks have
 * confirmed it. Otherwise it fails with `accepted_unsure`, and the error contains the id under which the call can be
 * repeated.
 */
export interface TurnfoldClient<Agents extends AnyAgents = AnyAgents> {
  /**
   * Stores a turn (one input to an agent) durably for the workers. A repeated call with the same `turn` id returns the
   * turn's current state.
   */
  enqueueTurn(input: EnqueueFor<Agents>): Promise<EnqueuedTurn>;
  /**
   * Stores up to 500 turns in about two round trips. Each turn has its own answer, in the order of the list: it is enqueued,
   * or refused with the error that `enqueueTurn` would throw. Turns of one conversation keep their order.
   */
  enqueueTurns(inputs: readonly EnqueueFor<Agents>[]): Promise<EnqueueAnswer[]>;
  /** Returns the current state of a turn. With `waitMs`, waits up to that many ms for the turn to settle. */
  result(conversation: ConversationName, turn: string, options?: ResultOptions): Promise<ViewFor<Agents>>;
  /**
   * Streams a turn from its start or from a part's id. The parts are pieces of text and reasoning, tool calls, results
   * and waits. The last part is the settled turn. The text of the parts equals the log, however late or often the caller reads. Throws the
   * signal's reason once the signal aborts.
   */
  stream(conversation: ConversationName, turn: string, options?: StreamOptions): AsyncIterable<TurnPart>;
  /** Shows the model and tool calls of a turn with their times, and the claim of the worker that runs the turn. */
  steps(conversation: ConversationName, turn: string): Promise<TurnSteps>;
  /**
   * Settles an unsettled turn as canceled. Returns the state afterwards, e.g. `completed` if the turn settled first.
   */
  cancel(conversation: ConversationName, turn: string): Promise<TurnState>;
  /**
   * Lists accepted, unsettled turns, and the calls that the first one waits for. Use it to find what to `answer` or
   * `cancel`. Turns come in the order of processing, scheduled turns last by due time. `limit` defaults to 100, at most
   * 1,000.
   */
  openTurns(conversation: ConversationName, input?: OpenTurnsInput): Promise<OpenTurns>;
  /**
   * Lists conversations of all tenants or one, by agent or state, in pages of `limit` (100). Erased and expired
   * conversations are not listed.
   */
  conversations(input?: ConversationsFor<Agents>): Promise<ConversationPage>;
  /**
   * Lists turns of all conversations that wait for a tool result or an approval, in pages. Each turn has the start of the
   * wait, and its calls with input, hash and deadline, so that a person can decide and `answer`.
   */
  waiting(input?: WaitingInput): Promise<WaitingPage>;
  /** Lists failed turns of all conversations, newest first. Failed turns are listed for 7 days. */
  failedTurns(input?: FailedInput): Promise<FailedTurn[]>;
  /**
   * Enqueues the input of a failed turn again, as a new turn behind all queued turns. A repeated call returns the same
   * new turn. With a new `operation` id, the call creates another turn. To repeat a failed compaction, use `compact`.
   */
  redrive(conversation: ConversationName, turn: string, input?: RedriveInput): Promise<EnqueuedTurn>;
  /**
   * Answers calls of a waiting turn by call id, with results of external tools or with approvals. Either all answers of
   * one `answer` are stored, or none. The first answer to a call counts: another answer fails with `conflict`, and the same
   * answer changes nothing. With the `hash` of a call, an answer reaches no other call.
   */
  answer(
    conversation: ConversationName,
    turn: string,
    answers: Readonly<Record<string, CallAnswer>>,
    options?: AnswerOptions,
  ): Promise<'answered' | 'still_waiting'>;
  /** Appends messages to the log without a turn, for callers that call the model themselves. */
  append(input: AppendFor<Agents>): Promise<Appended>;
  /**
   * Returns the context that the agent sees: the live context, or the context of a kept version followed by the log up
   * to `head`.
   */
  context(conversation: ConversationName, at?: ContextPoint): Promise<ContextView>;
  /** Returns the context of a kept version as it was when that version was made. */
  show(conversation: ConversationName, version: number): Promise<ContextView>;
  /** Lists kept versions, oldest first. */
  versions(conversation: ConversationName): Promise<Version[]>;
  /** Lists what changed between the contexts of two kept versions. Version 0 is the whole log. */
  diff(conversation: ConversationName, before: number, after: number): Promise<VersionChange[]>;
  /**
   * Returns one page of the log without its texts. Each message has its size, its first characters and its state: live,
   * archived, masked, clipped or summarized. The entry also names the version that gave the message its state.
   */
  outline(conversation: ConversationName, input?: OutlineInput): Promise<Outline>;
  /** Returns what fills the context: its size by category with the largest pieces, the window, and all thresholds. */
  breakdown(conversation: ConversationName, input?: BreakdownInput): Promise<Breakdown>;
  /**
   * Compares a kept version with the context of its parent. The report has each new summary with the identifiers that it
   * kept and lost, and the ranges that left or were shortened.
   */
  report(conversation: ConversationName, version: number, input?: ReportInput): Promise<CompactionReport>;
  /** Plans a compaction under a policy, without a model and without changing anything. */
  plan(conversation: ConversationName, input?: DryRunInput): Promise<DryPlan>;
  /** Returns the log or a part of it, including messages that compaction removed from the context. */
  log(conversation: ConversationName, part?: LogPart): Promise<LogEntry[]>;
  /**
   * Follows durable events, oldest first: settled turns, new versions, proposals, decisions. About 500 events are kept,
   * for 24 h. To miss no event after a crash, pass the id of the last handled event as `after`. A `lost` entry means
   * that some events are no longer kept. Throws the signal's reason once the signal aborts.
   */
  events(conversation: ConversationName, options?: EventOptions): AsyncIterable<EventOrLoss>;
  /**
   * Returns what the model calls of a tenant used: tokens, cached ones among them, and their price. Counts settled turns
   * and summaries, those of erased conversations included.
   */
  usage(input?: UsageInput): Promise<TurnUsage>;
  /** Returns the length of the log, the context size, open calls and the compaction in progress, without messages. */
  describe(conversation: ConversationName): Promise<ConversationView>;
  /** Makes a kept version the live context again. Messages that are newer than the version are kept or dropped. */
  restore(conversation: ConversationName, input: RestoreInput): Promise<Version>;
  /** Restores the context that was live before a settled turn. */
  rollBackTurn(conversation: ConversationName, turn: string, input?: RollbackInput): Promise<Version>;
  /** Copies a conversation into a new one. The new conversation accepts no turns until the copy is complete. */
  fork(from: ConversationName, to: ConversationName, input?: ForkInput): Promise<Fork>;
  /** Requests a compaction now, even if the context is below every threshold. Returns the id of the compaction pass. */
  compact(conversation: ConversationName): Promise<string>;
  /** Returns the proposal that waits for review, if any. */
  proposal(conversation: ConversationName): Promise<ProposalView | undefined>;
  /** Approves a proposed compaction, with optional edits of its summaries. With `waitMs`, waits for the outcome. */
  approve(conversation: ConversationName, proposal: string, input?: ApprovalInput): Promise<DecisionView>;
  /** Rejects a proposed compaction. The same content is not proposed again until the context has grown by 15 %. */
  reject(conversation: ConversationName, proposal: string, input?: RejectionInput): Promise<DecisionView>;
  /**
   * Erases the conversation with all its data. If a new conversation was created under that id in the meantime, a
   * repeated call erases the new one.
   */
  erase(conversation: ConversationName): Promise<{ readonly removedKeys: number }>;
}

export function createClient(ports: ClientPorts): TurnfoldClient {
  const inspected = withRecent(ports);
  return {
    enqueueTurn: (input) => enqueueTurn(ports, input),
    enqueueTurns: (inputs) => enqueueTurns(ports, inputs),
    result: (conversation, turn, options) => readResult(ports, conversation, turn, options),
    stream: (conversation, turn, options) => streamTurn(ports, conversation, turn, options),
    steps: (conversation, turn) => readTurnSteps(ports, conversation, turn),
    cancel: (conversation, turn) => cancelTurn(ports, conversation, turn),
    openTurns: (conversation, input) => listOpenTurns(ports, conversation, input),
    conversations: (input) => listConversations(ports, input),
    waiting: (input) => listWaiting(ports, input),
    usage: (input) => readUsage(ports, input),
    failedTurns: (input) => listFailedTurns(ports, input),
    redrive: (conversation, turn, input) => redriveTurn(ports, conversation, turn, input),
    answer: (...call) => answerTurn(ports, ...call),
    append: (input) => appendMessages(ports, input),
    context: (conversation, at) => readContextView(ports, conversation, at),
    show: (conversation, version) => showVersion(ports, conversation, version),
    versions: (conversation) => listVersions(ports, conversation),
    diff: (conversation, before, after) => diff(ports, conversation, before, after),
    outline: (conversation, input) => readOutline(inspected, conversation, input),
    breakdown: (conversation, input) => readBreakdown(inspected, conversation, input),
    report: (conversation, version, input) => reportVersion(inspected, conversation, version, input),
    plan: (conversation, input) => planCompaction(inspected, conversation, input),
    log: (conversation, part) => readLog(ports, conversation, part),
    events: (conversation, options) => followEvents(ports, conversation, options),
    describe: (conversation) => describeConversation(ports, conversation),
    restore: (conversation, input) => restoreConversation(ports, conversation, input),
    rollBackTurn: (conversation, turn, input) => rollBackTurn(ports, conversation, turn, input),
    fork: (from, to, input) => forkConversation(ports, from, to, input),
    compact: async (conversation) => await requestCompaction(ports, readConversationName(conversation)),
    proposal: (conversation) => readProposal(ports, conversation),
    approve: (conversation, proposal, input) => approveProposal(ports, conversation, proposal, input),
    reject: (conversation, proposal, input) => rejectProposal(ports, conversation, proposal, input),
    erase: (conversation) => eraseInspected(inspected, conversation),
  };
}
