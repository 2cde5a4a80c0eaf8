import { TurnfoldError } from '../../src/domain/errors.ts';
import type { Message } from '../../src/domain/message.ts';
import type { PolicyInput } from '../../src/domain/policy.ts';
import { compactConversation } from '../../src/evaluation/compact.ts';
import {
  createOfflineSummarizers,
  prepareOfflineAgent,
  weighConversation,
} from '../../src/evaluation/offline-agent.ts';
import { RememberedCounts } from '../../src/evaluation/remembered-counts.ts';
import type { BenchPoint } from './points.ts';

/** Rows of turnfold itself: each compacts the source with one manual pass. */
export const LADDERS: Readonly<Record<string, Omit<PolicyInput, 'maxTokens'>>> = {
  turnfold: {},
  'turnfold prefix': { scope: 'prefix' },
};

const counts = new RememberedCounts();

/** @returns undefined if no context fits the budget */
export async function compactWith(
  policy: PolicyInput,
  { point }: BenchPoint,
  maxTokens: number,
): Promise<readonly Message[] | undefined> {
  const prepared = await prepareOfflineAgent({ ...policy, maxTokens }, {}, counts);
  const weighed = await weighConversation(point.source, prepared);
  try {
    const { messages } = await compactConversation(weighed, prepared, await createOfflineSummarizers(counts));
    return messages;
  } catch (error) {
    if (error instanceof TurnfoldError && error.code === 'budget_infeasible') return undefined;
    throw error;
  }
}
