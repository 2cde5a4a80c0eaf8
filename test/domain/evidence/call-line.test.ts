import { describe, expect, test } from 'vitest';
import { briefCall, clipAtWord } from '../../../src/compaction/evidence/call-line.ts';

const brief = (given: unknown, maxChars = 120): string =>
  briefCall({ id: 'c1', name: 'run', arguments: typeof given === 'string' ? given : JSON.stringify(given) }, maxChars);

describe('briefCall, which writes a tool call in one line', () => {
  test.each([
    { name: 'a lone value has no key', given: { path: 'src/a.ts' }, line: 'run src/a.ts' },
    { name: 'several values have their keys', given: { path: 'a.ts', limit: 3 }, line: 'run path: a.ts, limit: 3' },
    {
      name: 'values of objects and lists have the nearest key',
      given: { in: { ids: [7, 8], ok: true } },
      line: 'run ids: 7, ids: 8, ok: true',
    },
    { name: 'empty values are left out', given: { path: 'a.ts', filter: null }, line: 'run a.ts' },
    { name: 'text that is no JSON is one value', given: 'ls -la src', line: 'run ls -la src' },
    { name: 'no arguments leave the name', given: {}, line: 'run' },
    { name: 'line ends become blanks', given: { command: 'make\n\ttest' }, line: 'run make test' },
  ])('briefCall writes a tool call in one line: $name', ({ given, line }) => {
    expect(brief(given)).toBe(line);
  });

  test('briefCall keeps short argument values whole, and shortens the long values to share the remaining length', () => {
    const line = brief({ path: 'src/orders.ts', text: 'word '.repeat(100), note: 'more '.repeat(100) }, 160);
    expect(line).toContain('path: src/orders.ts');
    expect(line.match(/ …/g)).toHaveLength(2);
    expect(line.length).toBeLessThan(200);
  });

  test('briefCall shows at most sixteen argument values of a tool call', () => {
    expect(brief(Array.from({ length: 40 }, (_, index) => index)).split(', ')).toHaveLength(16);
  });
});

describe('clipAtWord', () => {
  test.each([
    { text: 'short text', maxChars: 20, clipped: 'short text' },
    { text: 'open src/orders.ts now', maxChars: 16, clipped: 'open …' },
    { text: 'a-single-long-word-without-blanks', maxChars: 12, clipped: '…' },
    { text: `${'x '.repeat(200)}end`, maxChars: 10, clipped: 'x x x x …' },
  ])('clipAtWord cuts "$text" before a word to at most $maxChars characters', ({ text, maxChars, clipped }) => {
    expect(clipAtWord(text, maxChars)).toBe(clipped);
    expect(clipAtWord(text, maxChars).length).toBeLessThanOrEqual(maxChars);
  });
});
