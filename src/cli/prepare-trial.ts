import { isTurnfoldError } from '../domain/errors.ts';
import { type EvaluatedAgent, type OfflineWindow, prepareOfflineAgent } from '../evaluation/offline-agent.ts';
import type { RememberedCounts } from '../evaluation/remembered-counts.ts';
import { createSummarizers } from '../runtime/summarizers.ts';
import { completeAlone, type PolicySource } from './policy-file.ts';
import { renameField } from './typed-errors.ts';

export interface TrialPolicy extends PolicySource {
  /** Option that sets the window. Absent: the window follows from the policy. */
  readonly windowOption?: '--window' | '--model' | undefined;
  readonly counts?: RememberedCounts;
}

/** Prepares an agent for offline passes. @throws invalid_policy, naming the window option or the policy file */
export async function prepareTrial(tried: TrialPolicy, window: OfflineWindow): Promise<EvaluatedAgent> {
  const { policy, place, windowOption, counts } = tried;
  try {
    return await prepareOfflineAgent(policy, window, counts);
  } catch (error) {
    if (!isTurnfoldError(error, 'invalid_policy')) throw error;
    // A policy that fails without a window, too, is at fault itself. Then this call throws.
    completeAlone(tried);
    throw windowOption === undefined ? place(error) : renameField(error, windowOption);
  }
}

/** Creates the summarizers that a policy names. @throws invalid_policy with the file and the field */
export async function createTrialSummarizers(
  prepared: EvaluatedAgent,
  { place }: Pick<PolicySource, 'place'>,
): ReturnType<typeof createSummarizers> {
  try {
    return await createSummarizers([prepared], []);
  } catch (error) {
    if (!isTurnfoldError(error, 'invalid_policy')) throw error;
    // The error names an internal agent, which the user does not know.
    const own = `agents.${prepared.agent.name}.policy.`;
    throw place(renameField(error, error.field?.replace(own, '') ?? ''));
  }
}
