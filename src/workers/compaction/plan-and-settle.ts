import { type Context, contextMessages } from '../../compaction/context.ts';
import { planInSlices } from '../../compaction/plan.ts';
import {
  type SettledContext,
  type SettleOutcome,
  type SettleRequest,
  settleInSlices,
} from '../../compaction/settle.ts';
import type { ContextSource } from '../../domain/context-source.ts';
import type { Quarantine } from '../../domain/conversation.ts';
import type { Interruptible } from '../../domain/interruptible.ts';
import type { Reason } from '../../domain/pass.ts';
import type { PassPlan } from '../../domain/pass-plan.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import type { Violation } from '../../wire/wire-request.ts';
import { hashSegments } from '../content-hash.ts';
import { waitsForAnswer } from '../pass-request.ts';
import { checkVersion } from './check-version.ts';
import { type PassSnapshot, planRequest } from './pass-snapshot.ts';
import type { AcceptedSummaries } from './sequence-summaries.ts';

/** Input for plans of live passes, and of trials that write nothing. */
interface PlanInput {
  readonly snapshot: PassSnapshot;
  readonly reasons: readonly Reason[];
  readonly source: ContextSource;
  readonly context: Context;
  readonly firstUserSeq: number | undefined;
}

interface SettleInput extends PlanInput {
  readonly plan: PassPlan;
  readonly accepted: AcceptedSummaries;
}

interface SettleChoices {
  /** True: skip the check against the formats of providers, which takes longer than the rest of a trial. */
  readonly isUnchecked?: boolean;
  readonly onRefusal?: (refusal: VersionRefusal) => void;
}

/** Plans a context. Makes no plan while a model thinks between tool calls, unless a turn waits for the pass. */
export async function planContext(
  input: PlanInput,
): Promise<{ readonly status: 'planned'; readonly plan: PassPlan } | { readonly status: 'thinking' }> {
  const { snapshot, reasons, context } = input;
  if (waitsForAnswer(reasons, contextMessages(context))) return { status: 'thinking' };
  const request = planRequest(snapshot.prepared, context, reasons, { ...snapshot, ...input });
  return { status: 'planned', plan: await eventLoopShare.run(planInSlices(request)) };
}

/** Makes a version from plan and summaries that the agent's provider accepts. */
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
      ...(!isUnchecked && { check: (settled) => checkVersion(prepared, source, settled, accepted.texts) }),
      ...(onRefusal && { onRefusal }),
    },
  );
  return await eventLoopShare.run(settling);
}

export interface VersionRefusal {
  /** Ids of broken rules, or `quarantined` if the provider refused the same segments before. */
  readonly codes: readonly string[];
  /** Text without contents of the conversation. */
  readonly message: string;
}

const QUARANTINED: VersionRefusal = {
  codes: ['quarantined'],
  message: 'the provider refused an earlier context version with the same changes against the log',
};

/** The result if every possible version breaks a rule, even the version without summaries. */
export interface RefusedVersion {
  readonly kind: 'refused';
  readonly refusal: VersionRefusal;
}

interface Sendability {
  readonly quarantine: Quarantine | undefined;
  readonly check?: (settled: SettledContext) => Interruptible<readonly Violation[]>;
  readonly onRefusal?: (refusal: VersionRefusal) => void;
}

/** Tries a version with the summaries first, then without any. */
export function* settleSendable(
  request: SettleRequest,
  sendability: Sendability,
): Interruptible<SettleOutcome | RefusedVersion> {
  const withSummaries = yield* settleAndCheck(request, sendability);
  if (withSummaries.kind !== 'refused' || request.summaries.length === 0) return withSummaries;
  return yield* settleAndCheck({ ...request, summaries: [] }, sendability);
}

function* settleAndCheck(
  request: SettleRequest,
  { quarantine, check, onRefusal = () => undefined }: Sendability,
): Interruptible<SettleOutcome | RefusedVersion> {
  const settled = yield* settleInSlices(request);
  if (settled.kind !== 'version') return settled;
  const isQuarantined = quarantine?.segments === hashSegments(settled.segments);
  const violations = isQuarantined || check === undefined ? [] : yield* check(settled);
  const [first] = violations;
  if (first === undefined && !isQuarantined) return settled;
  const refusal = first ? describeViolations(first, violations) : QUARANTINED;
  onRefusal(refusal);
  return { kind: 'refused', refusal };
}

function describeViolations({ path, message }: Violation, violations: readonly Violation[]): VersionRefusal {
  return { codes: [...new Set(violations.map(({ rule }) => rule))], message: `${path}: ${message}` };
}
