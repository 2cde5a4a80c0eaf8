import { z } from 'zod';
import { diffInSlices, type VersionChange } from '../../compaction/diff.ts';
import { boundedRecord } from '../../domain/bounded-schemas.ts';
import { fieldError, type TurnfoldError } from '../../domain/errors.ts';
import { type ConversationRef, idSchema, type NamedConversation, nameConversation } from '../../domain/ids.ts';
import { MAX_MESSAGE_BYTES } from '../../domain/message.ts';
import { operationId } from '../../domain/operation.ts';
import { parseInput } from '../../domain/parse.ts';
import { REASONS, type Reason } from '../../domain/pass.ts';
import { rangeName, type Verdict } from '../../domain/proposal.ts';
import { START_VERSION } from '../../domain/version.ts';
import type { DecisionAnswer, DecisionResult, WaitingProposal } from '../../store/proposals.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import { beingCopied, checkDurability, nameRepeatable, noConversation } from './client-errors.ts';
import { readConversationState } from './contexts.ts';
import { waitSchema } from './follow-options.ts';
import { type ConversationName, readConversationName } from './input.ts';
import { nameCall, operationConflict } from './payload-hash.ts';
import type { ClientPorts } from './ports.ts';
import { POLL_MS } from './turns.ts';

const editSchema = z
  .string()
  .refine((text) => text.trim() !== '', 'expected a text that is not blank')
  .refine((text) => text.isWellFormed(), 'expected well-formed text: half of a surrogate pair cannot be sent')
  .refine((text) => Buffer.byteLength(text) <= MAX_MESSAGE_BYTES, `expected at most ${MAX_MESSAGE_BYTES} bytes`);

const decisionSchema = z.strictObject({
  /** Id that makes the call repeatable. A repeated call changes nothing and returns the outcome of the decision. */
  operation: idSchema.optional(),
  /** How long to wait until a worker has acted on the decision, in ms. 0: return once the decision is stored. */
  waitMs: waitSchema.optional(),
});

/** More summaries than one compaction writes. */
const MAX_EDITS = 1_000;

export const approvalSchema = decisionSchema.extend({
  /** Replacement texts for summaries, by the message range of the summary: `{"5-9": "…"}`. */
  edits: boundedRecord(z.string(), editSchema, MAX_EDITS).optional(),
});

export const rejectionSchema = decisionSchema.extend({
  /** Reason for the decision, for people. */
  reason: z.string().min(1).max(2_000).optional(),
});

export type ApprovalInput = z.input<typeof approvalSchema>;
export type RejectionInput = z.input<typeof rejectionSchema>;

/**
 * A compaction that waits for a person's approval, with the context that it would produce. Sizes are tokens, times are
 * ms since epoch.
 */
export interface ProposalView extends NamedConversation {
  /** Id of the proposal, to pass to `approve` or `reject`. */
  readonly proposal: string;
  /** Reasons why the compaction was requested, including those added while the proposal waits. */
  readonly reasons: readonly Reason[];
  /** How the compaction reduces the context: summarize, evict, … */
  readonly strategy: string;
  /** Number of the live version, which the proposal would replace. */
  readonly over: number;
  /** Position (seq) of the last log entry that the proposal covers. */
  readonly head: number;
  /** Tokens of the current context. */
  readonly tokensBefore: number;
  /** Tokens of the context after an approval. */
  readonly tokensAfter: number;
  /** Number of messages that the proposal would remove from the context. The log keeps them. */
  readonly archived: number;
  /** Codes that explain how the compaction reached its result, for people and dashboards. */
  readonly explained: readonly string[];
  /** Summaries that the proposal would put into the context. */
  readonly summaries: readonly {
    /** First and last seq of the messages that the summary replaces: `from-to`. */
    readonly range: string;
    /** Tokens of this summary. */
    readonly tokens: number;
    /** Model that wrote this summary. */
    readonly model: string;
    /** Text of this summary. */
    readonly text: string;
  }[];
  /** Changes of the context that the proposal would make. */
  readonly changes: readonly VersionChange[];
  /** Time at which the proposal was made, in ms since epoch by the clock of Redis. */
  readonly proposedAt: number;
  /** Time at which the proposal expires without a decision, in ms since epoch by the clock of Redis. */
  readonly expiresAt: number;
  /** True if a person has decided and no worker has carried out the decision yet. */
  readonly isDecided: boolean;
}

