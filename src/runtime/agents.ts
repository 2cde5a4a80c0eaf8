import type { Agent } from '../domain/agent.ts';
import { isTurnfoldError, TurnfoldError } from '../domain/errors.ts';
import type { PolicyInput } from '../domain/policy.ts';
import { loadTokenCounter } from '../tokens/token-counter.ts';
import { type PreparedAgent, type PreparedAgents, prepareAgent } from '../workers/prepared-agent.ts';
import { createSummarizers } from './summarizers.ts';

/** All agents of a process, by name and in order. */
export interface LoadedAgents extends PreparedAgents {
  readonly all: readonly PreparedAgent[];
}

/**
 * Prepares every agent before the first turn, so that an impossible policy is refused at the start.
 * @param agents as returned by `readAgents`
 * @param factorOf current calibration of a model
 * @throws invalid_config, invalid_policy, with the agent and the field from `agents` on
 */
export async function prepareAgents(
  agents: readonly Agent[],
  basePolicy: PolicyInput,
  factorOf: (model: string) => number,
): Promise<LoadedAgents> {
  const prepared = new Map<string, PreparedAgent>();
  for (const agent of agents) prepared.set(agent.name, await prepareOne(agent, basePolicy, factorOf));
  return { all: [...prepared.values()], find: (name) => prepared.get(name) };
}

/**
 * Prepares every agent and collects the problems, at most one an agent.
 * @param hasSummarizers also creates the summarizers of their policies, as a summarization worker does
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
  factorOf: (model: string) => number = () => 1,
): Promise<PreparedAgent> {
  try {
    return await prepareAgent(agent, basePolicy, { loadCounter: loadTokenCounter, factorOf });
  } catch (error) {
    throw isTurnfoldError(error) ? ofAgent(agent.name, error) : error;
  }
}

/** Adds the agent's name to the field of a policy error. */
function ofAgent(name: string, error: TurnfoldError): TurnfoldError {
  const { code, message, field = '', details } = error;
  if (field.startsWith('agents.')) return error;
  const context = { field: `agents.${name}.${field}`, cause: error, ...(details !== undefined && { details }) };
  return new TurnfoldError(code, `agents.${name}: ${message}`, context);
}
