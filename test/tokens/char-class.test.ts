import { describe, expect, test } from 'vitest';
import { CHAR_CLASSES, CharClassTable } from '../../src/wire/tokens/char-class.ts';

const table = new CharClassTable();

function classOf(char: string): string | undefined {
  return CHAR_CLASSES[table.classify(char.codePointAt(0) as number)];
}

describe('character classes', () => {
  test.each([
    ['a', 'lower'],
    ['d', 's'],
    ['v', 'r'],
    ['L', 'L'],
    ['ä', 'lower'],
    ['ǅ', 'upper'],
    ['中', 'caseless'],
    ['\u0301', 'mark'],
    ['½', 'number'],
    ['\r', 'newline'],
    [' ', 'space'],
    ['\t', 'blank'],
    ['😀', 'symbol'],
  ])('%j has the class %s', (char, expected) => {
    expect(classOf(char)).toBe(expected);
  });

  test('follows Rust where JavaScript differs: the long s, the next line, and the byte order mark', () => {
    expect(['\u017F', '\u0085', '\uFEFF'].map(classOf)).toEqual(['s', 'blank', 'symbol']);
  });

  test('is a symbol for a letter that is newer than the Unicode of tiktoken', () => {
    expect(classOf('\uA7CE')).toBe('symbol');
  });
});

test('a new table knows the classes of ASCII, and of no other character', () => {
  const { classes } = new CharClassTable();
  expect(classes.slice(0, 0x80).every((charClass) => charClass > 0)).toBe(true);
  expect(classes.slice(0x80).every((charClass) => charClass === 0)).toBe(true);
});
