import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { onTestFinished } from 'vitest';
import { runCommandLine } from '../../src/cli/command-line.ts';
import type { Output } from '../../src/cli/output.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The variables that a command inherits. Settings of the outer shell are left out. */
const OUTER = {
  PATH: process.env['PATH'],
  HOME: process.env['HOME'],
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
};
const OWN_SETTINGS = { TURNFOLD_METRICS_PORT: '0' };

export interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  /** Standard input. */
  readonly input?: string;
  /** Settings of the command. Settings of the outer shell are left out. */
  readonly env?: Readonly<Record<string, string>>;
  /** `stderr` has the note that the command waits for Redis, which a busy machine may cause (default false). */
  readonly keepsWaitNote?: boolean;
}

const WAIT_NOTE = /^the Redis at \S+ does not answer, retrying for up to [\d.]+ s\n/m;

/**
 * Runs the command line in this process, which saves a second of CPU a command. A command that runs until a signal or the
 * end of its input, such as `dev`, needs a process of its own: `spawnTurnfold`.
 */
export async function runTurnfold(
  args: readonly string[],
  { input, env = {}, keepsWaitNote = false }: RunOptions = {},
): Promise<Run> {
  const { output, printed } = collectOutput();
  const leaveSettings = enterSettings(env);
  const terminal = Object.getOwnPropertyDescriptor(process, 'stdin') ?? {};
  if (input !== undefined) Object.defineProperty(process, 'stdin', { ...terminal, get: () => Readable.from([input]) });
  try {
    const code = await runCommandLine(args, output);
    const { stdout, stderr } = printed;
    return { code, stdout, stderr: keepsWaitNote ? stderr : stderr.replace(WAIT_NOTE, '') };
  } finally {
    leaveSettings();
    Object.defineProperty(process, 'stdin', terminal);
  }
}

/** An output that collects what a command prints. */
export function collectOutput(): { readonly output: Output; readonly printed: { stdout: string; stderr: string } } {
  const printed = { stdout: '', stderr: '' };
  const output = {
    line: (line: string) => void (printed.stdout += `${line}\n`),
    text: (part: string) => void (printed.stdout += part),
    note: (note: string) => void (printed.stderr += `${note}\n`),
  };
  return { output, printed };
}

/** Runs the command line as a process, as a shell does: for exit codes, signals and the wiring of streams. */
export async function spawnTurnfold(args: readonly string[], { input = '', env = {} }: RunOptions = {}): Promise<Run> {
  const child = startTurnfold(args, env);
  child.stdin?.end(input);
  return await endOf(child);
}

const testEnvironment = process.env;
let runningHere = 0;

/** Gives this process the settings of a command. Commands that run here at the same time must share their settings. */
function enterSettings(env: Readonly<Record<string, string>>): () => void {
  const settings = { ...OUTER, ...OWN_SETTINGS, ...env };
  if (runningHere > 0 && !isDeepStrictEqual({ ...process.env }, settings)) {
    throw new Error('a command with other settings runs in this process; use spawnTurnfold for one of them');
  }
  runningHere += 1;
  process.env = settings;
  return () => {
    runningHere -= 1;
    if (runningHere === 0) process.env = testEnvironment;
  };
}

export function startTurnfold(args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
  const child = spawn(process.execPath, [join(ROOT, 'src/cli/main.ts'), ...args], {
    cwd: ROOT,
    env: { ...OUTER, ...OWN_SETTINGS, ...env },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

/** Output and exit code of a process. */
export async function endOf(child: ChildProcess): Promise<Run> {
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new Error('the output of the process is not piped');
  const [out, err] = await Promise.all([text(stdout), text(stderr), once(child, 'close')]);
  return { code: child.exitCode, stdout: out, stderr: err };
}

/** Waits for a result of a running process. Throws with its error output if the process ends before, e.g. without a build. */
export async function beforeEnd<Result>(child: ChildProcess, result: Promise<Result>): Promise<Result> {
  let errors = '';
  child.stderr?.on('data', (bytes: Buffer) => (errors += bytes.toString()));
  const ended = once(child, 'close').then(() => {
    throw new Error(`the command ended with code ${child.exitCode}: ${errors}`);
  });
  return await Promise.race([result, ended]);
}

export function readJsonLines(stdout: string): Record<string, unknown>[] {
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Writes a file that is removed at the end of the test. A list becomes lines of JSON. @returns the path */
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
