import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const WORKER = 'chat-worker';
const SCRIPT = fileURLToPath(new URL(`${WORKER}.ts`, import.meta.url));
const LUA = fileURLToPath(new URL('../../src/store/lua', import.meta.url));

/** The script of the workers as one file, with a folder for its compiled code. */
export interface WorkerBundle {
  readonly script: string;
  readonly codeFolder: string;
  remove(): Promise<void>;
}

/**
 * Bundles the worker. A worker that starts from hundreds of TypeScript files takes three times the CPU time. A test that
 * kills a worker each second would do little else than start workers.
 */
export async function bundleWorker(): Promise<WorkerBundle> {
  const folder = await mkdtemp(join(tmpdir(), 'turnfold-chat-'));
  const bundle = await rolldown({ input: { [WORKER]: SCRIPT }, platform: 'node', logLevel: 'warn' });
  await bundle.write({ dir: folder, format: 'esm', entryFileNames: '[name].mjs', minify: true });
  await bundle.close();
  await cp(LUA, join(folder, 'lua'), { recursive: true });
  return {
    script: join(folder, `${WORKER}.mjs`),
    codeFolder: join(folder, 'compiled'),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
