import type { Agent } from '../domain/agent.ts';
import { isTurnfoldError, TurnfoldError } from '../domain/errors.ts';
import { idSchema } from '../domain/ids.ts';
import type { PolicyInput } from '../domain/policy.ts';
import { loadTokenCounter } from '../tokens/token-counter.ts';
import { type PreparedAgent, type PreparedAgents, prepareAgent } from '../workers/prepared-agent.ts';

/** All agents of a process; also in order, for what is made of each at the start. */
export interface LoadedAgents extends PreparedAgents {
  readonly all: readonly PreparedAgent[];
}

/**
 * Prepares every agent before the first turn is taken, so that a policy that cannot work is refused at the start.
 * @param factorOf a model's calibration as it is known now
 * @throws invalid_config, invalid_policy
 */
export async function prepareAgents(
  agents: readonly Agent[],
  basePolicy: PolicyInput,
  factorOf: (model: string) => number,
): Promise<LoadedAgents> {
  const prepared = new Map<string, PreparedAgent>();
  for (const agent of agents) {
    checkAgent(agent, new Set(prepared.keys()));
    prepared.set(agent.name, await prepareAgent(agent, basePolicy, { loadCounter: loadTokenCounter, factorOf }));
  }
  return { all: [...prepared.values()], find: (name) => prepared.get(name) };
}

/** Prepares every agent, too, and tells of all that cannot work, one error an agent. */
export async function examineAgents(agents: readonly Agent[], basePolicy: PolicyInput): Promise<TurnfoldError[]> {
  const names = new Set<string>();
  const problems: TurnfoldError[] = [];
  for (const agent of agents) {
    try {
      checkAgent(agent, names);
      await prepareAgent(agent, basePolicy, { loadCounter: loadTokenCounter });
    } catch (error) {
      if (!isTurnfoldError(error)) throw error;
      problems.push(ofAgent(agent.name, error));
    }
    names.add(agent.name);
  }
  return problems;
}

/** A policy's error names its field, and of several agents one wants to know which. */
function ofAgent(name: string, error: TurnfoldError): TurnfoldError {
  const { code, message, field = '', details } = error;
  if (field.startsWith('agents.')) return error;
  const context = { field: `agents.${name}.${field}`, cause: error, ...(details !== undefined && { details }) };
  return new TurnfoldError(code, `agents.${name}: ${message}`, context);
}

/** @throws invalid_config */
function checkAgent(agent: Agent, taken: ReadonlySet<string>): void {
  const field = `agents.${agent.name}`;
  if (!idSchema.safeParse(agent.name).success) {
    throw new TurnfoldError('invalid_config', `${field}: an agent's name must match [A-Za-z0-9_.-]{1,128}`, { field });
  }
  checkTimeout(agent);
  if (taken.has(agent.name)) {
    throw new TurnfoldError('invalid_config', `${field}: two agents have this name`, { field });
  }
}

/** A longer one is none: timers of the process end there, 24.8 days, and fire at once beyond. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

function checkTimeout({ name, turnTimeoutMs = LONGEST_TIMEOUT_MS }: Agent): void {
  if (turnTimeoutMs > 0 && turnTimeoutMs <= LONGEST_TIMEOUT_MS) return;
  const field = `agents.${name}.turnTimeoutMs`;
  throw new TurnfoldError('invalid_config', `${field}: expected ms, more than 0 and at most ${LONGEST_TIMEOUT_MS}`, {
    field,
  });
}
