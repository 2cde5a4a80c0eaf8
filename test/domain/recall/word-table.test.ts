import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { WordTable } from '../../../src/compaction/recall/word-table.ts';

test('a word table numbers different words, and finds all words that contain a text', () => {
  const words = fc.array(
    fc.oneof(fc.string({ unit: fc.constantFrom('a', 'b', '7', '订'), minLength: 1, maxLength: 6 }), fc.uuid()),
    { maxLength: 2_000 },
  );
  fc.assert(
    fc.property(
      words,
      fc.string({ unit: fc.constantFrom('a', 'b', '7', '订'), minLength: 1, maxLength: 3 }),
      (all, part) => {
        const table = new WordTable();
        const distinct = [...new Set(all)];
        for (const word of all) expect(table.add(`-${word}-`, 1, word.length + 1)).toBe(distinct.indexOf(word));
        expect(table.size).toBe(distinct.length);
        expect(table.find(part)).toBe(distinct.indexOf(part));
        expect([...table.findInside(part)]).toEqual(
          distinct.flatMap((word, number) => (word.includes(part) ? [number] : [])),
        );
      },
    ),
    { numRuns: 50 },
  );
});

test('a word table keeps the numbers of its words while it grows to 100,000 words', () => {
  const table = new WordTable();
  const words = Array.from({ length: 100_000 }, (_, at) => `W${at}x`);
  const numbers = words.map((word) => table.add(word, 0, word.length));
  expect(numbers).toEqual(words.map((_, at) => at));
  expect(words.every((word, at) => table.find(word) === at)).toBe(true);
  expect([...table.findInside('99999')]).toEqual([99_999]);
  expect(table.find('none')).toBe(-1);
});

test('a word table counts two bytes a character from the first wide word on', () => {
  const table = new WordTable();
  const empty = table.bytes;
  table.add('alpha', 0, 5);
  const narrow = table.bytes - empty;
  table.add('订单', 0, 2);
  expect(narrow).toBeGreaterThan(0);
  expect(table.bytes - empty).toBeGreaterThan(2 * 5 + narrow);
  expect(table.find('beta')).toBe(-1);
});
