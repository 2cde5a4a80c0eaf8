import { readFileSync } from 'node:fs';
import { z } from 'zod';

const manifestSchema = z.object({
  version: z.string(),
  engines: z.object({ node: z.templateLiteral(['>=', z.int(), '.', z.int(), '.', z.int()]) }),
});

/** Reads package.json, which is two folders above this file, in a checkout and in an installed package. */
export function readPackageFacts(): z.infer<typeof manifestSchema> {
  return manifestSchema.parse(JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')));
}

/** @param present `process.versions.node`. @param required `engines.node`: `>=major.minor.patch` */
export function explainOldNode(present: string, required: string): string | undefined {
  const least = required.replace('>=', '').split('.').map(Number);
  const own = present.split('.').map(Number);
  const at = least.findIndex((part, index) => part !== own[index]);
  if (at === -1 || (own[at] ?? 0) > (least[at] ?? 0)) return undefined;
  return `turnfold needs Node ${required}, but this is ${present} (${process.execPath}). Install a newer Node, or run: npx -p node@24 -p turnfold turnfold`;
}
