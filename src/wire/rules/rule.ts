import type { Sliced } from '../../domain/sliced.ts';
import type { Violation } from '../wire-request.ts';

/** Facts that the rules need and a body does not show. */
export interface RuleContext {
  /**
   * The body was rendered with an extra user message, to check a context before its commit. Rules for the last message
   * are skipped (X4, part of A6). A round that is still open at the end may lack results (X1, X2, A4, C1, R1).
   */
  readonly isProbed?: boolean;
  /** Upper bound of the request's tokens. X9 compares it with `usableTokens`. */
  readonly tokens?: number;
  readonly usableTokens?: number;
  /** Largest request of the provider, in bytes (X9). */
  readonly maxBytes?: number;
  /** Skips limits on numbers of messages and tools (X9), because the provider is not known. */
  readonly isUncapped?: boolean;
  /** The model's chat template takes only alternating user and assistant messages (C5). */
  readonly hasStrictTemplate?: boolean;
}

export type Breach = Omit<Violation, 'rule'>;

/** A rule over a view. It yields each breach, and undefined where it may be interrupted. */
export type Rule<View> = (view: View, context: RuleContext) => Iterable<Breach | undefined>;

/** Rules by their codes in docs/reference/wire.md. */
export type Rules<View> = Readonly<Record<string, Rule<View>>>;

export function* applyRules<View>(rules: Rules<View>, view: View, context: RuleContext): Sliced<Violation[]> {
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
