import { type Context, messagesOf } from '../../compaction/context.ts';
import { planInSlices } from '../../compaction/plan.ts';
import type { SettleOutcome } from '../../compaction/settle.ts';
import type { ContextSource } from '../../domain/context-source.ts';
import type { Interruptible } from '../../domain/interruptible.ts';
import type { Reason } from '../../domain/pass.ts';
import type { PassPlan } from '../../domain/pass-plan.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import type { Violation } from '../../wire/wire-request.ts';
import { waitsForAnswer } from '../thinking-loop.ts';
import { checkVersion } from './check-version.ts';
import { type PassSnapshot, planRequest } from './pass-snapshot.ts';
import type { AcceptedSummaries } from './sequence-summaries.ts';
import { type Refusal, type RefusedVersion, settleSendable } from './settle-sendable.ts';

/** Input for planning and settling, both for live compaction passes and for trials that write nothing. */
export interface PlanInput {
  readonly snapshot: PassSnapshot;
  readonly reasons: readonly Reason[];
  readonly source: ContextSource;
  /** The conversation's context, built from the log entries in `source`. */
  readonly context: Context;
  /** Seq of the first user message in the log. */
  readonly firstUserSeq: number | undefined;
}

export interface SettleInput extends PlanInput {
  readonly plan: PassPlan;
  readonly accepted: AcceptedSummaries;
}

export interface SettleChoices {
  /**
   * If true, the new context is not checked against the formats of providers. That check takes longer than all other
   * work of a trial, and a trial commits nothing.
   */
  readonly isUnchecked?: boolean;
  readonly onRefusal?: (refusal: Refusal) => void;
}

/**
 * Plans the compaction pass, in slices that keep the event loop free. Makes no plan if the model has sent thinking and
 * not yet answered, and no turn waits for the pass.
 */
export async function planContext(
  input: PlanInput,
): Promise<{ readonly status: 'planned'; readonly plan: PassPlan } | { readonly status: 'thinking' }> {
  const { snapshot, reasons, context } = input;
  if (waitsForAnswer(reasons, messagesOf(context))) return { status: 'thinking' };
  const request = planRequest(snapshot.prepared, context, reasons, { ...snapshot, ...input });
  return { status: 'planned', plan: await eventLoopShare.run(planInSlices(request)) };
}

/**
 * Turns the plan and the summaries into a new context version that the agent's provider accepts. Runs in slices that
 * keep the event loop free.
 */
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

// oxlint-disable-next-line require-yield -- it returns at once, so nothing needs a yield
function* withoutViolations(): Interruptible<Violation[]> {
  return [];
}
