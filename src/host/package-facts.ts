import { readFileSync } from 'node:fs';

interface PackageFacts {
  readonly version: string;
  readonly engines: { readonly node: `>=${string}` };
}

/** Reads package.json, which is two folders above this file, in a checkout and in an installed package. */
export function readPackageFacts(): PackageFacts {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as PackageFacts;
}

/** @param required `engines.node`: `>=major.minor.patch` */
export function explainOldNode(present: string, required: string): string | undefined {
  if (present.localeCompare(required.replace('>=', ''), 'en', { numeric: true }) >= 0) return undefined;
  return `turnfold needs Node ${required}, but this is ${present} (${process.execPath}). Install a newer Node, or run: npx -p node@24 -p turnfold turnfold`;
}
