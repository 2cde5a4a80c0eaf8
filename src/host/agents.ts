import type { Agent } from '../domain/agent.ts';
import { isTurnfoldError, TurnfoldError } from '../domain/errors.ts';
import type { PolicyInput } from '../domain/policy.ts';
import { loadTokenCounter } from '../wire/tokens/token-counter.ts';
import {
  type AgentSurroundings,
  type FactorOf,
  type PreparedAgent,
  type PreparedAgents,
  prepareAgent,
} from '../workers/prepared-agent.ts';
import { LineIndexes } from '../workers/recall/line-indexes.ts';
import { createSummarizers } from './summarizers.ts';

export interface LoadedAgents extends PreparedAgents {
  readonly all: readonly PreparedAgent[];
}

/**
 * A policy that cannot work stops the worker at its start.
 * @throws invalid_config for tools, invalid_policy. The field begins with `agents.<name>`
 */
export async function prepareAgents(
  agents: readonly Agent[],
  basePolicy: PolicyInput,
  factorOf: FactorOf,
): Promise<LoadedAgents> {
  const prepared = new Map<string, PreparedAgent>();
  const shared = { factorOf, lineIndexes: new LineIndexes() };
  for (const agent of agents) prepared.set(agent.name, await prepareOne(agent, basePolicy, shared));
  return { all: [...prepared.values()], find: (name) => prepared.get(name) };
}

/**
 * Returns at most one problem for each agent.
 * @param hasSummarizers true: creates their summarizers, too
 */
export async function examineAgents(
  agents: readonly Agent[],
  basePolicy: PolicyInput,
  hasSummarizers: boolean,
): Promise<TurnfoldError[]> {
  const models = agents.map(({ model }) => model);
  const problems: TurnfoldError[] = [];
  for (const agent of agents) {
    try {
      const prepared = await prepareOne(agent, basePolicy);
      if (hasSummarizers) await createSummarizers([prepared], models);
    } catch (error) {
      if (!isTurnfoldError(error)) throw error;
      problems.push(error);
    }
  }
  return problems;
}

async function prepareOne(
  agent: Agent,
  basePolicy: PolicyInput,
  shared: Omit<AgentSurroundings, 'loadCounter'> = {},
): Promise<PreparedAgent> {
  try {
    return await prepareAgent(agent, basePolicy, { loadCounter: loadTokenCounter, ...shared });
  } catch (error) {
    const isPlaced = !isTurnfoldError(error) || error.field?.startsWith('agents.');
    throw isPlaced ? error : placeUnder(`agents.${agent.name}`, error);
  }
}

function placeUnder(prefix: string, cause: TurnfoldError): TurnfoldError {
  const field = cause.field === undefined ? prefix : `${prefix}.${cause.field}`;
  return new TurnfoldError(cause.code, `${prefix}: ${cause.message}`, { field, details: cause.details, cause });
}

/**
 * A shadow policy is measured but never applied. Agents and workers do not complete it, and its summaries call no
 * model.
 */
export async function prepareShadow(
  agents: readonly Agent[],
  shadow: PolicyInput,
  factorOf: FactorOf,
): Promise<PreparedAgents> {
  try {
    return await prepareAgents(underShadow(agents, shadow), {}, factorOf);
  } catch (error) {
    throw isTurnfoldError(error, 'invalid_policy') ? placeUnder('shadow', error) : error;
  }
}

export async function examineShadow(agents: readonly Agent[], shadow: PolicyInput): Promise<TurnfoldError[]> {
  const problems = await examineAgents(underShadow(agents, shadow), {}, false);
  return problems.filter(({ code }) => code === 'invalid_policy').map((problem) => placeUnder('shadow', problem));
}

function underShadow(agents: readonly Agent[], shadow: PolicyInput): Agent[] {
  const policy: PolicyInput = { ...shadow, summarizer: 'structural' };
  return agents.map((agent) => ({ ...agent, policy }));
}