/** State and outcome of a decision about a proposal. */
export interface DecisionView {
  /** Id of the decision. A repeated `approve` or `reject` with this id returns the current outcome. */
  readonly operation: string;
  /** `pending`: the decision is stored, and a compaction worker has not yet acted on it. */
  readonly state: 'pending' | 'approved' | 'rejected';
  /** Number of the version that the approval created, once that version is live. */
  readonly version?: number;
}

/** @throws invalid_input for an invalid name. not_found if the conversation does not exist. */
export async function readProposal(ports: ClientPorts, name: ConversationName): Promise<ProposalView | undefined> {
  const conversation = readConversationName(name);
  const waiting = await ports.proposals.readProposal(conversation);
  if (waiting !== undefined) return await describeProposal(ports, conversation, waiting);
  await readConversationState(ports, conversation);
  return undefined;
}

/**
 * Stores an approval for a compaction worker. The worker repeats all checks with the current log. If a check fails, the
 * proposal keeps waiting.
 * @throws invalid_input for an invalid edit. not_found or gone if the conversation never existed or was erased.
 * @throws proposal_stale if the proposal no longer waits, or its base is no longer the live version
 * @throws conversation_busy if a model is still thinking across tool calls, because an edited context would void that
 * thinking
 * @throws conversation_forking for an incomplete fork. accepted_unsure if too few replicas or disks confirmed the
 * write.
 */
export async function approveProposal(
  ports: ClientPorts,
  name: ConversationName,
  proposal: string,
  input: ApprovalInput = {},
): Promise<DecisionView> {
  const { edits = {}, ...options } = parseInput(approvalSchema, input);
  const conversation = readConversationName(name);
  parseInput(idSchema, proposal, 'proposal');
  const waiting = await ports.proposals.readProposal(conversation);
  if (waiting?.proposal.id === proposal) checkRanges(waiting, Object.keys(edits));
  return await decide(ports, conversation, { proposal, verdict: { kind: 'approve', edits }, ...options });
}

/**
 * @throws invalid_input for an invalid reason. not_found or gone if the conversation never existed or was erased.
 * @throws proposal_stale if the proposal no longer waits
 * @throws conversation_forking for an incomplete fork. accepted_unsure if too few replicas or disks confirmed the
 * write.
 */
export async function rejectProposal(
  ports: ClientPorts,
  name: ConversationName,
  proposal: string,
  input: RejectionInput = {},
): Promise<DecisionView> {
  const { reason, ...options } = parseInput(rejectionSchema, input);
  const verdict: Verdict = { kind: 'reject', ...(reason !== undefined && { reason }) };
  return await decide(ports, readConversationName(name), { proposal, verdict, ...options });
}

async function describeProposal(
  { contexts }: ClientPorts,
  conversation: ConversationRef,
  { proposal, reasons: requested, proposedAt, expiresAt, isDecided }: WaitingProposal,
): Promise<ProposalView> {
  const { version, summaries } = proposal;
  const over = version.number - 1;
  const { strategy, tokensBefore, tokensAfter, archived, explained } = version;
  const live = (await contexts.readVersion(conversation, over)) ?? START_VERSION;
  const weights = new Map(
    version.segments.flatMap((segment) => (segment.kind === 'summary' ? [[segment.summaryKey, segment.weight]] : [])),
  );
  return {
    ...nameConversation(conversation),
    proposal: proposal.id,
    reasons: REASONS.filter((reason) => version.reasons.includes(reason) || requested.includes(reason)),
    strategy,
    over,
    head: version.base,
    tokensBefore,
    tokensAfter,
    archived,
    explained,
    summaries: Object.entries(summaries).map(([key, { text, covers, model }]) => ({
      range: rangeName({ covers }),
      tokens: weights.get(key)?.tokens ?? 0,
      model,
      text,
    })),
    changes: await eventLoopShare.run(diffInSlices(live, version)),
    proposedAt,
    expiresAt,
    isDecided,
  };
}

