import { get_encoding, type Tiktoken } from 'tiktoken';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type BpeTokenCounter, type Encoding, loadTokenCounter } from '../../src/wire/tokens/token-counter.ts';
import { makeStrings, randomIntegers, readTraces, slice } from './corpus.ts';

const SEED = 20_250_601;
/** Strings of each kind. */
const SAMPLES = inject('isThorough') ? 1_500 : 150;
const traces = readTraces();

describe.each<Encoding>(['o200k_base', 'cl100k_base'])('%s equals tiktoken', (encoding) => {
  let counter: BpeTokenCounter;
  let tiktoken: Tiktoken;

  beforeAll(async () => {
    counter = await loadTokenCounter(encoding);
    tiktoken = get_encoding(encoding);
  });
  afterAll(() => tiktoken.free());

  /**
   * Returns the first text whose token ids differ from tiktoken's. Compared without `expect`, because thousands of calls of
   * `expect` take longer than the rest.
   */
  function findDifference(texts: Iterable<string>): string | undefined {
    for (const text of texts) {
      const ids = counter.encode(text);
      const expected = tiktoken.encode_ordinary(text);
      if (ids.length !== expected.length || ids.some((id, index) => id !== expected[index]))
        return JSON.stringify(text);
    }
    return undefined;
  }

  test('the token counter returns the same ids as tiktoken for thousands of strings of every kind', () => {
    const strings = makeStrings(SAMPLES, SEED);
    expect(strings.length).toBe(10 * SAMPLES);
    expect(findDifference(strings)).toBeUndefined();
  });

  test.skipIf(traces === undefined)(
    'the token counter returns the same ids as tiktoken for recorded conversations (skipped without ../shared/traces)',
    () => {
      const random = randomIntegers(SEED);
      const any = (): string => traces?.[random(traces.length)] ?? '';
      expect(findDifference(Array.from({ length: 3 * SAMPLES }, () => slice(any(), random)))).toBeUndefined();
      expect(findDifference(Array.from({ length: SAMPLES / 15 }, any))).toBeUndefined();
    },
  );

  test('the token counter returns the same ids as tiktoken for lengths around the switch between its two merge algorithms', () => {
    const random = randomIntegers(SEED);
    const pick = (letters: string): string => letters[random(letters.length)] ?? '';
    for (const letters of ['a', 'ab', 'abcdefghijklmnopqrstuvwxyz', '好', '好的文字', ' ', '-=', '\u0301']) {
      const lengths = Array.from({ length: 60 }, (_, index) => 20 + 7 * index);
      const pieces = lengths.map((length) => Array.from({ length }, () => pick(letters)).join(''));
      expect(findDifference(pieces)).toBeUndefined();
    }
  });

  test('the token counter returns the same ids as tiktoken for more words than its cache holds, also when the words repeat', () => {
    const random = randomIntegers(SEED);
    const letters = 'bcdfghjklmnpqrstvwxyz\u00e4\u4f60';
    const word = (): string => Array.from({ length: 12 + random(20) }, () => letters[random(letters.length)]).join('');
    const texts = Array.from({ length: 60 }, () => Array.from({ length: 1_000 }, word).join(' '));
    expect(findDifference([...texts, ...texts.slice(0, 5)])).toBeUndefined();
  });

  test('the token counter returns the same ids as tiktoken for one word of thousands of letters', () => {
    const pieces = ['a'.repeat(5_000), 'ab'.repeat(3_000), '好'.repeat(3_000), `${' '.repeat(5_000)}x`];
    expect(findDifference(pieces)).toBeUndefined();
  });

  test.each([
    ['plane 0, up to the surrogates', 0, 0xd7ff],
    ['planes 0 and 1, after the surrogates', 0xe000, 0x1ffff],
    ['the ends of the blocks in planes 2 and 3', 0x2a600, 0x33600],
    ['tags and variation selectors', 0xe0000, 0xe01ff],
  ])('the token counter returns the same ids as tiktoken for all code points of %s', (_name, first, last) => {
    const chars = Array.from({ length: last - first + 1 }, (_, index) => String.fromCodePoint(first + index));
    // Letters, marks and numbers give one token less: for the contraction 's, and for the blank that they split off.
    expect(findDifference(chars.map((char) => `${char}'s ${char}the`))).toBeUndefined();
  });

  test('the token counter treats the names of special tokens as ordinary text', () => {
    expect(counter.encode('<|endoftext|>').length).toBeGreaterThan(1);
    expect(findDifference(['<|endoftext|>'])).toBeUndefined();
  });
});
