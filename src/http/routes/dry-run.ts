import { z } from 'zod';
import type { ContextView } from '../../client/index.ts';
import { explainPlanInSlices } from '../../domain/compaction/explain.ts';
import { checkLimits, resolveLimits } from '../../domain/limits.ts';
import { buildLog, type Message, type Weight } from '../../domain/message.ts';
import { completePolicy, type PolicyInput } from '../../domain/policy.ts';
import { readPolicy } from '../../domain/policy-input.ts';
import type { SeqRange } from '../../domain/version.ts';
import { eventLoopShare } from '../../tokens/event-loop-share.ts';
import { bytesOfMessage, countMessageSync } from '../../tokens/message-tokens.ts';
import { loadTokenCounter } from '../../tokens/token-counter.ts';

export const trialPolicySchema = z
  .record(z.string(), z.unknown())
  .describe('Policy of a dry run, as in docs/reference/policy.md. Only workers know the policies of agents.');

/** Plan of a compaction that is not run. Ranges are positions (seqs) of the log. */
export interface DryPlan {
  readonly kind: string;
  readonly reasons: readonly string[];
  readonly tokens: number;
  readonly messages: number;
  readonly summarize: readonly SeqRange[];
  readonly evict: readonly SeqRange[];
}

/**
 * Plans a compaction of a context under a policy. Calls no model and writes nothing.
 * @throws invalid_policy for a policy that cannot work
 */
export async function planCompaction(context: ContextView, given: object): Promise<DryPlan> {
  const policy = completeAlone(readPolicy(given).policy);
  const counter = await loadTokenCounter('o200k_base');
  const weigh = (message: Message): Weight => ({
    tokens: countMessageSync(counter, message),
    bytes: bytesOfMessage(message),
  });
  const { items } = context;
  const entries = buildLog(items.map(({ message, tokens }) => ({ message, tokens, bytes: bytesOfMessage(message) })));
  const { plan } = await eventLoopShare.run(explainPlanInSlices(entries, policy, weigh));
  // The plan numbers the items of the context from 1. A summary stands for several entries of the log.
  const toSeqs = ({ from, to }: SeqRange): SeqRange => ({
    from: items[from - 1]?.from ?? from,
    to: items[to - 1]?.to ?? to,
  });
  return {
    kind: plan.kind,
    reasons: plan.reasons,
    tokens: plan.tokens,
    messages: items.length,
    summarize: plan.sequences.map(toSeqs),
    evict: plan.evict.map(toSeqs),
  };
}

function completeAlone(input: PolicyInput) {
  const policy = completePolicy(input);
  checkLimits(policy, resolveLimits(policy), { systemTokens: 0, toolTokens: 0, pinTokens: 0 });
  return policy;
}
