import { expect, test } from 'vitest';
import { splitText } from '../../inspector/src/parts/text-pieces.ts';

test('splitting a text into pieces loses nothing, and each piece of a text with short lines ends at the end of a line', () => {
  const text = Array.from({ length: 900 }, (_, line) => `line ${line} of a file`).join('\n');
  const pieces = splitText(text);
  expect(pieces.join('')).toBe(text);
  expect(pieces.length).toBeGreaterThan(2);
  expect(pieces.slice(0, -1).every((piece) => piece.endsWith('\n'))).toBe(true);
});

test('a long line is split into pieces, but never inside a character', () => {
  for (const text of ['😀'.repeat(5_000), `x${'😀'.repeat(5_000)}`]) {
    const pieces = splitText(text);
    expect(pieces.join('')).toBe(text);
    expect(pieces.every((piece) => piece.isWellFormed())).toBe(true);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(4_100);
  }
});

test('an empty text has no pieces', () => {
  expect(splitText('')).toEqual([]);
});
