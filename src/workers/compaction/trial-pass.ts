import type { Context } from '../../compaction/context.ts';
import type { SettledContext } from '../../compaction/settle.ts';
import type { ContextSource } from '../../domain/context-source.ts';
import type { ConversationState } from '../../domain/conversation.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import type { Reason } from '../../domain/pass.ts';
import type { BudgetInfeasible, PassPlan } from '../../domain/pass-plan.ts';
import { noTracing } from '../../domain/tracing.ts';
import type { SummaryRecord } from '../../store/summaries.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import { Shutdown } from '../shutdown.ts';
import { createSummarizationHandler } from '../summarization/summarization-delivery.ts';
import type { SummarizationPorts } from '../worker-ports.ts';
import { evaluateRequest, type PassFindings } from './pass-snapshot.ts';
import { planContext, settleContext, type VersionRefusal } from './plan-and-settle.ts';
import { type AcceptedSummaries, findRecords, readAccepted, sequenceKey, summaryPolicy } from './sequence-summaries.ts';

interface TrialRequest extends PassFindings {
  readonly prepared: PreparedAgent;
  readonly state: ConversationState;
  readonly source: ContextSource;
  readonly context: Context;
  readonly requested: readonly Reason[];
  /** True: skip the check against the formats of providers, which takes longer than the rest of a trial. */
  readonly isUnchecked?: boolean;
  /** Writes the missing summaries of a plan, and returns all accepted summaries. */
  readonly complete: (plan: PassPlan) => Promise<AcceptedSummaries>;
}

export type TrialOutcome = { readonly reasons: readonly Reason[] } & (
  | { readonly kind: 'no_reason' | 'thinking' | 'none' | 'no_gain' }
  | { readonly kind: 'version'; readonly settled: SettledContext }
  | { readonly kind: 'infeasible'; readonly details: BudgetInfeasible }
  /** The version would break a rule of a provider's format. */
  | { readonly kind: 'refused'; readonly refusal: VersionRefusal }
);

/** Runs a pass as a worker does, but writes nothing to a store. */
export async function tryPass(trial: TrialRequest): Promise<TrialOutcome> {
  const { prepared, state, source, context, requested, firstUserSeq, refusedTokens } = trial;
  const reasons = evaluateRequest(prepared, state, requested);
  if (reasons.length === 0) return { kind: 'no_reason', reasons };
  const snapshot = { state, requested, refusedTokens, prepared };
  const input = { snapshot, reasons, source, context, firstUserSeq };
  const planned = await planContext(input);
  if (planned.status === 'thinking') return { kind: 'thinking', reasons };
  const { plan } = planned;
  if (plan.infeasible !== undefined) return { kind: 'infeasible', details: plan.infeasible, reasons };
  if (plan.kind === 'none' || plan.kind === 'infeasible') {
    return { kind: plan.explained.includes('no_gain') ? 'no_gain' : 'none', reasons };
  }
  const accepted = await trial.complete(plan);
  const settled = await settleContext({ ...input, plan, accepted }, { isUnchecked: trial.isUnchecked === true });
  if (settled.kind === 'version') return { kind: 'version', settled, reasons };
  return settled.kind === 'no_gain' ? { kind: 'no_gain', reasons } : { ...settled, reasons };
}

const TRIAL_PASS = 'trial';

interface TrialPorts
  extends Pick<SummarizationPorts, 'contexts' | 'summarizers' | 'clock' | 'ids' | 'timers' | 'onEvent'> {
  readonly conversation: ConversationRef;
  readonly prepared: PreparedAgent;
  /** Summaries from earlier trials, by the keys of their ranges. Receives the new summaries. */
  readonly written?: Map<string, SummaryRecord>;
}

/** Writes missing summaries with the workers' own handler, but keeps them in memory. */
export async function summarizeInTrial(
  { conversation, prepared, contexts, written = new Map(), ...ports }: TrialPorts,
  plan: PassPlan,
): Promise<AcceptedSummaries> {
  const state = await contexts.readConversation(conversation);
  const policy = state === undefined ? prepared.policy : summaryPolicy(prepared.policy, state);
  const handle = createSummarizationHandler({
    ...ports,
    // The handler writes a summary only if its pass is open, so the state names this trial as the open pass.
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
