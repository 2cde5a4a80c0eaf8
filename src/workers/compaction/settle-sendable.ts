import {
  type SettledContext,
  type SettleOutcome,
  type SettleRequest,
  settleInSlices,
} from '../../domain/compaction/settle.ts';
import type { Quarantine } from '../../domain/conversation.ts';
import type { Sliced } from '../../domain/sliced.ts';
import type { Violation } from '../../wire/wire-request.ts';
import { hashSegments } from '../segments-hash.ts';

/** Why a settled version is not committed. */
export interface Refusal {
  /** rules that are broken, or `quarantined` */
  readonly codes: readonly string[];
  /** without contents */
  readonly message: string;
}

export interface Sendability {
  readonly quarantine: Quarantine | undefined;
  /** the rules that a request over it would break */
  readonly check: (settled: SettledContext) => Sliced<readonly Violation[]>;
  readonly onRefusal: (refusal: Refusal) => void;
}

/** Settles to what its provider takes: where that is not so with the summaries, without them. `refused`: not so either. */
export function* settleSendable(
  request: SettleRequest,
  sendability: Sendability,
): Sliced<SettleOutcome | { readonly kind: 'refused' }> {
  const { summaries } = request;
  for (const used of summaries.length === 0 ? [summaries] : [summaries, []]) {
    const settled = yield* settleInSlices({ ...request, summaries: used });
    if (settled.kind !== 'version') return settled;
    const refusal = yield* findRefusal(settled, sendability);
    if (refusal === undefined) return settled;
    sendability.onRefusal(refusal);
  }
  return { kind: 'refused' };
}

function* findRefusal(settled: SettledContext, { quarantine, check }: Sendability): Sliced<Refusal | undefined> {
  if (quarantine?.segments === hashSegments(settled.segments)) {
    return { codes: ['quarantined'], message: 'a provider refused these very segments' };
  }
  const violations = yield* check(settled);
  const [first] = violations;
  if (first === undefined) return undefined;
  return { codes: [...new Set(violations.map(({ rule }) => rule))], message: `${first.path}: ${first.message}` };
}
