import { runToEnd, type Sliced } from '../../domain/sliced.ts';
import { applyRules, type RuleContext, type Rules } from '../rules/rule.ts';
import { sharedRules } from '../rules/shared-rules.ts';
import type { Violation } from '../wire-request.ts';
import {
  dropsUnpairedReasoning,
  keepsAnswersTogether,
  keepsReasoningWithCompanion,
  needsReasoningBefore,
  pairsOutputs,
} from './rules/group-rules.ts';
import { hasUniqueIds, keepsCompactionWhole, keepsEncryptedContent, usesNoServerHistory } from './rules/item-rules.ts';
import { type ResponsesView, viewResponses } from './rules/view.ts';

const responsesRules: Rules<ResponsesView> = {
  ...sharedRules,
  R1: pairsOutputs,
  R2: keepsReasoningWithCompanion,
  R3: needsReasoningBefore,
  R4: dropsUnpairedReasoning,
  R5: keepsAnswersTogether,
  R6: keepsEncryptedContent,
  R7: usesNoServerHistory,
  R8: keepsCompactionWhole,
  R9: hasUniqueIds,
};

/** The rules that a Responses request breaks, in the order of the rules; none for a request that its provider takes. */
export function validateResponses(body: unknown, context: RuleContext = {}): Violation[] {
  return runToEnd(validateResponsesInSlices(body, context));
}

/** The same, in slices. */
export function* validateResponsesInSlices(body: unknown, context: RuleContext = {}): Sliced<Violation[]> {
  return yield* applyRules(responsesRules, yield* viewResponses(body), context);
}
