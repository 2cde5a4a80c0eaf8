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
    const isPlaced = !isTurnfoldError(error) || error.field?.startsWith('agents.');
    throw isPlaced ? error : placeUnder(`agents.${agent.name}`, error);
  }
}

/** Puts a prefix before the message and the field of an error. */
function placeUnder(prefix: string, cause: TurnfoldError): TurnfoldError {
  const field = cause.field === undefined ? prefix : `${prefix}.${cause.field}`;
  const details = cause.details === undefined ? {} : { details: cause.details };
  return new TurnfoldError(cause.code, `${prefix}: ${cause.message}`, { field, ...details, cause });
}

/**
 * Prepares the agents under a shadow policy, which is not merged with their own or the workers' policy. Its summaries are
 * structural, so measuring the shadow policy costs nothing.
 * @throws invalid_policy if the policy cannot work with an agent's model. The field begins with `shadow`
 */
export async function prepareShadow(
  agents: readonly Agent[],
  shadow: PolicyInput,
  factorOf: (model: string) => number,
): Promise<PreparedAgents> {
  try {
    return await prepareAgents(underShadow(agents, shadow), {}, factorOf);
  } catch (error) {
    throw isTurnfoldError(error, 'invalid_policy') ? placeUnder('shadow', error) : error;
  }
}

/** Checks the shadow policy with every agent. @returns one error per agent that the policy cannot work with */
export async function examineShadow(agents: readonly Agent[], shadow: PolicyInput): Promise<TurnfoldError[]> {
  const problems = await examineAgents(underShadow(agents, shadow), {}, false);
  return problems.filter(({ code }) => code === 'invalid_policy').map((problem) => placeUnder('shadow', problem));
}

function underShadow(agents: readonly Agent[], shadow: PolicyInput): Agent[] {
  const policy: PolicyInput = { ...shadow, summarizer: 'structural' };
  return agents.map((agent) => ({ ...agent, policy }));
}
