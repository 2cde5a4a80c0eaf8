import { expect, test } from 'vitest';
import { ownerSchema, takeFirstWords, titleSchema } from '../../src/domain/conversation-about.ts';

test.each([
  ['a short text unchanged', 'Plan my trip', 'Plan my trip'],
  ['an empty text for blanks only', ' \n\t ', ''],
  ['an empty text for control characters only', '\u0000'.repeat(200), ''],
  ['one line for a text with line breaks and control characters', '  Plan\n\n my\u0000trip ', 'Plan my trip'],
  ['a text of exactly 60 bytes', 'a'.repeat(60), 'a'.repeat(60)],
  ['whole words of a longer text', 'word '.repeat(15), `${'word '.repeat(11).trim()}…`],
  ['the start of one long word', 'a'.repeat(61), `${'a'.repeat(57)}…`],
  ['the start of a long word after a short one', `ab ${'c'.repeat(100)}`, `ab ${'c'.repeat(54)}…`],
  ['whole characters of several bytes each', '😀'.repeat(20), `${'😀'.repeat(14)}…`],
  ['the words before many blanks, with a mark of omission', `Plan${' '.repeat(200)}trip`, 'Plan…'],
])('the first words of a message are %s', (_, text, expected) => {
  expect(takeFirstWords(text)).toBe(expected);
});

test.each([
  ['owner', ownerSchema, 128],
  ['title', titleSchema, 200],
] as const)('the %s of a conversation is one line within its limit of characters', (_, schema, most) => {
  const accepts = (text: string) => schema.safeParse(text).success;
  expect(['auth0|17', 'Größe 😀', 'x'.repeat(most)].filter((text) => !accepts(text))).toEqual([]);
  expect(['', 'two\nlines', 'two\u2028lines', 'bell\u0007', 'x'.repeat(most + 1)].filter(accepts)).toEqual([]);
});
