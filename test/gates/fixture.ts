import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const root = fileURLToPath(new URL('../..', import.meta.url));
const bin = join(root, 'node_modules/.bin');
const configs = ['biome.json', 'tsconfig.json', '.oxlintrc.json', 'knip.json', 'vitest.config.ts'];
const manifest = z.object({ scripts: z.record(z.string(), z.string()) });
const { scripts } = manifest.parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));

/**
 * The smallest fixture that passes every gate. It uses the rights of each room, so that the exceptions are tested, too.
 */
const sound: Readonly<Record<string, string>> = {
  'package.json': `${JSON.stringify({ name: 'fixture', type: 'module', dependencies: { zod: '*' } }, null, 2)}\n`,
  'src/domain/errors.ts': `export class CodedError extends Error {}\n`,
  'src/domain/turn.ts': `import { z } from 'zod';
import { CodedError } from './errors.ts';

export function parseTurn(value: unknown): string {
  const { success, data } = z.string().safeParse(value);
  if (!success) throw new CodedError('not a turn');
  return data;
}
`,
  'src/host/config.ts': `export const redisUrl = process.env['REDIS_URL'];\n`,
  'src/host/local-redis/find.ts': `export const searched = process.env['PATH'];\n`,
  'src/cli/main.ts': `import { parseTurn } from '../domain/turn.ts';
import { redisUrl } from '../host/config.ts';
import { searched } from '../host/local-redis/find.ts';

process.stdout.write(parseTurn(redisUrl ?? searched));
`,
  'src/store/lua/read-time.lua': `-- The clock of Redis.\nreturn redis.call('TIME')\n`,
};

export interface Verdict {
  code: number | null;
  output: string;
}

/** A project in a temporary folder, under the real configurations and commands of the gates. Dispose of it. */
export interface Fixture extends Disposable {
  write(files: Readonly<Record<string, string>>): void;
  /** Runs the project's npm script, or any other command, with this fixture as the working folder. */
  run(script: string, env?: Readonly<Record<string, string>>): Promise<Verdict>;
}

export function buildFixture(): Fixture {
  const folder = mkdtempSync(join(tmpdir(), 'turnfold-gates-'));

  function write(files: Readonly<Record<string, string>>): void {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
  }

  for (const config of configs) copyFileSync(join(root, config), join(folder, config));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  write(sound);

  return {
    write,
    run: (script, env = {}) => runCommand(commandOf(script), folder, env),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The scripts of the gates stay in place. Only the files that they examine come from the fixture. */
function commandOf(script: string): string {
  const command = scripts[script] ?? script;
  return command.replaceAll(/(?<= )scripts\//g, join(root, 'scripts/'));
}

async function runCommand(command: string, cwd: string, extra: Readonly<Record<string, string>>): Promise<Verdict> {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(VITEST|NODE_OPTIONS|NODE_V8|TEST$)/.test(name));
  const path = [bin, process.env['PATH']].join(delimiter);
  const env = { ...Object.fromEntries(inherited), NO_COLOR: '1', ...extra, PATH: path };
  const child = spawn(command, { cwd, env, shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((settle, reject) => {
    child.on('error', reject);
    child.on('close', (code) => settle({ code, output }));
  });
}
