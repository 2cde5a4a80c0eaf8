import type { BudgetDivision } from '../../domain/compaction/division.ts';
import { explainPlan } from '../../domain/compaction/explain.ts';
import type { PassPlan } from '../../domain/compaction/plan.ts';
import { buildLog, type LogEntry, type Message, type WeighedMessage, type Weight } from '../../domain/message.ts';
import type { Policy } from '../../domain/policy.ts';
import type { TokenCounter } from '../../domain/ports/token-counter.ts';
import type { SeqRange } from '../../domain/version.ts';
import { weighConversation } from '../../evaluation/offline-agent.ts';
import { bytesOfMessage, countMessage, countMessageSync } from '../../tokens/message-tokens.ts';
import { loadTokenCounter } from '../../tokens/token-counter.ts';
import { eachConversation } from '../conversation-file.ts';
import { writeResult } from '../output.ts';
import { completeAlone, readPolicyFile } from '../policy-file.ts';
import type { CommandContext } from '../run-command.ts';

export interface PlanOptions {
  readonly policy?: string;
  readonly json?: boolean;
}

/**
 * JSON output of `turnfold plan` for one conversation. Message indexes begin at 0, and both ends of a range are
 * included.
 */
interface PlanLine {
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
}

/** Shows what a compaction would do with each conversation of a file. Calls no model. */
export async function planFile(
  { output }: CommandContext,
  path: string,
  { policy: policyPath, json }: PlanOptions,
): Promise<number> {
  const policy = completeAlone(await readPolicyFile(policyPath, output));
  const counter = await loadTokenCounter('o200k_base');
  const weigh = async (message: Message): Promise<WeighedMessage> => ({
    message,
    tokens: await countMessage(counter, message),
    bytes: bytesOfMessage(message),
  });
  return await eachConversation({ path, output, json }, async ({ id, readMessages }) => {
    const entries = buildLog(await weighConversation(readMessages(), { weigh }));
    const planned = planConversation(id, entries, { policy, counter });
    writeResult(output, json, planned, describePlan(planned));
  });
}

function planConversation(
  id: string,
  entries: readonly LogEntry[],
  { policy, counter }: { readonly policy: Policy; readonly counter: TokenCounter },
): PlanLine {
  const weigh = (message: Message): Weight => ({
    tokens: countMessageSync(counter, message),
    bytes: bytesOfMessage(message),
  });
  const { plan, messages, turns, protectedPositions } = explainPlan(entries, policy, weigh);
  return {
    id,
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

/** Counts the messages before the first one that the plan changes. */
function firstChange({ sequences, evict, shorten = [] }: PassPlan, messages: number): number {
  return Math.min(messages, ...[...sequences, ...evict, ...shorten].map(({ from }) => from - 1));
}

/** Converts log positions (seqs) to message indexes: the first message of a file has seq 1 and index 0. */
function indexRange({ from, to }: SeqRange): SeqRange {
  return { from: from - 1, to: to - 1 };
}

const KIND_WIDTH = 'infeasible'.length;

function describePlan(plan: PlanLine): string {
  const ranges = (plan.kind === 'summarize' ? plan.sequences : plan.evict).map(({ from, to }) => `${from}-${to}`);
  const size = `${plan.tokens} tokens, ${plan.messages} messages, turns: ${plan.turns}`;
  const why = plan.reasons.length === 0 ? 'no reason' : plan.reasons.join(', ');
  const what = ranges.length === 0 ? '' : `  messages ${ranges.join(', ')}`;
  return `${plan.kind.padEnd(KIND_WIDTH)}  ${plan.id}  (${why}; ${size})${what}${describeDivision(plan.division)}${describePrefix(plan)}`;
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
