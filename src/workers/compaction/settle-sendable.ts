import {
  type SettledContext,
  type SettleOutcome,
  type SettleRequest,
  settleInSlices,
} from '../../compaction/settle.ts';
import type { Quarantine } from '../../domain/conversation.ts';
import type { Interruptible } from '../../domain/interruptible.ts';
import type { Violation } from '../../wire/wire-request.ts';
import { hashSegments } from '../content-hash.ts';

/** Why a new context version must not be committed. */
export interface Refusal {
  /** Ids of the broken format rules, or `quarantined` if the provider refused the same segments before. */
  readonly codes: readonly string[];
  /** Explanation of the refusal, without contents of the conversation. */
  readonly message: string;
}

const QUARANTINED: Refusal = {
  codes: ['quarantined'],
  message: 'the provider refused an earlier context version that changed the log in the same way',
};

/** The outcome if every possible version breaks a rule, even the one without summaries. */
export interface RefusedVersion {
  readonly kind: 'refused';
  readonly refusal: Refusal;
}

export interface Sendability {
  readonly quarantine: Quarantine | undefined;
  /** Returns the rules that a request over the new context would break. */
  readonly check: (settled: SettledContext) => Interruptible<readonly Violation[]>;
  /** Called for each context version that breaks a rule. */
  readonly onRefusal?: (refusal: Refusal) => void;
}

/**
 * Builds a context version that the agent's provider accepts. Tries it with the summaries first, and then without any
 * summary.
 */
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
  const refusal = yield* findRefusal(settled, quarantine, check);
  if (refusal === undefined) return settled;
  onRefusal(refusal);
  return { kind: 'refused', refusal };
}

function* findRefusal(
  settled: SettledContext,
  quarantine: Sendability['quarantine'],
  check: Sendability['check'],
): Interruptible<Refusal | undefined> {
  if (quarantine?.segments === hashSegments(settled.segments)) return QUARANTINED;
  const violations = yield* check(settled);
  const [first] = violations;
  if (first === undefined) return undefined;
  return { codes: [...new Set(violations.map(({ rule }) => rule))], message: `${first.path}: ${first.message}` };
}
