import type { Agent } from '../domain/agent.ts';
import { isTurnfoldError, TurnfoldError } from '../domain/errors.ts';
import type { PolicyInput } from '../domain/policy.ts';
import { loadTokenCounter } from '../tokens/token-counter.ts';
import { type PreparedAgent, type PreparedAgents, prepareAgent } from '../workers/prepared-agent.ts';
import { createSummarizers } from './summarizers.ts';

/** All agents of a process; also in order, for what is made of each at the start. */
export interface LoadedAgents extends PreparedAgents {
  readonly all: readonly PreparedAgent[];
}

/**
 * Prepares every agent before the first turn is taken, so that a policy that cannot work is refused at the start.
 * @param agents as `readAgents` gives them
 * @param factorOf a model's calibration as it is known now
 * @throws invalid_config, invalid_policy; with the agent, and the field from `agents` on
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
 * Prepares every agent, too, and tells of all that cannot work, one error an agent.
 * @param hasSummarizers whether those of their policies are made, as where summaries are written
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

/** A policy's error names its field, and of several agents one wants to know which. */
function ofAgent(name: string, error: TurnfoldError): TurnfoldError {
  const { code, message, field = '', details } = error;
  if (field.startsWith('agents.')) return error;
  const context = { field: `agents.${name}.${field}`, cause: error, ...(details !== undefined && { details }) };
  return new TurnfoldError(code, `agents.${name}: ${message}`, context);
}
