import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** What Node made of the modules: without it a command works for 0.55 s before it says anything, with it for 0.3. */
const COMPILED = join(ROOT, 'node_modules/.cache/turnfold-commands');

export interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  /** what is typed; without it standard input is at its end */
  readonly input?: string;
  /** over an environment without any setting of ours */
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs the command line as a process, as a shell does. */
export async function runTurnfold(args: readonly string[], { input = '', env = {} }: RunOptions = {}): Promise<Run> {
  const child = startTurnfold(args, env);
  child.stdin?.end(input);
  return await endOf(child);
}

export function startTurnfold(args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
  const child = spawn(process.execPath, [join(ROOT, 'src/cli/main.ts'), ...args], {
    cwd: ROOT,
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      NODE_COMPILE_CACHE: COMPILED,
      TURNFOLD_METRICS_PORT: '0',
      ...env,
    },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

/** What the process said, and its exit code. */
export async function endOf(child: ChildProcess): Promise<Run> {
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new Error('its output is not piped');
  const [out, err] = await Promise.all([text(stdout), text(stderr), once(child, 'close')]);
  return { code: child.exitCode, stdout: out, stderr: err };
}

/** Lines of JSON. */
export function readJsonLines(stdout: string): Record<string, unknown>[] {
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** A file of the test's own. @returns its path */
export async function writeTemporary(name: string, content: string | readonly unknown[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'turnfold-cli-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, name);
  await writeFile(path, typeof content === 'string' ? content : content.map((line) => JSON.stringify(line)).join('\n'));
  return path;
}

/** A recorded conversation file that may lie beside the checkout. */
export function tracePath(name: string): string {
  return join(ROOT, '../shared/traces', `${name}.jsonl`);
}
