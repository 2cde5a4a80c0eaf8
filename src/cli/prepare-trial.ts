import { isTurnfoldError } from '../domain/errors.ts';
import { type EvaluatedAgent, type OfflineWindow, prepareOfflineAgent } from '../evaluation/offline-agent.ts';
import type { RememberedCounts } from '../evaluation/remembered-counts.ts';
import { createSummarizers } from '../runtime/summarizers.ts';
import { completeAlone, type PolicySource } from './policy-file.ts';
import { renameField } from './typed-errors.ts';

export interface TrialPolicy extends PolicySource {
  /** the option that says the window it is tried in, where one does */
  readonly windowOption?: '--window' | '--model' | undefined;
  readonly counts?: RememberedCounts;
}

/** Prepares an agent for passes offline. @throws invalid_policy, by the option whose window is too small, else with the file */
export async function prepareTrial(tried: TrialPolicy, window: OfflineWindow): Promise<EvaluatedAgent> {
  const { policy, place, windowOption, counts } = tried;
  try {
    return await prepareOfflineAgent(policy, window, counts);
  } catch (error) {
    if (!isTurnfoldError(error, 'invalid_policy')) throw error;
    // A fault that occurs in every window belongs to the policy.
    completeAlone(tried);
    throw windowOption === undefined ? place(error) : renameField(error, windowOption);
  }
}

/** The summarizers that a policy names. @throws invalid_policy with the file and the field */
export async function createTrialSummarizers(
  prepared: EvaluatedAgent,
  { place }: Pick<PolicySource, 'place'>,
): ReturnType<typeof createSummarizers> {
  try {
    return await createSummarizers([prepared], []);
  } catch (error) {
    if (!isTurnfoldError(error, 'invalid_policy')) throw error;
    // The user never named this internal agent.
    const own = `agents.${prepared.agent.name}.policy.`;
    throw place(renameField(error, error.field?.replace(own, '') ?? ''));
  }
}
