import { access } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import type { Agent } from '../domain/agent.ts';
import { TurnfoldError } from '../domain/errors.ts';
import { nameIssues } from '../domain/parse.ts';

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
  const { agents, problems } = await examineModule(path);
  if (problems[0] !== undefined) throw problems[0];
  return agents;
}

export interface ExaminedModule {
  /** empty where there are problems */
  readonly agents: readonly Agent[];
  /** invalid_config, each with its field */
  readonly problems: readonly TurnfoldError[];
}

/** Loads a module, and tells of all that is wrong with its `agents`. @throws invalid_config where it cannot be loaded */
export async function examineModule(path: string): Promise<ExaminedModule> {
  const { agents } = await loadModule(path);
  const { success, error } = agentsSchema.safeParse(agents);
  if (success) return { agents: agents as readonly Agent[], problems: [] };
  return { agents: [], problems: nameIssues(error, 'agents', 'invalid_config') };
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
