import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Agent } from '../domain/agent.ts';
import { TurnfoldError } from '../domain/errors.ts';

/** Loads a module's `agents`. @throws invalid_config */
export async function loadAgents(path: string): Promise<readonly Agent[]> {
  let module: Record<string, unknown>;
  try {
    module = (await import(pathToFileURL(resolve(path)).href)) as Record<string, unknown>;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TurnfoldError('invalid_config', `--agents: ${path} cannot be loaded: ${why}`, {
      field: '--agents',
      cause,
    });
  }
  const { agents } = module;
  if (!Array.isArray(agents) || !agents.every(isAgent)) {
    throw new TurnfoldError(
      'invalid_config',
      `--agents: ${path} exports no list \`agents\` with name, system, model and tools`,
      { field: '--agents' },
    );
  }
  return agents;
}

function isAgent(value: unknown): value is Agent {
  if (typeof value !== 'object' || value === null) return false;
  const { name, system, model, tools, policy } = value as Record<string, unknown>;
  return (
    typeof name === 'string' &&
    typeof system === 'string' &&
    typeof model === 'object' &&
    Array.isArray(tools) &&
    typeof policy === 'object'
  );
}
