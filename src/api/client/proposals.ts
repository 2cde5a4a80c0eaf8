import { diffInSlices } from '../../compaction/diff.ts';
import { fieldError, type TurnfoldError } from '../../domain/errors.ts';
import { type ConversationRef, idSchema, nameConversation, operationId } from '../../domain/ids.ts';
import { parseInput } from '../../domain/parse.ts';
import { REASONS } from '../../domain/pass.ts';
import { rangeName, type Verdict } from '../../domain/proposal.ts';
import { START_VERSION } from '../../domain/version.ts';
import type { DecisionAnswer, DecisionResult, WaitingProposal } from '../../store/proposals.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import type { Methods } from '../contract/client.ts';
import { readConversationName } from '../contract/names.ts';
import { approvalSchema, type DecisionView, type ProposalView, rejectionSchema } from '../contract/proposals.ts';
import { beingCopied, checkDurability, nameRepeatable, noConversation } from './client-errors.ts';
import { readConversationState } from './contexts.ts';
import { nameClientCall, operationConflict } from './payload-hash.ts';
import type { ClientPorts } from './ports.ts';
import { POLL_MS } from './turns.ts';

export const proposalMethods = {
  proposal: async (ports, name) => {
    const conversation = readConversationName(name);
    const waiting = await ports.proposals.readProposal(conversation);
    if (waiting !== undefined) return await describeProposal(ports, conversation, waiting);
    await readConversationState(ports, conversation);
    return undefined;
  },
  /**
   * The worker repeats all checks with the current log. If a check fails, the proposal keeps waiting.
   * @throws invalid_input, not_found, gone, conversation_forking, accepted_unsure
   * @throws proposal_stale if the proposal no longer waits, or its base is no longer live
   * @throws conversation_busy if a model is still thinking across tool calls, because an edited context would void that
   * thinking
   */
  approve: async (ports, name, proposal, input = {}) => {
    const { edits = {}, ...options } = parseInput(approvalSchema, input);
    const conversation = readConversationName(name);
    parseInput(idSchema, proposal, 'proposal');
    const waiting = await ports.proposals.readProposal(conversation);
    if (waiting?.proposal.id === proposal) checkRanges(waiting, Object.keys(edits));
    return await decide(ports, conversation, { proposal, verdict: { kind: 'approve', edits }, ...options });
  },
  /** @throws invalid_input, not_found, gone, proposal_stale, conversation_forking, accepted_unsure */
  reject: async (ports, name, proposal, input = {}) => {
    const { reason, ...options } = parseInput(rejectionSchema, input);
    const verdict: Verdict = { kind: 'reject', ...(reason !== undefined && { reason }) };
    return await decide(ports, readConversationName(name), { proposal, verdict, ...options });
  },
} satisfies Methods<ClientPorts>;

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

/** Refuses edits of ranges that have no summary. The check comes before the decision is stored. */
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
  const operation = nameClientCall(ports, given, ['decision', proposal, verdict]);
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

/** @throws proposal_stale if the pass ended before a worker read the decision */
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
  return fieldError('gone', 'conversation', `${id} was erased, so the decision has no effect`);
}
