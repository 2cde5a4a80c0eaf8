import { runToEnd, type Sliced } from '../../domain/sliced.ts';
import { applyRules, type RuleContext, type Rules } from '../rules/rule.ts';
import { sharedRules } from '../rules/shared-rules.ts';
import type { Violation } from '../wire-request.ts';
import {
  flagsErrors,
  keepsServerToolsTogether,
  keepsThinking,
  marksCacheLegally,
  startsWithCompaction,
} from './rules/block-rules.ts';
import {
  alternates,
  answersCallsAtOnce,
  endsTextsCleanly,
  hasLegalIds,
  hasSystemAside,
  startsWithUserTurn,
} from './rules/turn-rules.ts';
import { type AnthropicView, viewAnthropic } from './rules/view.ts';

/** A8 binds a signature to what stood before it: no body shows that, the renderer keeps it (`keptRawItems`). */
const anthropicRules: Rules<AnthropicView> = {
  ...sharedRules,
  A1: hasSystemAside,
  A2: startsWithUserTurn,
  A3: alternates,
  A4: answersCallsAtOnce,
  A5: hasLegalIds,
  A6: endsTextsCleanly,
  A7: keepsThinking,
  A9: marksCacheLegally,
  A10: startsWithCompaction,
  A11: keepsServerToolsTogether,
  A12: flagsErrors,
};

/** The rules that a Messages request breaks, in the order of the rules; none for a request that its provider takes. */
export function validateAnthropic(body: unknown, context: RuleContext = {}): Violation[] {
  return runToEnd(validateAnthropicInSlices(body, context));
}

/** The same, in slices. */
export function* validateAnthropicInSlices(body: unknown, context: RuleContext = {}): Sliced<Violation[]> {
  return yield* applyRules(anthropicRules, yield* viewAnthropic(body), context);
}
