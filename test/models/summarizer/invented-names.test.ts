import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { readLedger } from '../../../src/domain/evidence/ledger.ts';
import type { Message } from '../../../src/domain/message.ts';
import { runToEnd } from '../../../src/domain/sliced.ts';
import { findIdentifiers } from '../../../src/evaluation/quality/identifiers.ts';
import { holds } from '../../../src/evaluation/quality/searchable-text.ts';
import { strikeInvented } from '../../../src/models/summarizer/invented-names.ts';
import type { Sections } from '../../../src/models/summarizer/sections.ts';
import { SourceNames } from '../../../src/models/summarizer/source-names.ts';
import { openWorld, prose, round, say } from './fixture.ts';

const HELD = [
  'src/models/user.ts',
  'getUser',
  'order_id',
  '#W4711',
  '1234.50',
  '14:30:00',
  '2024-05-15',
  'joe.doe@mail.com',
  'parse::Tree',
  'v1.2.3',
  'KXZQPL',
];
const MESSAGES: readonly Message[] = [
  say(`The github client knows ${HELD.join(' and ')}; 12000 rows.`),
  ...round({ id: 'c', name: 'read_file', given: { path: '/srv/x/lib/index.ts' }, result: '错误在 main_loop 中' }),
];

function strike(body: string, texts: readonly string[] = []): string | undefined {
  const ledger = runToEnd(readLedger(MESSAGES));
  const source = runToEnd(SourceNames.read({ messages: MESSAGES, ledger, texts }));
  const sections: Sections = new Map([['facts', body]]);
  return runToEnd(strikeInvented(sections, source)).get('facts');
}

it.each(HELD)('a summary keeps %s, which the messages hold', (name) => {
  expect(strike(`It uses ${name}, as said.`)).toBe(`It uses ${name}, as said.`);
});

it.each([
  ['lib/index.ts', 'a part of a path'],
  ['src/models/user.ts:12', 'a path with a line'],
  ['12,000', 'a figure with separated thousands'],
  ['$1,234.5', 'a price without its last zero'],
  ['14:30', 'a time without seconds'],
  ['main_loop文件', 'a name beside ideographs'],
  ['the user-friendly 3-day tour and/or e.g. read/write on the 2nd of May at 50%', 'words that are no names'],
])('a summary keeps %s: %s', (text) => {
  expect(strike(`- ${text} again`, ['Please read or write.'])).toBe(`- ${text} again`);
});

it.each([
  ['GitHub', 'github'],
  ['./lib/index.ts', 'lib/index.ts'],
  ['/src/models/user.ts', 'src/models/user.ts'],
])('a summary spells %s as the messages do', (name, spelled) => {
  expect(strike(`It uses ${name} now.`)).toBe(`It uses ${spelled} now.`);
});

it.each([
  'src/models/ghost.ts',
  '/etc/shadow',
  'getUsers',
  'order_ids',
  '#W4712',
  '1235.50',
  '15:30',
  '2024-05-16',
  'jane@mail.com',
  'parse::Leaf',
  'v1.2.4',
  'QQZZXY',
  'a1b2c3d4e5',
  '350ms',
  'https://ghost.example/x',
  '13,000',
])('a summary has a mark in place of %s, which the messages do not hold', (name) => {
  expect(strike(`It uses ${name} now.`)).toBe('It uses [?] now.');
});

it('a summary keeps names that only the user’s request or an earlier summary holds', () => {
  expect(strike('See ghost_file.ts.', ['Write ghost_file.ts'])).toBe('See ghost_file.ts.');
});

it('a summary leaves out a line that holds invented names only, and a section of such lines', () => {
  expect(strike('Done.\n- File: `ghost_file.ts`\n- ghostName, #W9999\n- 在 ghost.ts')).toBe('Done.\n- 在 [?]');
  expect(strike('- File: `ghost_file.ts`\n- ghostName, #W9999')).toBeUndefined();
});

const letters = fc.string({ unit: fc.constantFrom(...'bcdfgklmprstvz'.split('')), minLength: 4, maxLength: 9 });
const digits = fc.integer({ min: 400, max: 99_999 });
const upper = letters.map((word) => word.charAt(0).toUpperCase() + word.slice(1));
/** Names of every shape. None is in the messages, because each has a word without vowels or a figure out of range. */
const anyInvented = fc.oneof(
  fc.tuple(letters, letters).map(([a, b]) => `src/${a}/${b}.ts`),
  fc.tuple(letters, letters).map(([a, b]) => `${a}_${b}`),
  fc.tuple(letters, upper).map(([a, b]) => a + b),
  fc.tuple(upper, upper).map(([a, b]) => a + b),
  fc.tuple(letters, letters).map(([a, b]) => `${a}.${b}`),
  fc.tuple(letters, letters).map(([a, b]) => `${a}@${b}.com`),
  fc.tuple(letters, digits).map(([a, b]) => `${a}-${b}`),
  digits.map((figure) => `#W${figure}`),
  digits.map((figure) => `${figure}.75`),
  digits.map((figure) => `2031-07-${String(10 + (figure % 20))}`),
  digits.map((figure) => `${figure.toString(16)}cafe77`),
  letters.map((word) => `https://${word}.example/${word}`),
);
const anyWord = fc.constantFrom(
  'the',
  'file',
  'is',
  'broken',
  'and',
  'was',
  'moved',
  'well-known',
  '错误',
  '...',
  'e.g.',
);
const anyAnswer = fc
  .array(fc.array(fc.oneof(anyWord, fc.constantFrom(...HELD), anyInvented), { minLength: 1, maxLength: 12 }), {
    minLength: 1,
    maxLength: 8,
  })
  .map((lines) => lines.map((words) => words.join(' ')));

const SOURCE = [...MESSAGES.map(({ content }) => content), 'read_file /srv/x/lib/index.ts'].join('\n');

it('random answers of an inventing model hold no invented name after the check, and keep every word and held name', () => {
  let struckLines = 0;
  fc.assert(
    fc.property(anyAnswer, (lines) => {
      const body = lines.join('\n');
      const struck = strike(body) ?? '';
      const invented = [...findIdentifiers(struck).keys()].filter((name) => !holds(SOURCE, name));
      expect(invented).toEqual([]);
      for (const name of HELD) if (holds(body, name)) expect(holds(struck, name)).toBe(true);
      const words = lines
        .filter((line) => /\b(?:the|file|broken)\b/.test(line))
        .join(' ')
        .match(/\b(?:the|file|broken)\b/g);
      expect(struck.match(/\b(?:the|file|broken)\b/g)).toEqual(words);
      struckLines += struck.includes('[?]') ? 1 : 0;
    }),
    { numRuns: 500 },
  );
  expect(struckLines).toBeGreaterThan(300);
});

it('a summary by an inventing model holds no name that neither the messages nor the user’s request hold', async () => {
  await fc.assert(
    fc.asyncProperty(anyAnswer, async (lines) => {
      const world = await openWorld({ decide: () => ({ content: `## Goal\nMove.\n## Facts\n${lines.join('\n')}` }) });
      const answer = await world.summarize({ messages: [...MESSAGES, say(prose(200))], maxTokens: 300 });
      if (answer.status !== 'written') throw new Error(answer.why);
      const source = `${SOURCE}\n${prose(200)}`;
      expect([...findIdentifiers(answer.text).keys()].filter((name) => !holds(source, name))).toEqual([]);
    }),
    { numRuns: 60 },
  );
});
