import { excessWeight, requestTokensOf } from '../../compaction/budget.ts';
import { buildInSlices, messagesOf, weighItems } from '../../compaction/context.ts';
import { type EditedSummary, editProposal } from '../../compaction/edited-proposal.ts';
import type { ContextSource } from '../../domain/context-source.ts';
import type { Interruptible } from '../../domain/interruptible.ts';
import { addWeights } from '../../domain/message.ts';
import type { Reason } from '../../domain/pass.ts';
import { type ApprovalRefusal, type Edits, type Proposal, rangeName } from '../../domain/proposal.ts';
import { renderWidestSummary } from '../../domain/summary.ts';
import { type ContextItem, type Segment, weighVersion } from '../../domain/version.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import { hashSegments } from '../content-hash.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import { isThinkingLoopOpen } from '../thinking-loop.ts';
import { checkVersion } from './check-version.ts';
import type { Facts, PassState } from './pass-states.ts';
import { summaryKey } from './sequence-summaries.ts';

/**
 * Applies the edits of a person who approved a proposed context version. Then checks the edited version against the
 * live context, with the messages that were appended since the proposal.
 */
export async function checkApproval(
  state: PassState<'check_approval'>,
  live: ContextSource,
): Promise<Facts['check_approval']> {
  const { edits, proposal } = state;
  const wrong = findWrongEdit(proposal, edits);
  if (wrong !== undefined) return { status: 'refused', refusal: wrong };
  const { prepared } = state.snapshot;
  const { overhead } = prepared;
  const edited = editProposal(proposal, await weighEdits(prepared, proposal, edits), overhead);
  // The proposed and the live context are counted with the same calibration factor, which may have changed while the
  // proposal waited.
  const context = await eventLoopShare.run(buildInSlices(live));
  const items = context.items.filter(({ to }) => to <= proposal.version.base);
  const tokensBefore = requestTokensOf({ overhead }, items);
  const approved = { ...edited, version: { ...edited.version, tokensBefore } };
  const refusal = await eventLoopShare.run(findRefusal(state, approved, { live, items: context.items }));
  return refusal === undefined ? { status: 'accepted', proposal: approved } : { status: 'refused', refusal };
}

function findWrongEdit({ summaries }: Proposal, edits: Edits): ApprovalRefusal | undefined {
  const ranges = new Set(Object.values(summaries).map(rangeName));
  const wrong = Object.keys(edits).find((range) => !ranges.has(range) || edits[range]?.trim() === '');
  if (wrong === undefined) return undefined;
  const why = ranges.has(wrong)
    ? 'the edited text of a summary must not be empty'
    : 'the proposal has no new summary of this range. Edit one of its ranges';
  return { code: 'invalid_input', field: `edits.${wrong}`, message: why };
}

/**
 * Counts the summary texts that a person changed. Removes the provider's opaque items for the same range, because these
 * items still contain the old text.
 */
async function weighEdits(
  { weigh }: Pick<PreparedAgent, 'weigh'>,
  { summaries }: Proposal,
  edits: Edits,
): Promise<EditedSummary[]> {
  const edited: EditedSummary[] = [];
  for (const [key, summary] of Object.entries(summaries)) {
    const text = edits[rangeName(summary)];
    if (text === undefined || text === summary.text) continue;
    const { raw: _, ...kept } = summary;
    const changed = { ...kept, text, model: 'edited' };
    const content = renderWidestSummary(text, summary.covers);
    const { tokens, bytes } = await weigh({ role: 'summary', content });
    edited.push({ replaces: key, key: summaryKey(changed), summary: changed, weight: { tokens, bytes } });
  }
  return edited;
}

/**
 * Returns why an approved context version must not be committed. The version must meet the same rules as any other
 * version of a compaction pass (invariant I16).
 */
function* findRefusal(
  { edits, snapshot: { state, prepared } }: PassState<'check_approval'>,
  { version, summaries }: Proposal,
  { live, items }: { readonly live: ContextSource; readonly items: readonly ContextItem[] },
): Interruptible<ApprovalRefusal | undefined> {
  if (isThinkingLoopOpen(messagesOf({ items }))) {
    const message = 'a model is in the middle of its thinking in this conversation. Approve again after its answer';
    return { code: 'conversation_busy', field: 'conversation', message };
  }
  const misfit = findMisfit(version, prepared);
  if (misfit !== undefined) return refuse(edits, misfit);
  if (state.quarantine?.segments === hashSegments(version.segments)) {
    return refuse(edits, 'the provider refused an earlier context version that changed the log in the same way');
  }
  const appended = segmentBehind(version, live.head, items);
  const segments = [...version.segments, ...appended];
  const weight = appended.reduce((sum, segment) => addWeights(sum, segment.weight), weighVersion(version));
  const texts = new Map(Object.entries(summaries));
  const [violation] = yield* checkVersion(prepared, live, { segments, weight }, texts);
  return violation && refuse(edits, `${violation.rule}: ${violation.message}`);
}

/** Returns why the approved context version is too large, or undefined if it fits. */
function findMisfit(version: Proposal['version'], { limits, overhead }: PreparedAgent): string | undefined {
  const { tokensBefore, tokensAfter } = version;
  if (tokensAfter >= tokensBefore)
    return `the new context has ${tokensAfter} tokens, but must have fewer than the ${tokensBefore} of the current one`;
  // A version whose proposal states why the version is too large may exceed the token budget.
  if (version.explained.some((why) => why !== 'summaries_missing')) return undefined;
  const reasons = version.reasons as Reason[];
  const { tokens, bytes } = excessWeight({ limits, overhead, reasons }, weighVersion(version));
  if (tokens > 0) return `the new context exceeds maxTokens by ${tokens} tokens`;
  return bytes > 0 ? `the new context exceeds the model's request limit by ${bytes} bytes` : undefined;
}

/**
 * Builds the error that answers an approval. If the person edited texts, the error blames the edits. Otherwise it
 * reports that the proposal is outdated.
 */
function refuse(edits: Edits, message: string): ApprovalRefusal {
  const hasEdits = Object.keys(edits).length > 0;
  return hasEdits
    ? { code: 'invalid_input', field: 'edits', message }
    : { code: 'proposal_stale', field: 'proposal', message };
}

/**
 * The messages that were appended after the last message of the context version, as one segment of unchanged messages.
 */
function segmentBehind({ base }: Proposal['version'], head: number, items: readonly ContextItem[]): readonly Segment[] {
  if (head <= base) return [];
  return [{ kind: 'raw', from: base + 1, to: head, weight: weighItems(items.filter(({ from }) => from > base)) }];
}
