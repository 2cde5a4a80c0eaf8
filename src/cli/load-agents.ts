import { access } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Agent } from '../domain/agent.ts';
import { TurnfoldError } from '../domain/errors.ts';
import { describeThrown, readSafely } from '../domain/thrown.ts';
import { type ReadAgents, readAgents } from '../runtime/agent-schema.ts';
import { type Output, processOutput } from './output.ts';
import { rememberLoaded } from './process-exit.ts';
import { renameField } from './typed-errors.ts';

/** A module may fetch its settings. One that takes longer than this waits for something that does not come. */
const LOAD_MS = 30_000;

/** Loads a module's `agents`, and tells the warnings of their policies. @throws invalid_config, invalid_policy; with the field */
export async function loadAgents(path: string, output: Pick<Output, 'note'>): Promise<readonly Agent[]> {
  const { agents, warnings, problems } = await examineModule(path);
  if (problems[0] !== undefined) throw problems[0];
  for (const warning of warnings) output.note(`turnfold: warning: ${warning}`);
  return agents;
}

/**
 * Loads a module and returns every problem of its `agents`.
 * @param loadMs how long it may take
 * @throws invalid_config where it cannot be loaded
 */
export async function examineModule(path: string, loadMs = LOAD_MS): Promise<ReadAgents> {
  const agents = await loadModule(path, loadMs);
  const { problems, ...read } = readAgents(agents);
  // What is no list is the whole of what the module was given for.
  const named = problems.map((problem) => (problem.field === 'agents' ? renameField(problem, '--agents') : problem));
  return { ...read, problems: named };
}

/** @returns what the module exports as `agents` */
async function loadModule(path: string, loadMs: number): Promise<unknown> {
  const file = resolve(path);
  let isUsable = false;
  try {
    await access(file);
    const module: unknown = await untilSettled(path, import(pathToFileURL(file).href), loadMs);
    isUsable = true;
    return readSafely(module, 'agents');
  } catch (cause) {
    const why = explainFailure(cause);
    throw new TurnfoldError('invalid_config', `--agents: ${path} cannot be loaded: ${why}`, {
      field: '--agents',
      cause,
    });
  } finally {
    rememberLoaded(path, isUsable);
  }
}

/**
 * Waits for a module. One that never settles is given up: at once where nothing is left that could settle it, else when its
 * time is over. One that ends the process says so, and does not end it as a success.
 */
async function untilSettled<T>(path: string, loading: Promise<T>, loadMs: number): Promise<T> {
  const { promise: givenUp, reject } = Promise.withResolvers<never>();
  const giveUp = (): void => reject(new Error('its top-level await never settles'));
  const tellExit = (): void => {
    process.exitCode ||= 1;
    processOutput.note(`turnfold: invalid_config: --agents: ${path} ended the process while it was loaded`);
  };
  const timeout = setTimeout(() => {
    reject(new Error(`its top-level await has not settled within ${loadMs / 1_000} s`));
  }, loadMs);
  // Otherwise this timer is what keeps the event loop alive.
  timeout.unref();
  process.once('beforeExit', giveUp).once('exit', tellExit);
  try {
    return await Promise.race([loading, givenUp]);
  } finally {
    clearTimeout(timeout);
    process.off('beforeExit', giveUp).off('exit', tellExit);
  }
}

/** What Node says of a module in a package of CommonJS, which `npm init` makes unasked. */
const NO_MODULE = /^(Cannot use import statement outside a module|Unexpected token 'export')/;

function explainFailure(cause: unknown): string {
  const { name, message } = describeThrown(cause);
  return name === 'SyntaxError' && NO_MODULE.test(message)
    ? `${message}: say "type": "module" in its package.json`
    : message;
}
