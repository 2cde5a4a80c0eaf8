import type { Interruptible } from '../../domain/interruptible.ts';
import type { ProviderHabits } from '../../domain/provider-habits.ts';
import type { Violation } from '../wire-request.ts';

export interface RuleContext {
  /**
   * True for a body with an extra user message at its end, which checks a context before its commit. Rules for the last
   * message are skipped (X4, part of A6). Open calls at the end may lack results (X1, X2, A4, C1, R1).
   */
  readonly isProbed?: boolean;
  readonly tokens?: number;
  readonly usableTokens?: number;
  readonly maxBytes?: number;
  /** True: the limits on messages and tools are not checked (wire rule X9), because the provider is not known. */
  readonly isUncapped?: boolean;
  /** True if the model's chat template requires alternating roles (wire rule C5). */
  readonly hasStrictTemplate?: boolean;
  /** Habits of the provider, with which the body was rendered (wire rules A7, C7). */
  readonly habits?: ProviderHabits;
}

export type Breach = Omit<Violation, 'rule'>;

/** Yields each violation, and undefined where the caller may pause. */
export type Rule<View> = (view: View, context: RuleContext) => Iterable<Breach | undefined>;

export type Rules<View> = Readonly<Record<string, Rule<View>>>;

export function* applyRules<View>(rules: Rules<View>, view: View, context: RuleContext): Interruptible<Violation[]> {
  const violations: Violation[] = [];
  for (const [rule, check] of Object.entries(rules)) {
    for (const breach of check(view, context)) {
      if (breach === undefined) yield;
      else violations.push({ rule, ...breach });
    }
    yield;
  }
  return violations;
}
