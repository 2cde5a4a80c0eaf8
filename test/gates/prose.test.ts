import { describe, expect, test } from 'vitest';
import { checkSentence, splitSentences } from '../../scripts/prose-rules.ts';
import { readLua, readMarkdown, readTypeScript } from '../../scripts/prose-text.ts';
import { buildFixture } from './fixture.ts';

const LONG = `The worker ${'very '.repeat(24)}slowly renews a lease.`;

describe('a sentence', () => {
  test.each([
    ['phrase', 'Errors tell of a lost lease.'],
    ['phrase', 'The conversation is made anew.'],
    ['phrase', 'The texts agree letter by letter.'],
    ['phrase', 'The request is under way.'],
    ['opening', 'Of a lost lease the worker hears late.'],
    ['opening', 'Who holds a lease may write.'],
    ['opening', 'What a write needs is a lease.'],
    ['opening', 'where a lease is lost'],
    ['semicolon', 'The lease is lost; the worker stops.'],
    ['length', LONG],
  ])('a sentence breaks the prose rule %s: %s', (rule, sentence) => {
    expect(checkSentence(sentence).map((violation) => violation.rule)).toContain(rule);
  });

  test.each([
    'The worker renews its lease every 2 s.',
    'What does an epoch protect?',
    'ms since epoch, UTC',
    'The sweeper re-queues a turn whose lease has lapsed.',
  ])('the prose rules accept the sentence: %s', (sentence) => {
    expect(checkSentence(sentence)).toEqual([]);
  });

  test('splitSentences ends a sentence before a capital, and not inside an abbreviation', () => {
    expect(splitSentences('A lease, e.g. that of a turn, lapses. Its epoch stays.\nDone.')).toEqual([
      'A lease, eg that of a turn, lapses.',
      'Its epoch stays.',
      'Done.',
    ]);
  });
});

describe('the prose of a file', () => {
  test('the prose gate reads every comment of a TypeScript file, every JSDoc tag on its own, and every string that is a sentence', () => {
    const text = `/**
 * First sentence.
 * @param at Position in the log.
 */
const hint = 'Renew the certificate of the server.'; // Trailing words.
const key = 'turn:wake';
`;
    expect(readTypeScript('src/a.ts', text).map((one) => [one.line, one.text.trim()])).toEqual([
      [1, 'First sentence.'],
      [3, 'Position in the log.'],
      [5, 'Trailing words.'],
      [5, 'Renew the certificate of the server.'],
    ]);
  });

  test('the prose gate reads the titles of a test file, and counts a placeholder as one word', () => {
    const text =
      "describe('a lease', () => {\n  test(`is lost after ${ms} ms`, () => check('any text at all'));\n});\n";
    expect(readTypeScript('test/a.test.ts', text).map((one) => one.text)).toEqual(['a lease', 'is lost after Code ms']);
  });

  test('the prose gate reads every comment of a Lua script except lists of arguments', () => {
    expect(readLua('-- Renews a lease.\n-- ARGV: turn; owner\nreturn 1\n').map((one) => one.text)).toEqual([
      'Renews a lease.',
    ]);
  });

  test('the prose gate reads every paragraph, list item and table cell of a Markdown page, but no headings or code', () => {
    const text =
      '# Of a title\n\nOne line\ngoes on.\n\n- An `item`.\n\n```ts\nOf code;\n```\n\n| a | b |\n|---|---|\n| c | d |\n';
    const found = readMarkdown(text).map((one) => one.text.trim());
    expect(found.filter((one) => one !== '')).toEqual(['One line\ngoes on.', 'An Code.', 'a', 'b', 'c', 'd']);
  });
});

test('the prose gate names file, line and rule of a violation, and fails', async () => {
  using fixture = buildFixture();
  fixture.write({ 'src/domain/lease.ts': '// Of a lease.\nexport const lease = 1;\n' });
  const { code, output } = await fixture.run('node scripts/check-prose.ts src/domain/lease.ts');
  expect(output).toContain('src/domain/lease.ts:1 opening: begins with "Of"');
  expect(code).toBe(1);
});

test('the prose gate fails if it finds nothing to check', async () => {
  using fixture = buildFixture();
  const { code, output } = await fixture.run('node scripts/check-prose.ts src/nowhere');
  expect(output).toContain('nothing-checked');
  expect(code).toBe(1);
});
