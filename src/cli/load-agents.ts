import { access } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import type { Agent } from '../domain/agent.ts';
import { TurnfoldError } from '../domain/errors.ts';
import { parseInput } from '../domain/parse.ts';

const callable = z.custom<unknown>((value) => typeof value === 'function', 'expected a function');

/** As far as a module without types can be wrong in a way that would show up only later. */
const agentsSchema = z
  .array(
    z.looseObject({
      name: z.string(),
      system: z.string(),
      model: z.looseObject({ profile: z.looseObject({ windowTokens: z.number() }), generate: callable }),
      tools: z.array(z.looseObject({ name: z.string(), description: z.string(), run: callable.optional() })),
      policy: z.looseObject({}),
    }),
    { error: 'the module has to export a list of agents' },
  )
  .min(1, 'expected at least one agent');

/** Loads a module's `agents`. @throws invalid_config, with the field */
export async function loadAgents(path: string): Promise<readonly Agent[]> {
  const { agents } = await loadModule(path);
  parseInput(agentsSchema, agents, 'agents', 'invalid_config');
  return agents as readonly Agent[];
}

async function loadModule(path: string): Promise<{ readonly agents?: unknown }> {
  const file = resolve(path);
  try {
    await access(file);
    return (await import(pathToFileURL(file).href)) as { readonly agents?: unknown };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TurnfoldError('invalid_config', `--agents: ${path} cannot be loaded: ${why}`, {
      field: '--agents',
      cause,
    });
  }
}
