import { cp, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { openClient } from '../../src/api/client/index.ts';

export interface Edit {
  readonly file: string;
  readonly find: string;
  readonly put: string;
}

export interface Mutant {
  readonly openClient: typeof openClient;
  remove(): Promise<void>;
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Loads the client from a copy of the source code that has the given edits.
 * @throws unless the code has the text of each edit once
 */
export async function makeMutant(edits: readonly Edit[]): Promise<Mutant> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'turnfold-mutant-')));
  await cp(join(ROOT, 'src'), join(root, 'src'), { recursive: true });
  await cp(join(ROOT, 'package.json'), join(root, 'package.json'));
  await symlink(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  for (const { file, find, put } of edits) {
    const code = await readFile(join(root, file), 'utf8');
    if (code.split(find).length !== 2)
      throw new Error(`${file} does not contain the text of a mutation exactly once: ${find}`);
    await writeFile(
      join(root, file),
      code.replace(find, () => put),
    );
  }
  const module = (await import(pathToFileURL(join(root, 'src/api/client/index.ts')).href)) as Pick<
    Mutant,
    'openClient'
  >;
  return { openClient: module.openClient, remove: () => rm(root, { recursive: true, force: true }) };
}
