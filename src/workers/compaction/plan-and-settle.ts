import { type PassPlan, planInSlices } from '../../domain/compaction/plan.ts';
import type { SettleOutcome } from '../../domain/compaction/settle.ts';
import type { Reason } from '../../domain/compaction/thresholds.ts';
import { type Context, type ContextSource, messagesOf } from '../../domain/context.ts';
import type { Sliced } from '../../domain/sliced.ts';
import { eventLoopShare } from '../../tokens/event-loop-share.ts';
import type { Violation } from '../../wire/wire-request.ts';
import { waitsForAnswer } from '../thinking-loop.ts';
import { checkVersion } from './check-version.ts';
import { type PassSnapshot, planRequest } from './pass-snapshot.ts';
import type { AcceptedSummaries } from './sequence-summaries.ts';
import { type Refusal, type RefusedVersion, settleSendable } from './settle-sendable.ts';

/** Input of plan and settle, for live passes and trials. */
export interface PlanInput {
  readonly snapshot: PassSnapshot;
  readonly reasons: readonly Reason[];
  readonly source: ContextSource;
  /** Context built from `source`. */
  readonly context: Context;
  /** Seq of the log's first user message. */
  readonly firstUserSeq: number | undefined;
}

export interface SettleInput extends PlanInput {
  readonly plan: PassPlan;
  readonly accepted: AcceptedSummaries;
}

export interface SettleChoices {
  /** Skips the rules of the wire. A trial commits nothing, and the rules take longer than all the rest. */
  readonly isUnchecked?: boolean;
  readonly onRefusal?: (refusal: Refusal) => void;
}

/** Plans in slices, unless a model is thinking over the context and the pass can wait. */
export async function planContext(
  input: PlanInput,
): Promise<{ readonly status: 'planned'; readonly plan: PassPlan } | { readonly status: 'thinking' }> {
  const { snapshot, reasons, context } = input;
  if (waitsForAnswer(reasons, messagesOf(context))) return { status: 'thinking' };
  const request = planRequest(snapshot.prepared, context, reasons, { ...snapshot, ...input });
  return { status: 'planned', plan: await eventLoopShare.run(planInSlices(request)) };
}

/** Settles in slices to a version that the agent's provider takes. */
export async function settleContext(
  input: SettleInput,
  { isUnchecked = false, onRefusal }: SettleChoices = {},
): Promise<SettleOutcome | RefusedVersion> {
  const { snapshot, reasons, source, context, plan, accepted } = input;
  const { prepared, state } = snapshot;
  const request = planRequest(prepared, context, reasons, { ...snapshot, ...input });
  const settling = settleSendable(
    { ...request, plan, summaries: accepted.summaries },
    {
      quarantine: state.quarantine,
      check: (settled) => (isUnchecked ? withoutViolations() : checkVersion(prepared, source, settled, accepted.texts)),
      ...(onRefusal && { onRefusal }),
    },
  );
  return await eventLoopShare.run(settling);
}

// oxlint-disable-next-line require-yield -- no work, so nothing to interrupt
function* withoutViolations(): Sliced<Violation[]> {
  return [];
}
