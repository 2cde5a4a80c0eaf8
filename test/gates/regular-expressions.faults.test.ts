import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findSlow } from './linear-expressions.ts';
import { findExpressions } from './regular-expressions.ts';

/** Each run proves one in this many expressions again. */
const SAMPLED = 8;

test('a sample of the regular expressions of src, one in eight, takes time linear in its input', async () => {
  const expressions = findExpressions('src');
  expect(expressions.length).toBeGreaterThan(200);
  const slow = await findSlow(expressions.filter((_, index) => index % SAMPLED === 0));
  // On a busy machine, the checker may have no time to prove an expression again.
  expect(slow.filter((line) => !line.endsWith(': timeout'))).toEqual([]);
});

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
    const slow = await findSlow(findExpressions(folder));
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
