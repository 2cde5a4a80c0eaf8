import { fieldError, isTurnfoldError, type TurnfoldError } from '../domain/errors.ts';
import type { Model } from '../domain/model.ts';
import type { Policy, PolicyModel } from '../domain/policy.ts';
import type { Summarizer } from '../domain/summarizer.ts';
import type { Tracing } from '../domain/tracing.ts';
import { enforcesSchemas } from '../summarize/model/enforced-schema.ts';
import { createModelSummarizer } from '../summarize/model/model-summarizer.ts';
import { createNativeSummarizer, type NativeSummarizerOptions } from '../summarize/native-summarizer.ts';
import { createStructuralSummarizer } from '../summarize/structural/structural-summarizer.ts';
import { type BpeTokenCounter, loadTokenCounter } from '../wire/tokens/token-counter.ts';
import type { PreparedAgent } from '../workers/prepared-agent.ts';
import { type ResolveOptions, resolveModel } from './resolve-model.ts';
import { systemClock } from './system.ts';

interface NamedModel {
  readonly model: Model;
  readonly counter: BpeTokenCounter;
}

/**
 * Creates the summarizers of each policy: its models in order, then the structural one, which calls no model and never
 * fails. A policy names a model by its profile id in `models`, by the name of an agent, or as `provider/model`.
 * @throws invalid_policy, with the field, for an unknown model or a missing API key
 */
export async function createSummarizers(
  agents: readonly PreparedAgent[],
  models: readonly Model[],
  tracing?: Tracing,
): Promise<(policy: Policy, agent: string) => readonly Summarizer[]> {
  const counter = await loadTokenCounter('o200k_base');
  const structural = createStructuralSummarizer({ counter });
  const known = new Map(
    [...agents.map(({ agent }) => agent.model), ...models].map((model) => [model.profile.id, model]),
  );
  const named = new Map<string, NamedModel>();
  const native = new Map<string, Summarizer>();
  for (const prepared of agents) {
    const { agent, policy } = prepared;
    if (policy.summarizer === 'native') {
      native.set(agent.name, nativeSummarizer(prepared, structural, tracing));
    }
    if (typeof policy.summarizer === 'string') continue;
    for (const [index, given] of policy.summarizer.models.entries()) {
      const field = `agents.${agent.name}.policy.summarizer.models[${index}]`;
      const model = (typeof given === 'string' ? known.get(given) : undefined) ?? resolveNamed(given, field);
      named.set(keyOf(given), { model, counter: await loadTokenCounter(model.profile.encoding) });
    }
  }
  return ({ summarizer }, agent) => {
    if (typeof summarizer === 'string') {
      const own = summarizer === 'native' ? native.get(agent) : undefined;
      return own === undefined ? [structural] : [own, structural];
    }
    const { prompt, callTimeout: callTimeoutMs } = summarizer;
    const own = agents.find((prepared) => prepared.agent.name === agent);
    const chain = summarizer.models.flatMap((given) => {
      const found = named.get(keyOf(given));
      if (found === undefined) return [];
      const hasCachedPrefix = own !== undefined && continuesRequests(own, found.model);
      return [createModelSummarizer({ ...found, clock: systemClock, tracing, prompt, callTimeoutMs, hasCachedPrefix })];
    });
    return [...chain, structural];
  };
}

/**
 * True if a summary by this model can continue a request of the agent. A schema of the agent's answers is part of what
 * the provider caches, and would force its form on the summary. Without the schema, the start would be paid for again.
 */
function continuesRequests({ agent, answerSchema }: PreparedAgent, model: Model): boolean {
  return model === agent.model && (answerSchema === undefined || !enforcesSchemas(model));
}

/** @throws invalid_policy if the provider offers no compaction, or `scope` is `sequences` */
function nativeSummarizer(
  { agent, policy, system, tools, counter }: PreparedAgent,
  fallback: Summarizer,
  tracing: Tracing | undefined,
): Summarizer {
  const { model } = agent;
  const field = `agents.${agent.name}.policy.summarizer`;
  if (!hasCompaction(model)) {
    throw refuse(field, `native: the provider of ${model.profile.id} offers no compaction. Name a model instead`);
  }
  if (policy.scope !== 'prefix') {
    throw refuse(field, 'native: a provider can compact only the start of the context. Remove `scope`');
  }
  return createNativeSummarizer({ model, system, tools, counter, clock: systemClock, tracing, fallback });
}

function hasCompaction(model: Model): model is NativeSummarizerOptions['model'] {
  return model.compact !== undefined;
}

function keyOf(given: string | PolicyModel): string {
  return typeof given === 'string' ? given : JSON.stringify(given);
}

/** Refuses a missing API key at the start. Otherwise code would write every summary, without a warning. */
function resolveNamed(given: string | PolicyModel, field: string): Model {
  const { model: name, ...options } = typeof given === 'string' ? { model: given } : given;
  if (!name.includes('/')) {
    throw refuse(field, `${name}: unknown model. Pass it to the workers in \`summarizers\`, or name it provider/model`);
  }
  try {
    return resolveModel(name, options as ResolveOptions);
  } catch (cause) {
    if (!isTurnfoldError(cause)) throw cause;
    throw refuse(field, cause.message, cause);
  }
}

function refuse(field: string, why: string, cause?: TurnfoldError): TurnfoldError {
  return fieldError('invalid_policy', field, why, { cause });
}
