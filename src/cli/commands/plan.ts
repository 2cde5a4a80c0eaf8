import { writeFile } from 'node:fs/promises';
import { type ExplainedPlan, explainPlan } from '../../compaction/explain.ts';
import { isTurnfoldError } from '../../domain/errors.ts';
import { resolveLimits } from '../../domain/limits.ts';
import { buildLog, type LogEntry, type Message, type WeighedMessage, type Weight } from '../../domain/message.ts';
import type { BudgetDivision, PassPlan } from '../../domain/pass-plan.ts';
import type { Policy } from '../../domain/policy.ts';
import type { SeqRange } from '../../domain/version.ts';
import { compactConversation } from '../../evaluation/compact.ts';
import type { SummarizerChain } from '../../evaluation/evaluated-passes.ts';
import { createOfflineSummarizers, type EvaluatedAgent, weighConversation } from '../../evaluation/offline-agent.ts';
import { bytesOfMessage, countMessageSync } from '../../wire/tokens/message-tokens.ts';
import { eachConversation, type FileOptions } from '../conversation-file.ts';
import { checkWritable } from '../files.ts';
import { writeResult } from '../output.ts';
import { completeAlone, readPolicyFile } from '../policy-file.ts';
import { prepareTrial } from '../prepare-trial.ts';
import type { PlanLine } from '../reports/file-reports.ts';
import { type MessageSize, type PlannedConversation, reportPlans } from '../reports/file-reports.ts';
import type { CommandContext } from '../run-command.ts';

interface PlanOptions extends FileOptions {
  readonly policy?: string;
  readonly html?: string;
}

export async function planFile({ output }: CommandContext, path: string, options: PlanOptions): Promise<number> {
  const { policy: policyPath, json, html } = options;
  if (html !== undefined) await checkWritable(html);
  const source = await readPolicyFile(policyPath, output);
  const policy = completeAlone(source);
  const prepared = await prepareTrial({ ...source, policy: { ...source.policy, summarizer: 'structural' } }, {});
  const planner = { policy, prepared, summarizers: await createOfflineSummarizers() };
  const reported: PlannedConversation[] = [];
  const exitCode = await eachConversation({ path, output, options }, async ({ id, messages: given, notes }) => {
    const weighed = await weighConversation(given, prepared);
    const entries = buildLog(weighed);
    const planned = { id, ...(await planConversation(entries, weighed, planner)) };
    if (html !== undefined) reported.push({ planned, sizes: listSizes(entries) });
    writeResult(output, json, { ...planned, ...(notes.length > 0 && { notes }) }, describePlan(planned));
  });
  if (html !== undefined) await writeFile(html, reportPlans(reported, resolveLimits(policy)));
  return exitCode;
}

function listSizes(entries: readonly LogEntry[]): MessageSize[] {
  return entries.map(({ message: { role }, tokens, total }) => ({ role, tokens, total: total.tokens }));
}

interface Planner {
  readonly policy: Policy;
  readonly prepared: EvaluatedAgent;
  readonly summarizers: SummarizerChain;
}

/**
 * Plans by the thresholds. If only a manual compaction fits, because it may shorten protected messages, plans that one.
 * If not even a manual compaction fits, the plan is `infeasible`.
 */
async function planConversation(
  entries: readonly LogEntry[],
  weighed: readonly WeighedMessage[],
  { policy, prepared, summarizers }: Planner,
): Promise<Omit<PlanLine, 'id'>> {
  const weigh = (message: Message): Weight => ({
    tokens: countMessageSync(prepared.counter, message),
    bytes: bytesOfMessage(message),
  });
  const byThresholds = explainPlan(entries, policy, weigh);
  if (byThresholds.plan.kind === 'none') return describe(byThresholds, entries);
  try {
    await compactConversation(weighed, prepared, summarizers);
  } catch (error) {
    if (!isTurnfoldError(error, 'budget_infeasible') && !isTurnfoldError(error, 'invalid_context')) throw error;
    const nothing = { kind: 'infeasible', sequences: [], evict: [], prefixTokens: 0 } as const;
    return { ...describe(byThresholds, entries), ...nothing, why: error.message };
  }
  if (byThresholds.plan.kind !== 'infeasible') return describe(byThresholds, entries);
  return describe(explainPlan(entries, policy, weigh, 'manual'), entries);
}

function describe(
  { plan, messages, turns, protectedPositions }: ExplainedPlan,
  entries: readonly LogEntry[],
): Omit<PlanLine, 'id'> {
  return {
    kind: plan.kind,
    reasons: plan.reasons,
    tokens: plan.tokens,
    messages,
    turns,
    sequences: plan.sequences.map(indexRange),
    evict: plan.evict.map(indexRange),
    division: plan.division ?? null,
    protected: protectedPositions,
    prefixTokens: entries[firstChange(plan, entries.length) - 1]?.total.tokens ?? 0,
  };
}

function firstChange({ sequences, evict, shorten = [] }: PassPlan, messages: number): number {
  return Math.min(messages, ...[...sequences, ...evict, ...shorten].map(({ from }) => from - 1));
}

/** Converts seqs to indexes. The first message of a file has seq 1 and index 0. */
function indexRange({ from, to }: SeqRange): SeqRange {
  return { from: from - 1, to: to - 1 };
}

const KIND_WIDTH = 'infeasible'.length;

function describePlan(plan: PlanLine): string {
  const ranges = (plan.kind === 'summarize' ? plan.sequences : plan.evict).map(({ from, to }) => `${from}-${to}`);
  const size = `${plan.tokens} tokens, ${plan.messages} messages, turns: ${plan.turns}`;
  const why = plan.reasons.length === 0 ? 'no reason' : plan.reasons.join(', ');
  const what = ranges.length === 0 ? '' : `  messages ${ranges.join(', ')}`;
  const figures = `${describeDivision(plan.division)}${describePrefix(plan)}`;
  const refusal = plan.why === undefined ? '' : `\n${' '.repeat(KIND_WIDTH)}  ${plan.why}`;
  return `${plan.kind.padEnd(KIND_WIDTH)}  ${plan.id}  (${why}; ${size})${what}${figures}${refusal}`;
}

function describePrefix({ kind, prefixTokens, tokens }: PlanLine): string {
  if (kind === 'none' || kind === 'infeasible') return '';
  return `  unchanged at the start: ${prefixTokens} of ${tokens} tokens`;
}

function describeDivision(division: BudgetDivision | null): string {
  if (division === null) return '';
  const { budget, fixed, users, summaries, tail } = division;
  return `  tokens ${budget}: fixed ${fixed}, users ${users}, summaries ${summaries}, tail ${tail}`;
}
