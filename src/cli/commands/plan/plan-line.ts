import type { BudgetDivision } from '../../../domain/pass-plan.ts';
import type { SeqRange } from '../../../domain/version.ts';

/**
 * JSON output of `turnfold plan` for one conversation. Message indexes begin at 0, and both ends of a range are
 * included.
 */
export interface PlanLine {
  readonly id: string;
  readonly kind: string;
  readonly reasons: readonly string[];
  readonly tokens: number;
  readonly messages: number;
  readonly turns: number;
  readonly sequences: readonly SeqRange[];
  readonly evict: readonly SeqRange[];
  /** Tokens of each part of the budget. Null if the plan divides no budget. */
  readonly division: BudgetDivision | null;
  readonly protected: readonly number[];
  /** Tokens of the messages before the first change. Providers can read these from their caches. */
  readonly prefixTokens: number;
  /** Why no compaction of these messages can be sent, for the kind `infeasible`. */
  readonly why?: string;
}
