import { access } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Agent } from '../domain/agent.ts';
import { fieldError, type TurnfoldError } from '../domain/errors.ts';
import { describeThrown, readSafely } from '../domain/thrown.ts';
import { type ReadAgents, readAgents } from '../host/agent-schema.ts';
import { type Output, processOutput } from './output.ts';
import { recordAgentsModule } from './process-exit.ts';
import { renameField } from './typed-errors.ts';

/** ms for loading an agents module, which may fetch its settings over the network. */
const LOAD_MS = 30_000;

/** @throws invalid_config for a module or agent that cannot be used, invalid_policy for a wrong policy */
export async function loadAgents(path: string, output: Pick<Output, 'note'>): Promise<readonly Agent[]> {
  const { agents, warnings, problems } = await examineModule(path);
  if (problems[0] !== undefined) throw problems[0];
  for (const warning of warnings) output.note(`turnfold: warning: ${warning}`);
  return agents;
}

/** Returns all problems of the agents. @throws invalid_config if the module cannot be loaded */
export async function examineModule(path: string, loadMs = LOAD_MS): Promise<ReadAgents> {
  const module = await loadModule(path, loadMs);
  const agents = readSafely(module, 'agents');
  if (agents === undefined) return { agents: [], warnings: [], problems: [missingExport(path, module)] };
  const { problems, ...read } = readAgents(agents);
  // The field `agents` means the whole export, which a person names by the option.
  const named = problems.map((problem) => (problem.field === 'agents' ? renameField(problem, '--agents') : problem));
  return { ...read, problems: named };
}

function missingExport(path: string, module: object): TurnfoldError {
  const exported = Object.keys(module).join(', ') || 'nothing';
  const why = `${path} exports ${exported}, but not \`agents\`. Write: export const agents = [defineAgent({…})]`;
  return fieldError('invalid_config', '--agents', why);
}

async function loadModule(path: string, loadMs: number): Promise<object> {
  const file = resolve(path);
  let isUsable = false;
  try {
    await access(file);
    const module = await untilSettled(path, import(pathToFileURL(file).href) as Promise<object>, loadMs);
    isUsable = true;
    return module;
  } catch (cause) {
    const why = `${path} cannot be loaded: ${explainLoadError(cause)}`;
    throw fieldError('invalid_config', '--agents', why, { cause });
  } finally {
    recordAgentsModule(path, isUsable);
  }
}

/** Waits up to `loadMs`, or until the event loop is empty. Reports a module that ends the process. */
async function untilSettled<T>(path: string, loading: Promise<T>, loadMs: number): Promise<T> {
  const { promise: abandoned, reject } = Promise.withResolvers<never>();
  const abandon = (): void => reject(new Error('a top-level await in the module never settles'));
  const reportExit = (): void => {
    process.exitCode ||= 1;
    processOutput.note(`turnfold: invalid_config: --agents: ${path} ended the process while it was loaded`);
  };
  const timeout = setTimeout(() => {
    reject(new Error(`a top-level await in the module has not settled within ${loadMs / 1_000} s`));
  }, loadMs);
  // A referenced timer would keep the event loop alive, and hide a top-level await that never settles.
  timeout.unref();
  process.once('beforeExit', abandon).once('exit', reportExit);
  try {
    return await Promise.race([loading, abandoned]);
  } finally {
    clearTimeout(timeout);
    process.off('beforeExit', abandon).off('exit', reportExit);
  }
}

/** Node's errors for an ES module in a CommonJS package, as `npm init` creates. These errors have no code. */
const COMMONJS_ERROR = /^(Cannot use import statement outside a module|Unexpected token 'export')/;

function explainLoadError(cause: unknown): string {
  const { name, message } = describeThrown(cause);
  return name === 'SyntaxError' && COMMONJS_ERROR.test(message)
    ? `${message}. Add "type": "module" to the package.json of the module`
    : message;
}
