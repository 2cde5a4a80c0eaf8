import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { brotliDecompressSync } from 'node:zlib';
import type { Dump } from './dump.ts';

/** The last release with another build of the store: its modules, and a dump that its workers wrote. */
export interface Release {
  readonly commit: string;
  readonly schema: number;
  /** Text by path under `dist`. */
  readonly files: Readonly<Record<string, string>>;
  readonly dump: Dump;
}

export const RELEASE = new URL('./release.json.br', import.meta.url);

export function readRelease(): Release {
  return JSON.parse(brotliDecompressSync(readFileSync(RELEASE)).toString('utf8')) as Release;
}

/** Unpacks the modules of the release. They use the installed packages of this tree. */
export function unpackRelease({ files }: Pick<Release, 'files'>): { modules: readonly string[]; remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'turnfold-release-'));
  symlinkSync(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, 'dist', path)), { recursive: true });
    writeFileSync(join(folder, 'dist', path), text);
  }
  // A release may have other folders than this tree.
  const client = Object.keys(files).find((path) => /(?:^|\/)client\/index\.js$/.test(path)) ?? '';
  const modules = ['index.js', client].map((path) => pathToFileURL(join(folder, 'dist', path)).href);
  return { modules, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
