import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { check } from 'recheck';
import { expect, test } from 'vitest';
import { findExpressions } from './regular-expressions.ts';

/**
 * Limits of the checker. By default the checker reports a match of more than 250 ms as slow, which on a busy machine is
 * any match. Without these limits of time it counts the characters that a match reads. Only a hanging checker is stopped.
 */
const LIMITS = { timeout: 120_000, seedingTimeout: null, incubationTimeout: null, attackTimeout: null };
const TEST_TIMEOUT_MS = 600_000;

/** One line for each expression that is not proven linear, with an input that shows it. */
async function findSlow(folder: string): Promise<string[]> {
  const slow: string[] = [];
  for (const { place, source, flags } of findExpressions(folder)) {
    const result = await check(source, flags, LIMITS);
    if (result.status === 'vulnerable') {
      slow.push(`${place} /${source}/ is a ${result.complexity.summary}: ${result.attack.pattern}`);
    } else if (result.status === 'unknown') slow.push(`${place} /${source}/ was not checked: ${result.error.kind}`);
  }
  return slow;
}

test(
  'every regular expression of src takes time linear in its input',
  async () => {
    expect(findExpressions('src').length).toBeGreaterThan(200);
    expect(await findSlow('src')).toEqual([]);
  },
  TEST_TIMEOUT_MS,
);

test('the check of regular expressions reports a quadratic literal, and one built from constants', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'expressions-'));
  try {
    writeFileSync(
      join(folder, 'quadratic.ts'),
      [
        String.raw`export const TAG = /<(\s*\/?\s*summary)/gi;`,
        String.raw`const NAME = String.raw${'`'}\w+${'`'};`,
        'export const BUILT = new RegExp(`^(?:${NAME}${NAME})x$`);',
        String.raw`export const LINEAR = /^[a-z]+$/;`,
      ].join('\n'),
    );
    const slow = await findSlow(folder);
    expect(slow.map((line) => line.slice(line.indexOf(':'), line.indexOf(' ')))).toEqual([':1', ':3']);
    expect(slow[0]).toContain('2nd degree polynomial');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the check of regular expressions fails for an expression that is not built from constants', () => {
  const folder = mkdtempSync(join(tmpdir(), 'expressions-'));
  try {
    writeFileSync(join(folder, 'built.ts'), 'export const find = (word: string) => new RegExp(word.toUpperCase());\n');
    expect(() => findExpressions(folder)).toThrow('cannot be evaluated');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
