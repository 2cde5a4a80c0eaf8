import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const FOLDER = new URL('../../examples/http/', import.meta.url);

export interface Script {
  readonly program: string;
  readonly file: string;
}

export const CURL: Script = { program: 'sh', file: 'turn.sh' };
export const PYTHON: Script = { program: 'python3', file: 'turn.py' };

/** Name of the program that a script needs and this machine lacks, if any. */
export function findMissing({ program }: Script): string | undefined {
  const needed = program === 'sh' ? ['sh', 'curl'] : [program];
  return needed.find((name) => spawnSync(name, ['--version']).error !== undefined);
}

/** Runs an example against a server. @returns its output, whose last line is the turn */
export async function runScript(
  { program, file }: Script,
  url: string,
  args: readonly string[],
): Promise<{ readonly lines: readonly string[]; readonly turn: Record<string, unknown> }> {
  const child = spawn(program, [fileURLToPath(new URL(file, FOLDER)), ...args], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], TURNFOLD_URL: url, no_proxy: '127.0.0.1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors] = [child.stdout, child.stderr].map(async (stream) => (await stream.toArray()).join(''));
  const code = await new Promise((resolve) => {
    child.once('exit', resolve);
  });
  if (code !== 0) throw new Error(`${file} ended with ${String(code)}: ${await errors}`);
  const lines = ((await output) ?? '').trim().split('\n');
  return { lines, turn: JSON.parse(lines.at(-1) ?? '') as Record<string, unknown> };
}
