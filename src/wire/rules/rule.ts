import { endsSlice, type Interruptible } from '../../domain/interruptible.ts';
import type { ProviderHabits } from '../../domain/provider-habits.ts';
import type { Violation } from '../wire-request.ts';

export interface RuleContext {
  /**
   * True for a context that is checked before its commit, with an extra user message at its end. The rules for the last
   * message (X4, part of A6) are skipped. Calls at the end may be open (X1, X2, A4, C1, R1).
   */
  readonly isProbed?: boolean;
  readonly tokens?: number;
  readonly usableTokens?: number;
  readonly maxBytes?: number | undefined;
  /** True for an unknown provider, whose limits on messages and tools are not known (wire rule X9). */
  readonly isUncapped?: boolean;
  /** True if the chat template of the model requires alternating roles (wire rule C5). */
  readonly hasStrictTemplate?: boolean;
  /** Habits of the provider that the body was written for (wire rules A7, C7). */
  readonly habits?: ProviderHabits;
}

export type Breach = Omit<Violation, 'rule'>;

/** Violations of one rule. Undefined marks a place where the caller may pause. */
export type Breaches = Iterable<Breach | undefined>;

type Rule<View> = (view: View, context: RuleContext) => Breaches;

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

/** Yields a violation for each entry in which `findFlaw` finds a flaw. */
export function* breachesOf<Entry extends { readonly path: string }>(
  entries: readonly Entry[],
  findFlaw: (entry: Entry, index: number) => string | false | undefined,
): Generator<Breach | undefined> {
  for (const [index, entry] of entries.entries()) {
    const message = findFlaw(entry, index);
    if (typeof message === 'string') yield { path: entry.path, message };
    if (endsSlice(index)) yield;
  }
}
