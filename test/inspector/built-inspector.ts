import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const INSPECTOR = fileURLToPath(new URL('../../inspector/', import.meta.url));

/** Builds the page as it is now. A page in `dist` may be older than its sources. @returns its folder */
export async function buildInspector(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'turnfold-inspector-'));
  const configFile = join(INSPECTOR, 'vite.config.ts');
  await build({ root: INSPECTOR, configFile, logLevel: 'warn', build: { outDir: folder } });
  return folder;
}
