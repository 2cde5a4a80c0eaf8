import { readFileSync } from 'node:fs';
import { z } from 'zod';

const manifestSchema = z.object({
  version: z.string(),
  engines: z.object({ node: z.templateLiteral(['>=', z.int(), '.', z.int(), '.', z.int()]) }),
});

/** What the package says of itself. Its file lies two folders up in a checkout as in an installed package. */
export function readPackageFacts(): z.infer<typeof manifestSchema> {
  return manifestSchema.parse(JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')));
}

/**
 * Why this Node cannot run turnfold; undefined if it can. Older versions lack functions that turnfold uses, and would fail
 * in the middle of a command.
 * @param present `process.versions.node`
 * @param required `engines.node` of the package: `>=major.minor.patch`
 */
export function explainOldNode(present: string, required: string): string | undefined {
  const least = required.replace('>=', '').split('.').map(Number);
  const own = present.split('.').map(Number);
  const at = least.findIndex((part, index) => part !== own[index]);
  if (at === -1 || (own[at] ?? 0) > (least[at] ?? 0)) return undefined;
  return `turnfold needs Node ${required}; this is ${present} (${process.execPath}). Install a newer Node, or run it with npx -p node@24 -p turnfold turnfold.`;
}
