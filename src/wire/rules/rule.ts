import type { Interruptible } from '../../domain/interruptible.ts';
import type { ProviderHabits } from '../../domain/provider-habits.ts';
import type { Violation } from '../wire-request.ts';

/** Information that the rules need and that is not in the request body. */
export interface RuleContext {
  /**
   * True if the body was rendered with an extra user message at its end, to check a context before its commit. Rules
   * for the last message are then skipped (wire rule X4, part of A6). Tool calls that are still waiting for results at
   * the end may lack them (wire rules X1, X2, A4, C1, R1).
   */
  readonly isProbed?: boolean;
  /** Upper bound of the request's size in tokens. Wire rule X9 compares this bound with `usableTokens`. */
  readonly tokens?: number;
  readonly usableTokens?: number;
  /** Size limit of the provider for one request, in bytes (wire rule X9). */
  readonly maxBytes?: number;
  /** Skips the limits on the number of messages and tools (wire rule X9), because the provider is not known. */
  readonly isUncapped?: boolean;
  /** True if the model's chat template requires user and assistant messages to alternate (wire rule C5). */
  readonly hasStrictTemplate?: boolean;
  /** Requirements of the provider, with which the body was rendered (wire rules A7, C7). */
  readonly habits?: ProviderHabits;
}

export type Breach = Omit<Violation, 'rule'>;

/** A check of one rule. It yields each violation, and undefined at points where the caller may pause it. */
export type Rule<View> = (view: View, context: RuleContext) => Iterable<Breach | undefined>;

/** The checks of all rules, by rule code as in docs/reference/wire.md. */
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
