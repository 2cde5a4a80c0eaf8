import { readFileSync } from 'node:fs';
import { check } from 'recheck';
import { findExpressions, type SourceExpression } from './regular-expressions.ts';

/** The regular expressions that were proven linear. `npm run expressions` writes the file. */
export const PROVEN_FILE = new URL('linear-expressions.json', import.meta.url);

/**
 * Limits of the checker. By default, the checker reports a match of more than 250 ms as slow. On a busy machine, any
 * match takes longer. With null, the checker counts the characters a match reads. `timeout` stops a hanging checker.
 */
const LIMITS = { timeout: 120_000, seedingTimeout: null, incubationTimeout: null, attackTimeout: null };

/** One line for each expression that is not proven linear, with an input that shows it. */
export async function findSlow(expressions: readonly SourceExpression[]): Promise<string[]> {
  const slow: string[] = [];
  for (const { place, source, flags } of expressions) {
    const result = await check(source, flags, LIMITS);
    if (result.status === 'vulnerable') {
      slow.push(`${place} /${source}/ is a ${result.complexity.summary}: ${result.attack.pattern}`);
    } else if (result.status === 'unknown') slow.push(`${place} /${source}/ was not checked: ${result.error.kind}`);
  }
  return slow;
}

/** The expression as the file of proven ones names it. */
function nameExpression({ source, flags }: SourceExpression): string {
  return `/${source}/${flags}`;
}

/** The expressions of `src`, each once, by their names in the file of proven ones. */
export function listExpressions(): Map<string, SourceExpression> {
  return new Map(findExpressions('src').map((expression) => [nameExpression(expression), expression]));
}

export function readProven(): string[] {
  return JSON.parse(readFileSync(PROVEN_FILE, 'utf8')) as string[];
}