/**
 * Refuses edits of message ranges that have no summary, before the decision is stored. If the proposal can no longer be
 * read, this check is skipped.
 */
function checkRanges({ proposal }: WaitingProposal, edited: readonly string[]): void {
  const ranges = Object.values(proposal.summaries).map(rangeName);
  const wrong = edited.find((range) => !ranges.includes(range));
  if (wrong === undefined) return;
  const known =
    ranges.length === 0 ? 'the proposal has no summaries' : `the ranges of its summaries are ${ranges.join(', ')}`;
  throw fieldError('invalid_input', `edits.${wrong}`, `no summary of the proposal has this range: ${known}`);
}

interface DecisionOptions {
  readonly proposal: string;
  readonly verdict: Verdict;
  readonly operation?: string | undefined;
  readonly waitMs?: number | undefined;
}

async function decide(
  ports: ClientPorts,
  conversation: ConversationRef,
  { operation: given, waitMs = 0, ...decision }: DecisionOptions,
): Promise<DecisionView> {
  const { proposal, verdict } = decision;
  parseInput(idSchema, proposal, 'proposal');
  const wake = ports.ids.next();
  const operation = nameCall(ports, given, ['decision', proposal, verdict]);
  const id = operationId(operation);
  const called = { field: 'operation', id, others: { proposal } } as const;
  const result = await nameRepeatable(called, () =>
    ports.proposals.decideProposal({ conversation, operation, wake, ...decision }),
  );
  if (result.status === 'decided' && result.needsWake) await ports.wakes.wake('pass', conversation, wake);
  checkDurability(result, called);
  if (result.status === 'concluded') return conclude(id, proposal, result.answer);
  if (result.status === 'other_payload') throw operationConflict(operation);
  if (result.status !== 'decided') throw refusalOf(conversation, proposal, result);
  const until = ports.now() + waitMs;
  for (;;) {
    const leftMs = until - ports.now();
    if (leftMs <= 0) return { operation: id, state: 'pending' };
    const answer = await ports.proposals.readDecision(conversation, operation);
    if (answer === undefined) throw goneMeanwhile(conversation);
    if (answer.status !== 'pending') return conclude(id, proposal, answer);
    await ports.notifications.wait(conversation, Math.min(leftMs, POLL_MS));
  }
}

/**
 * Converts the worker's stored answer to a decision into the result of `approve` or `reject`.
 * @throws proposal_stale if the compaction pass ended before a worker read the decision, and the worker's error if the
 * worker refused the approval
 */
function conclude(operation: string, proposal: string, answer: DecisionAnswer): DecisionView {
  switch (answer.status) {
    case 'approved':
      return { operation, state: 'approved', version: answer.version };
    case 'pending':
    case 'rejected':
      return { operation, state: answer.status };
    case 'refused': {
      const { code, field, message } = answer.refusal;
      throw fieldError(code, field, message);
    }
    case 'superseded':
      throw staleProposal(proposal, 'the compaction pass of this proposal ended before a worker acted on the decision');
  }
}

type Refusal = Exclude<DecisionResult, { readonly status: 'decided' | 'concluded' | 'other_payload' }>;

const STALE: Readonly<Record<Extract<Refusal, { status: 'stale' }>['why'], string>> = {
  unknown: 'no proposal with this id waits for approval. It was superseded, decided or expired, or never existed',
  decided: 'another decision about this proposal is already stored',
  expired: 'the proposal expired without a decision',
  version_changed:
    'the context has a newer version than the one that the proposal was made for. `proposal` returns a current one, if any',
};

function refusalOf(conversation: ConversationRef, proposal: string, refusal: Refusal): TurnfoldError {
  switch (refusal.status) {
    case 'stale':
      return staleProposal(proposal, STALE[refusal.why]);
    case 'forking':
      return beingCopied(conversation, refusal);
    case 'gone':
      return goneMeanwhile(conversation);
    case 'not_found':
      return noConversation(conversation);
  }
}

function staleProposal(proposal: string, why: string): TurnfoldError {
  return fieldError('proposal_stale', 'proposal', `${proposal}: ${why}`);
}

function goneMeanwhile({ id }: ConversationRef): TurnfoldError {
  return fieldError('gone', 'conversation', `${id} was erased`);
}
