import { excessWeight, requestTokens } from '../../domain/compaction/budget.ts';
import { hasHardReason, REASONS, type Reason } from '../../domain/compaction/thresholds.ts';
import { buildInSlices, type ContextItem, type ContextSource, messagesOf, weighItems } from '../../domain/context.ts';
import { addWeights } from '../../domain/message.ts';
import type { ClaimedPass } from '../../domain/ports/pass-store.ts';
import { type ApprovalRefusal, type Edits, editProposal, type Proposal, rangeName } from '../../domain/proposal.ts';
import type { Sliced } from '../../domain/sliced.ts';
import type { Segment } from '../../domain/version.ts';
import { eventLoopShare } from '../../tokens/event-loop-share.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import { hashSegments } from '../segments-hash.ts';
import { isThinkingLoopOpen } from '../thinking-loop.ts';
import { checkVersion } from './check-version.ts';
import { weighEdits } from './edited-summaries.ts';
import type { EndedPass, PassEnding, WaitingPass } from './pass-ending.ts';
import { lookAtPass, type PassLook } from './pass-look.ts';
import type { CompactionPorts } from './ports.ts';

/** Reasons that keep coming between reading and writing are not waited for. */
const MAX_TRIES = 5;

type Reviewed = NonNullable<ClaimedPass['review']>;

/** A claimed pass that has proposed a version: what somebody decided is carried out; where nobody has, its time is up. */
export class Review {
  readonly #ports: CompactionPorts;
  readonly #pass: ClaimedPass;
  readonly #prepared: PreparedAgent;
  readonly #ending: PassEnding;

  constructor(ports: CompactionPorts, pass: ClaimedPass, prepared: PreparedAgent, ending: PassEnding) {
    this.#ports = ports;
    this.#pass = pass;
    this.#prepared = prepared;
    this.#ending = ending;
  }

  /** Undefined: a hard reason or another version has taken the proposal away, and the pass goes on as one without. */
  async conclude(review: Reviewed): Promise<EndedPass | WaitingPass | undefined> {
    const { lease } = this.#pass;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const look = await lookAtPass(this.#ports, lease, this.#prepared);
      if ('status' in look) return this.#ending.lose(look.status);
      const { state, requested } = look;
      if (hasHardReason(requested) || state.size.version !== review.proposal.version.parent) return undefined;
      const concluded = await this.#carryOut(review, look);
      if (concluded === 'dropped') return undefined;
      if (concluded !== undefined) return concluded;
    }
    return await this.#ending.fail('conflict', this.#pass.reasons, this.#prepared.policy);
  }

  /** Undefined: reasons were added, or another version became the live one; nothing was written. */
  async #carryOut(
    { proposal, verdict }: Reviewed,
    look: PassLook,
  ): Promise<EndedPass | WaitingPass | 'dropped' | undefined> {
    const asked = look.requested;
    const reasons = REASONS.filter((reason) => proposal.version.reasons.includes(reason) || asked.includes(reason));
    if (verdict === undefined) return await this.#ending.end({ kind: 'expired' }, look, reasons);
    if (verdict.kind === 'reject') return await this.#ending.end({ kind: 'rejected' }, look, reasons);
    const live = await this.#ports.contexts.readContext(this.#pass.lease.conversation);
    if (live === undefined) return this.#ending.lose('gone');
    if (live.version.number !== proposal.version.parent) return undefined;
    const approved = await this.#applyEdits(proposal, verdict.edits, live, look);
    const refusal =
      'code' in approved ? approved : await eventLoopShare.run(this.#findRefusal(approved, verdict.edits, live, look));
    if (refusal !== undefined) return await this.#ending.refuse(refusal);
    return 'code' in approved ? undefined : await this.#ending.approve(approved, look, reasons);
  }

  async #applyEdits(
    proposal: Proposal,
    edits: Edits,
    live: ContextSource,
    { prepared }: PassLook,
  ): Promise<Proposal | ApprovalRefusal> {
    const ranges = new Set(Object.values(proposal.summaries).map(rangeName));
    const wrong = Object.keys(edits).find((range) => !ranges.has(range) || edits[range]?.trim() === '');
    if (wrong !== undefined) {
      const why = ranges.has(wrong) ? 'a summary has to say something' : 'no new summary has this range';
      return { code: 'invalid_input', field: `edits.${wrong}`, message: why };
    }
    const { overhead } = prepared;
    const edited = editProposal(proposal, await weighEdits(prepared, proposal, edits), overhead);
    // Both sizes by one calibration: it may have moved while the proposal waited.
    const context = await eventLoopShare.run(buildInSlices(live));
    const items = context.items.filter(({ to }) => to <= proposal.version.base);
    const tokensBefore = requestTokens({ overhead }, weighItems(items).tokens);
    return { ...edited, version: { ...edited.version, tokensBefore } };
  }

  /** All that is asked of a version that a pass makes, over what has been appended since. */
  *#findRefusal(
    { version, summaries }: Proposal,
    edits: Edits,
    live: ContextSource,
    { state, prepared }: PassLook,
  ): Sliced<ApprovalRefusal | undefined> {
    const { items } = yield* buildInSlices(live);
    if (isThinkingLoopOpen(messagesOf({ items }))) {
      const field = 'conversation';
      return {
        code: 'conversation_busy',
        field,
        message: 'a model is thinking over it: approve again after its answer',
      };
    }
    const { tokensBefore, tokensAfter } = version;
    if (tokensAfter >= tokensBefore) return blame(edits, `${tokensAfter} tokens, not smaller than ${tokensBefore}`);
    if (version.explained.every((why) => why === 'summaries_missing')) {
      const { limits, overhead } = prepared;
      const reasons = version.reasons as Reason[];
      const { tokens, bytes } = excessWeight({ limits, overhead, reasons }, version.weight);
      if (tokens > 0) return blame(edits, `${tokens} tokens over maxTokens`);
      if (bytes > 0) return blame(edits, `${bytes} bytes over what the model takes`);
    }
    if (state.quarantine?.segments === hashSegments(version.segments)) {
      return blame(edits, 'a provider refused these very segments');
    }
    const appended = segmentBehind(version, live.head, items);
    const segments = appended === undefined ? version.segments : [...version.segments, appended];
    const weight = addWeights(version.weight, appended?.weight ?? { tokens: 0, bytes: 0 });
    const texts = new Map(Object.entries(summaries));
    const [violation] = yield* checkVersion(prepared, live, { segments, weight }, texts);
    return violation && blame(edits, `${violation.rule}: ${violation.message}`);
  }
}

/** What an approval fails for is its edits' fault, if it has any; else what was proposed no longer fits. */
function blame(edits: Edits, message: string): ApprovalRefusal {
  const hasEdits = Object.keys(edits).length > 0;
  return hasEdits
    ? { code: 'invalid_input', field: 'edits', message }
    : { code: 'proposal_stale', field: 'proposal', message };
}

/** What was appended behind a version's base, as it is; undefined where that is nothing. */
function segmentBehind(
  { base }: Proposal['version'],
  head: number,
  items: readonly ContextItem[],
): Segment | undefined {
  if (head <= base) return undefined;
  return { kind: 'raw', from: base + 1, to: head, weight: weighItems(items.filter(({ from }) => from > base)) };
}
