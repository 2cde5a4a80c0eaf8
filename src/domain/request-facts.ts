import type { z } from 'zod';

import type { FixedWeight, Limits, ModelWindow } from './limits.ts';
import { POLICY_DEFAULTS, type Policy, type PolicyInput, policyInputSchema } from './policy.ts';

/** Facts about a request, in tokens. Only workers know the agent, so they record these facts with each model call. */
export interface RequestFacts extends FixedWeight {
  /** Context window of the model. */
  readonly windowTokens: number;
  /** Tokens reserved for the answer. */
  readonly reservedTokens: number;
  /** Factor that turns turnfold's token count into an upper bound. */
  readonly upperBoundFactor: number;
  /** Tokens to which compaction reduces the context. */
  readonly maxTokens?: number;
  /** Size at which compaction is requested, if the policy sets a number of tokens. */
  readonly tokenThreshold?: number;
  /** Size at which compaction is requested, as a share of the window. */
  readonly ratioTokens?: number;
  /** Size at which a turn waits for compaction. */
  readonly hardTokens?: number;
  /** Settings that differ from their defaults. */
  readonly policy?: PlanningPolicy;
}

/** Policy of a plan, without the texts of pins, because a plan needs only their sizes. */
export const planningPolicySchema = policyInputSchema.omit({
  pins: true,
  summarizer: true,
  mode: true,
  reviewTtl: true,
  cacheTtl: true,
  enabled: true,
  conversationTtl: true,
});

export type PlanningPolicy = z.infer<typeof planningPolicySchema>;

function planningSettings(policy: Policy): PlanningPolicy | undefined {
  const defaults: PolicyInput = POLICY_DEFAULTS;
  const own = Object.entries(policy).filter(([name, value]) => {
    return (
      name in planningPolicySchema.shape &&
      JSON.stringify(value) !== JSON.stringify(defaults[name as keyof PolicyInput])
    );
  });
  return own.length === 0 ? undefined : Object.fromEntries(own);
}

export function readFacts(
  { windowTokens }: ModelWindow,
  { policy, limits }: { readonly policy: Policy; readonly limits: Limits },
  fixed: FixedWeight,
): RequestFacts {
  const settings = planningSettings(policy);
  const { usable = windowTokens, upperBoundFactor, maxTokens, tokenThreshold, ratioTokens, hardTokens } = limits;
  return {
    ...fixed,
    windowTokens,
    reservedTokens: windowTokens - usable,
    upperBoundFactor,
    ...wholeTokens({ maxTokens, tokenThreshold, ratioTokens, hardTokens }),
    ...(settings && { policy: settings }),
  };
}

/** A size is a whole number, so it reaches a threshold of 0.85 × 1,001 tokens at 851. */
function wholeTokens<Name extends string>(sizes: Readonly<Record<Name, number | undefined>>): { [K in Name]?: number } {
  const known = Object.entries<number | undefined>(sizes).flatMap(([name, size = -1]) =>
    size < 0 ? [] : [[name, Math.ceil(size)] as const],
  );
  return Object.fromEntries(known) as { [K in Name]?: number };
}

/** A reader with these limits plans a compaction as a worker would. */
export function limitsOf({ windowTokens, reservedTokens, upperBoundFactor }: RequestFacts): ModelWindow {
  return { windowTokens, outputCapTokens: reservedTokens, upperBoundFactor };
}

export interface NamedThreshold {
  readonly name: ThresholdName;
  readonly tokens: number;
}

export function listThresholds(facts: RequestFacts): NamedThreshold[] {
  const { maxTokens, tokenThreshold, ratioTokens, hardTokens } = facts;
  const named = { maxTokens, tokenThreshold, thresholdRatio: ratioTokens, hardRatio: hardTokens };
  return (Object.entries(named) as [ThresholdName, number | undefined][])
    .flatMap(([name, tokens]) => (tokens === undefined ? [] : [{ name, tokens }]))
    .toSorted((a, b) => a.tokens - b.tokens);
}

export const THRESHOLDS = ['maxTokens', 'tokenThreshold', 'thresholdRatio', 'hardRatio'] as const;

export type ThresholdName = (typeof THRESHOLDS)[number];
