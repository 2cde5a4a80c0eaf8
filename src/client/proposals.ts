import { z } from 'zod';
import { REASONS, type Reason } from '../domain/compaction/thresholds.ts';
import { diffInSlices, type VersionChange } from '../domain/diff.ts';
import { fieldError, type TurnfoldError } from '../domain/errors.ts';
import { type ConversationRef, idSchema, type NamedConversation, nameConversation } from '../domain/ids.ts';
import { MAX_MESSAGE_BYTES } from '../domain/message.ts';
import { parseInput } from '../domain/parse.ts';
import type { DecisionAnswer, DecisionResult, WaitingProposal } from '../domain/ports/proposal-store.ts';
import { rangeName, type Verdict } from '../domain/proposal.ts';
import { START_VERSION } from '../domain/version.ts';
import { eventLoopShare } from '../tokens/event-loop-share.ts';
import { beingCopied, checkDurability, nameRepeatable, noConversation } from './client-errors.ts';
import { readConversationState } from './contexts.ts';
import { type ConversationName, readConversationName } from './input.ts';
import type { ClientPorts } from './ports.ts';
import { POLL_MS, waitSchema } from './turns.ts';

const editSchema = z
  .string()
  .refine((text) => text.trim() !== '', 'expected a text that is not blank')
  .refine((text) => text.isWellFormed(), 'expected well-formed text: half of a surrogate pair cannot be sent')
  .refine((text) => Buffer.byteLength(text) <= MAX_MESSAGE_BYTES, `expected at most ${MAX_MESSAGE_BYTES} bytes`);

const decisionSchema = z.strictObject({
  /** Id under which a repeated call changes nothing and returns the outcome. */
  operation: idSchema.optional(),
  /** How long to wait for a worker to act, in ms (0: return once the decision is stored). */
  waitMs: waitSchema.optional(),
});

const approvalSchema = decisionSchema.extend({
  /** Replacement texts by range of the summary: `{"5-9": "…"}`. */
  edits: z.record(z.string(), editSchema).optional(),
});

const rejectionSchema = decisionSchema.extend({
  /** Reason, for people. */
  reason: z.string().min(1).max(2_000).optional(),
});

export type ApprovalInput = z.input<typeof approvalSchema>;
export type RejectionInput = z.input<typeof rejectionSchema>;

/** The version that a pass under review would commit. Sizes are tokens, times ms since epoch. */
export interface ProposalView extends NamedConversation {
  /** Id of the proposal, for `approve` and `reject`. */
  readonly proposal: string;
  /** Reasons of the pass, also those added while the proposal waits. */
  readonly reasons: readonly Reason[];
  /** Strategy of the pass: summarize, evict, … */
  readonly strategy: string;
  /** Number of the live version that the proposal would replace. */
  readonly over: number;
  /** Last seq that the proposal covers. */
  readonly head: number;
  /** Tokens of the context now. */
  readonly tokensBefore: number;
  /** Tokens of the context under the proposal. */
  readonly tokensAfter: number;
  /** Messages that the proposal would archive. */
  readonly archived: number;
  /** Codes that explain the result. */
  readonly explained: readonly string[];
  /** Summaries in the proposal. */
  readonly summaries: readonly {
    /** Seqs that the summary stands for: `from-to`. */
    readonly range: string;
    /** Tokens of the summary. */
    readonly tokens: number;
    /** Model that wrote the summary. */
    readonly model: string;
    /** Text of the summary. */
    readonly text: string;
  }[];
  /** Changes of the context. */
  readonly changes: readonly VersionChange[];
  /** Time of the proposal, in ms since epoch by the clock of Redis. */
  readonly proposedAt: number;
  /** Time at which an undecided proposal expires, in ms since epoch by the clock of Redis. */
  readonly expiresAt: number;
  /** True if a decision is stored that no worker has carried out yet. */
  readonly isDecided: boolean;
}

/** Outcome of a decision so far. */
export interface DecisionView {
  /** Id under which the decision can be sent again to read its outcome. */
  readonly operation: string;
  /** `pending`: stored, and a compaction worker will act on the decision. */
  readonly state: 'pending' | 'approved' | 'rejected';
  /** Number of the approved version, once it is live. */
  readonly version?: number;
}

/** @throws invalid_input, not_found */
export async function readProposal(ports: ClientPorts, name: ConversationName): Promise<ProposalView | undefined> {
  const conversation = readConversationName(name);
  const waiting = await ports.proposals.readProposal(conversation);
  if (waiting !== undefined) return await describeProposal(ports, conversation, waiting);
  await readConversationState(ports, conversation);
  return undefined;
}

/**
 * A worker repeats all checks over the current log. If a check fails, the proposal keeps waiting.
 * @throws invalid_input, not_found, gone, conversation_forking, accepted_unsure
 * @throws proposal_stale if the proposal no longer waits or fits
 * @throws conversation_busy if a model has an open thinking loop over the context
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
 * @throws invalid_input, not_found, gone, conversation_forking, accepted_unsure
 * @throws proposal_stale if the proposal no longer waits
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

/** Rejects edits of unknown ranges before anything is stored, if the proposal is still readable. */
function checkRanges({ proposal }: WaitingProposal, edited: readonly string[]): void {
  const ranges = Object.values(proposal.summaries).map(rangeName);
  const wrong = edited.find((range) => !ranges.includes(range));
  if (wrong === undefined) return;
  const known = ranges.length === 0 ? 'the proposal has no summaries' : `known ranges are ${ranges.join(', ')}`;
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
  { operation = ports.ids.next(), waitMs = 0, ...decision }: DecisionOptions,
): Promise<DecisionView> {
  const { proposal } = decision;
  parseInput(idSchema, proposal, 'proposal');
  const wake = ports.ids.next();
  const called = { field: 'operation', id: operation, others: { proposal } } as const;
  const result = await nameRepeatable(called, () =>
    ports.proposals.decideProposal({ conversation, operation, wake, ...decision }),
  );
  if (result.status === 'decided' && result.needsWake) await ports.wakes.wake('pass', conversation, wake);
  checkDurability(result, called);
  if (result.status === 'concluded') return conclude(operation, proposal, result.answer);
  if (result.status !== 'decided') throw refusalOf(conversation, proposal, result);
  const until = ports.now() + waitMs;
  for (;;) {
    const leftMs = until - ports.now();
    if (leftMs <= 0) return { operation, state: 'pending' };
    const answer = await ports.proposals.readDecision(conversation, operation);
    if (answer === undefined) throw goneMeanwhile(conversation);
    if (answer.status !== 'pending') return conclude(operation, proposal, answer);
    await ports.notices.wait(conversation, Math.min(leftMs, POLL_MS));
  }
}

/** @throws proposal_stale if the pass ended another way, or the error of a refused approval */
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
      throw staleProposal(proposal, 'its pass ended another way before a worker acted on the decision');
  }
}

type Refusal = Exclude<DecisionResult, { readonly status: 'decided' | 'concluded' }>;

const STALE: Readonly<Record<Extract<Refusal, { status: 'stale' }>['why'], string>> = {
  unknown: 'no proposal waits under this id. It was superseded, decided or expired, or never existed',
  decided: 'it is already decided',
  expired: 'it expired without a decision',
  version_changed: 'another version is live now',
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
