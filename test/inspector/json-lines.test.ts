import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { findLine, jsonLines, jsonPieces, shortenLine } from '../../inspector/src/version/json-lines.ts';

test('findLine returns the next line with a text, ignores case, and begins again at the start', () => {
  const lines = jsonLines({ order: 'W123', again: 'w123' });
  expect(findLine(lines, 'W123', 0)).toBe(1);
  expect(findLine(lines, 'w123', 2)).toBe(2);
  expect(findLine(lines, 'w123', 3)).toBe(1);
  expect(findLine(lines, 'absent', 0)).toBe(-1);
  expect(findLine(lines, '', 0)).toBe(-1);
});

test('jsonPieces names keys, texts and words of a line of JSON', () => {
  expect(jsonPieces('  "a\\"b": "x: y",')).toEqual([
    { text: '  ', kind: 'mark' },
    { text: '"a\\"b"', kind: 'key' },
    { text: ': ', kind: 'mark' },
    { text: '"x: y"', kind: 'text' },
    { text: ',', kind: 'mark' },
  ]);
  expect(jsonPieces('"n": -1.5e+3').at(-1)).toEqual({ text: '-1.5e+3', kind: 'word' });
});

test('shortenLine shortens a long line of JSON, and no line loses a character', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('"', '\\', 'a', ':', '{', ' ', '1') }), (line) => {
      expect(
        jsonPieces(line)
          .map(({ text }) => text)
          .join(''),
      ).toBe(line);
    }),
  );
  expect(shortenLine('x'.repeat(2_000))).toBe(`${'x'.repeat(1_000)}… (1000 more characters)`);
});
