import { z } from 'zod';
import { REASONS, type Reason } from '../domain/compaction/thresholds.ts';
import { diffInSlices, type VersionChange } from '../domain/diff.ts';
import { TurnfoldError } from '../domain/errors.ts';
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
  .refine((text) => text.trim() !== '', 'a summary has to say something')
  .refine((text) => text.isWellFormed(), 'expected whole characters: half of a surrogate pair cannot be sent')
  .refine((text) => Buffer.byteLength(text) <= MAX_MESSAGE_BYTES, `expected at most ${MAX_MESSAGE_BYTES} bytes`);

const decisionSchema = z.strictObject({
  /** the same operation again changes nothing, and answers what became of it */
  operation: idSchema.optional(),
  /** ms to wait until a worker has acted on it; 0: stored is enough */
  waitMs: waitSchema.optional(),
});

export const approvalSchema = decisionSchema.extend({
  /** other texts, by the ranges of the summaries whose they are: `{"5-9": "…"}` */
  edits: z.record(z.string(), editSchema).optional(),
});

export const rejectionSchema = decisionSchema.extend({
  /** why, for people */ reason: z.string().min(1).max(2_000).optional(),
});

export type ApprovalInput = z.input<typeof approvalSchema>;
export type RejectionInput = z.input<typeof rejectionSchema>;

/** What a pass under review would commit. Sizes in tokens, times in ms since epoch. */
export interface ProposalView extends NamedConversation {
  /** its id, by which it is approved or rejected */
  readonly proposal: string;
  /** those included that came while it waits */
  readonly reasons: readonly Reason[];
  /** what the pass would do: summarize, evict, … */
  readonly strategy: string;
  /** the live version that it was made over, and the last seq that it covers */
  readonly over: number;
  /** the last seq that the proposal covers */
  readonly head: number;
  /** size of the context now */
  readonly tokensBefore: number;
  /** size of the context under the proposal */
  readonly tokensAfter: number;
  /** messages that it would take out of the context */
  readonly archived: number;
  /** why it is as it is, by code */
  readonly explained: readonly string[];
  /** what it would write */
  readonly summaries: readonly {
    /** `from-to`: the seqs that the summary stands for */
    readonly range: string;
    /** size of the summary */
    readonly tokens: number;
    /** who wrote it */
    readonly model: string;
    /** the summary */
    readonly text: string;
  }[];
  /** what it would change in the context */
  readonly changes: readonly VersionChange[];
  /** ms since epoch, by the store's clock */
  readonly proposedAt: number;
  /** ms since epoch, by the store's clock: undecided, it goes then */
  readonly expiresAt: number;
  /** somebody has decided, and no worker has acted on it yet */
  readonly isDecided: boolean;
}

/** What became of a decision so far. */
export interface DecisionView {
  /** sent again under this id, it changes nothing and answers anew */
  readonly operation: string;
  /** `pending`: stored; a compaction worker acts on it */
  readonly state: 'pending' | 'approved' | 'rejected';
  /** the version that was approved, once it is the live one */
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
 * Has the very texts of a proposal committed, or others in the places of some. A worker checks again what it checked then, over
 * what was appended since; where that fails the proposal waits on.
 * @throws invalid_input, not_found, gone, conversation_forking, proposal_stale where that proposal does not wait any more or no
 * longer fits, conversation_busy where a model thinks over the context, accepted_unsure
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

/** @throws invalid_input, not_found, gone, conversation_forking, accepted_unsure, proposal_stale where that proposal does not wait any more */
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
  { proposal, reasons: asked, proposedAt, expiresAt, isDecided }: WaitingProposal,
): Promise<ProposalView> {
  const { id, version, summaries } = proposal;
  const over = version.number - 1;
  const reasons = REASONS.filter((reason) => version.reasons.includes(reason) || asked.includes(reason));
  const { base: head, strategy, tokensBefore, tokensAfter, archived, explained } = version;
  const live = (await contexts.readVersion(conversation, over)) ?? START_VERSION;
  const weights = new Map(
    version.segments.flatMap((segment) => (segment.kind === 'summary' ? [[segment.text, segment.weight]] : [])),
  );
  return {
    ...nameConversation(conversation),
    proposal: id,
    reasons,
    strategy,
    over,
    head,
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

/** Where the proposal is known, an edit of what it does not write is refused before anything is stored. */
function checkRanges({ proposal }: WaitingProposal, edited: readonly string[]): void {
  const ranges = Object.values(proposal.summaries).map(rangeName);
  const wrong = edited.find((range) => !ranges.includes(range));
  if (wrong === undefined) return;
  const field = `edits.${wrong}`;
  const known = ranges.length === 0 ? 'it writes none' : `it writes ${ranges.join(', ')}`;
  throw new TurnfoldError('invalid_input', `${field}: no summary of the proposal has this range; ${known}`, {
    field,
  });
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

/** @throws what the approval was refused for; proposal_stale where something else came first */
function conclude(operation: string, proposal: string, answer: DecisionAnswer): DecisionView {
  switch (answer.status) {
    case 'approved':
      return { operation, state: 'approved', version: answer.version };
    case 'pending':
    case 'rejected':
      return { operation, state: answer.status };
    case 'refused': {
      const { code, field, message } = answer.refusal;
      throw new TurnfoldError(code, `${field}: ${message}`, { field });
    }
    case 'superseded':
      throw staleProposal(proposal, 'its pass went on without it before a worker acted on the decision');
  }
}

type Refusal = Exclude<DecisionResult, { readonly status: 'decided' | 'concluded' }>;

const STALE: Readonly<Record<Extract<Refusal, { status: 'stale' }>['why'], string>> = {
  unknown: 'nothing waits under this id: it was superseded, decided on or has expired, or never was there',
  decided: 'somebody has decided on it already',
  expired: 'nobody decided on it in time',
  version_changed: 'another version has become the live one',
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
  const field = 'proposal';
  return new TurnfoldError('proposal_stale', `${field}: ${proposal}: ${why}`, { field });
}

function goneMeanwhile({ id }: ConversationRef): TurnfoldError {
  return new TurnfoldError('gone', `conversation: ${id} was erased`, { field: 'conversation' });
}
