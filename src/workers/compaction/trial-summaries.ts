import type { ConversationRef } from '../../domain/ids.ts';
import type { PassPlan } from '../../domain/pass-plan.ts';
import { noTracing } from '../../domain/tracing.ts';
import type { SummaryRecord } from '../../store/summaries.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import { Shutdown } from '../shutdown.ts';
import type { SummarizationPorts } from '../summarization/ports.ts';
import { createSummarizationHandler } from '../summarization/summarization-delivery.ts';
import { type AcceptedSummaries, findRecords, readAccepted, sequenceKey, summaryPolicy } from './sequence-summaries.ts';

/** Every trial has one compaction pass, which always has this id. */
const TRIAL_PASS = 'trial';

export interface TrialPorts
  extends Pick<SummarizationPorts, 'contexts' | 'summarizers' | 'clock' | 'ids' | 'timers' | 'onEvent'> {
  readonly conversation: ConversationRef;
  readonly prepared: PreparedAgent;
  /** Summaries of earlier trials, by the keys of their ranges. Receives the new ones. */
  readonly written?: Map<string, SummaryRecord>;
}

/**
 * Writes the missing summaries of a plan, one after the other, with the same handler as workers. Keeps the summaries in
 * memory.
 */
export async function summarizeInTrial(
  { conversation, prepared, contexts, written = new Map(), ...ports }: TrialPorts,
  plan: PassPlan,
): Promise<AcceptedSummaries> {
  const state = await contexts.readConversation(conversation);
  const policy = state === undefined ? prepared.policy : summaryPolicy(prepared.policy, state);
  const handle = createSummarizationHandler({
    ...ports,
    // The handler writes a summary only if its compaction pass is open, so the conversation's open pass is replaced by
    // that of the trial.
    contexts: { ...contexts, readConversation: async () => state && { ...state, passId: TRIAL_PASS } },
    summaries: keepInMemory(written),
    agents: { find: () => prepared },
    owners: ports.ids,
    tracing: noTracing,
    shutdown: new Shutdown(),
  });
  const readSummaries = async (_: unknown, keys: readonly string[]) => keys.map((key) => written.get(key));
  const known = await findRecords({ readSummaries }, conversation, plan.sequences, policy);
  for (const [index, sequence] of plan.sequences.entries()) {
    if (known[index] !== undefined) continue;
    const task = { conversation, passId: TRIAL_PASS, sequence, hash: sequenceKey(sequence, policy) };
    await handle({ task, requestedAt: ports.clock.now(), isLastAttempt: true });
  }
  return await readAccepted({ readSummaries }, conversation, plan, policy);
}

function keepInMemory(records: Map<string, SummaryRecord>): SummarizationPorts['summaries'] {
  const parts = new Map<string, string>();
  return {
    claimSummary: async (_, hash) => {
      const record = records.get(hash);
      return record === undefined ? { status: 'claimed' } : { status: 'known', record };
    },
    heartbeatSummary: async () => true,
    recordSummary: async ({ hash }, record) => {
      records.set(hash, record);
      return 'recorded';
    },
    releaseSummary: async () => undefined,
    readPart: async (_, key) => parts.get(key),
    recordPart: async (_, key, text) => {
      parts.set(key, text);
      return 'recorded';
    },
  };
}
