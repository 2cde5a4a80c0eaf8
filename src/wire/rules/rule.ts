import type { Sliced } from '../../domain/sliced.ts';
import type { Violation } from '../wire-request.ts';

/** What a body does not say by itself. */
export interface RuleContext {
  /**
   * The body was rendered with a user message added, to check a context before it is committed: what holds for the last
   * message only (X4, part of A6) is not asked, and a round that is still open at the end may lack results (X1, X2, A4, C1, R1).
   */
  readonly isProbed?: boolean;
  /** upper bound of the request's size; X9 asks for it together with `usableTokens` */
  readonly tokens?: number;
  readonly usableTokens?: number;
  /** largest request that the provider takes, in bytes (X9) */
  readonly maxBytes?: number;
  /** nobody's caps on numbers of messages and tools are asked for (X9): which provider takes the body is not known */
  readonly isUncapped?: boolean;
  /** the model's chat template takes nothing but user and assistant in turns (C5) */
  readonly hasStrictTemplate?: boolean;
}

/** One place where a rule is broken. */
export type Breach = Omit<Violation, 'rule'>;

/** A rule over what it needs to see of a body. It yields each breach, and undefined where it may be interrupted. */
export type Rule<View> = (view: View, context: RuleContext) => Iterable<Breach | undefined>;

/** Rules by their number. */
export type Rules<View> = Readonly<Record<string, Rule<View>>>;

/** Yields after each rule, and where a rule may be interrupted. */
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
