import { isTurnfoldError } from '../domain/errors.ts';
import { type EvaluatedAgent, type OfflineWindow, prepareOfflineAgent } from '../evaluation/offline-agent.ts';
import type { RememberedCounts } from '../evaluation/remembered-counts.ts';
import { createSummarizers } from '../host/summarizers.ts';
import { completeAlone, type PolicySource } from './policy-file.ts';
import { renameField } from './typed-errors.ts';

interface TrialPolicy extends PolicySource {
  /** Option that gave the window. Absent: the window follows from the policy. */
  readonly windowOption?: '--window' | '--model' | undefined;
  readonly counts?: RememberedCounts;
}

/** @throws invalid_policy that names the window option or the policy file */
export async function prepareTrial(tried: TrialPolicy, window: OfflineWindow): Promise<EvaluatedAgent> {
  const { policy, place, windowOption, counts } = tried;
  try {
    return await prepareOfflineAgent(policy, window, counts);
  } catch (error) {
    if (!isTurnfoldError(error, 'invalid_policy')) throw error;
    // This call throws if the policy is wrong even without the window.
    completeAlone(tried);
    throw windowOption === undefined ? place(error) : renameField(error, windowOption);
  }
}

export async function createTrialSummarizers(
  prepared: EvaluatedAgent,
  { place }: Pick<PolicySource, 'place'>,
): ReturnType<typeof createSummarizers> {
  try {
    return await createSummarizers([prepared], []);
  } catch (error) {
    if (!isTurnfoldError(error, 'invalid_policy')) throw error;
    // The error names an internal agent that the user does not know.
    const own = `agents.${prepared.agent.name}.policy.`;
    throw place(renameField(error, error.field?.replace(own, '') ?? ''));
  }
}
