import {
  type SettledContext,
  type SettleOutcome,
  type SettleRequest,
  settleInSlices,
} from '../../domain/compaction/settle.ts';
import type { Quarantine } from '../../domain/conversation.ts';
import type { Sliced } from '../../domain/sliced.ts';
import type { Violation } from '../../wire/wire-request.ts';
import { hashSegments } from '../content-hash.ts';

/** Why a settled version may not be committed. */
export interface Refusal {
  /** Broken rules, or `quarantined`. */
  readonly codes: readonly string[];
  /** Message without contents. */
  readonly message: string;
}

const QUARANTINED: Refusal = { codes: ['quarantined'], message: 'a provider refused these very segments' };

/** The outcome if every settled version breaks a rule, the one without summaries too. */
export interface RefusedVersion {
  readonly kind: 'refused';
  readonly refusal: Refusal;
}

export interface Sendability {
  readonly quarantine: Quarantine | undefined;
  /** Rules that a request over the settled context would break. */
  readonly check: (settled: SettledContext) => Sliced<readonly Violation[]>;
  /** Called for each refused version. */
  readonly onRefusal?: (refusal: Refusal) => void;
}

/** Settles to a version that its provider takes: with the summaries if possible, else without any. */
export function* settleSendable(
  request: SettleRequest,
  sendability: Sendability,
): Sliced<SettleOutcome | RefusedVersion> {
  const withSummaries = yield* settleAndCheck(request, sendability);
  if (withSummaries.kind !== 'refused' || request.summaries.length === 0) return withSummaries;
  return yield* settleAndCheck({ ...request, summaries: [] }, sendability);
}

function* settleAndCheck(
  request: SettleRequest,
  { quarantine, check, onRefusal = () => undefined }: Sendability,
): Sliced<SettleOutcome | RefusedVersion> {
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
): Sliced<Refusal | undefined> {
  if (quarantine?.segments === hashSegments(settled.segments)) return QUARANTINED;
  const violations = yield* check(settled);
  const [first] = violations;
  if (first === undefined) return undefined;
  return { codes: [...new Set(violations.map(({ rule }) => rule))], message: `${first.path}: ${first.message}` };
}
