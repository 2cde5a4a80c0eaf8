import { access } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Agent } from '../domain/agent.ts';
import { TurnfoldError } from '../domain/errors.ts';
import { type ReadAgents, readAgents } from '../runtime/agent-schema.ts';
import { renameField } from './name-typed.ts';
import type { Output } from './output.ts';

/** Loads a module's `agents`, and tells the warnings of their policies. @throws invalid_config, invalid_policy; with the field */
export async function loadAgents(path: string, output: Pick<Output, 'note'>): Promise<readonly Agent[]> {
  const { agents, warnings, problems } = await examineModule(path);
  if (problems[0] !== undefined) throw problems[0];
  for (const warning of warnings) output.note(`turnfold: warning: ${warning}`);
  return agents;
}

/** Loads a module, and tells of all that is wrong with its `agents`. @throws invalid_config where it cannot be loaded */
export async function examineModule(path: string): Promise<ReadAgents> {
  const { agents } = await loadModule(path);
  const { problems, ...read } = readAgents(agents);
  // What is no list is the whole of what the module was given for.
  const named = problems.map((problem) => (problem.field === 'agents' ? renameField(problem, '--agents') : problem));
  return { ...read, problems: named };
}

async function loadModule(path: string): Promise<{ readonly agents?: unknown }> {
  const file = resolve(path);
  try {
    await access(file);
    return (await import(pathToFileURL(file).href)) as { readonly agents?: unknown };
  } catch (cause) {
    const why = explainFailure(cause);
    throw new TurnfoldError('invalid_config', `--agents: ${path} cannot be loaded: ${why}`, {
      field: '--agents',
      cause,
    });
  }
}

/** What Node says of a module in a package of CommonJS, which `npm init` makes unasked. */
const NO_MODULE = /^(Cannot use import statement outside a module|Unexpected token 'export')/;

function explainFailure(cause: unknown): string {
  const why = cause instanceof Error ? cause.message : String(cause);
  return cause instanceof SyntaxError && NO_MODULE.test(why) ? `${why}: say "type": "module" in its package.json` : why;
}
