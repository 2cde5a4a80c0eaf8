import * as fc from 'fast-check';
import { get_encoding, type Tiktoken } from 'tiktoken';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BpeTokenCounter, type Encoding, loadTokenCounter } from '../../src/wire/tokens/token-counter.ts';
import { makeStrings } from './corpus.ts';

const samples = makeStrings(60, 7);
/** Any UTF-16 text, including halves of surrogate pairs, well-formed text, and text joined from real samples. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.string({ unit: 'grapheme', maxLength: 200 }),
  fc.array(fc.constantFrom(...samples), { maxLength: 6 }).map((parts) => parts.join('')),
  fc.tuple(fc.constantFrom('a', ' ', '好', '😀', '\n', 'é'), fc.nat(600)).map(([char, length]) => char.repeat(length)),
);
const maxTokens = fc.nat(120);
/** Number of ordinary tokens of each encoding. Their ids start at 0. */
const TOKENS = { o200k_base: 199_998, cl100k_base: 100_256 };

describe.each<Encoding>(['o200k_base', 'cl100k_base'])('%s', (encoding) => {
  let counter: BpeTokenCounter;
  let tiktoken: Tiktoken;

  beforeAll(async () => {
    counter = await loadTokenCounter(encoding);
    tiktoken = get_encoding(encoding);
  });
  afterAll(() => tiktoken.free());

  test('loadTokenCounter loads the tables of an encoding only once', async () => {
    expect(await loadTokenCounter(encoding)).toBe(counter);
    expect(counter.encoding).toBe(encoding);
  });

  test('count and countSync return the number of token ids that encode returns', async () => {
    await fc.assert(
      fc.asyncProperty(anyText, async (text) => {
        const tokens = counter.encode(text).length;
        expect(counter.countSync(text)).toBe(tokens);
        expect(await counter.count(text)).toBe(tokens);
      }),
    );
  });

  test('a text of several megabytes has as many tokens as its lines together, even if a slice ends inside a surrogate pair', async () => {
    // Each line starts a piece, so the whole is the sum. With odd and even offsets, a surrogate pair lies on one border
    // or the other.
    const line = `x${'😀 ok '.repeat(50)}\n`;
    const lines = Math.ceil((2 << 20) / line.length);
    const tokens = counter.countSync(line) * lines;
    expect(await counter.count(line.repeat(lines))).toBe(tokens);
    expect(await counter.count(`x\n${line.repeat(lines)}`)).toBe(tokens + counter.countSync('x\n'));
    expect(await counter.count(`xx\n${line.repeat(lines)}`)).toBe(tokens + counter.countSync('xx\n'));
  });

  test('clipStart keeps the start of a text with at most maxTokens, and splits no surrogate pair', async () => {
    await fc.assert(
      fc.asyncProperty(anyText, maxTokens, async (text, limit) => {
        const clipped = await counter.clipStart(text, limit);
        expect(text.startsWith(clipped)).toBe(true);
        expectClipped({ text, clipped, cut: text.slice(clipped.length - 1, clipped.length + 1), limit });
      }),
      { numRuns: 500 },
    );
  });

  test('clipEnd keeps the end of a text with at most maxTokens, and splits no surrogate pair', async () => {
    await fc.assert(
      fc.asyncProperty(anyText, maxTokens, async (text, limit) => {
        const clipped = await counter.clipEnd(text, limit);
        expect(text.endsWith(clipped)).toBe(true);
        const at = text.length - clipped.length;
        expectClipped({ text, clipped, cut: text.slice(at - 1, at + 1), limit });
      }),
      { numRuns: 500 },
    );
  });

  interface Clipped {
    readonly text: string;
    readonly clipped: string;
    /** The two UTF-16 units around the cut. */
    readonly cut: string;
    readonly limit: number;
  }

  function expectClipped({ text, clipped, cut, limit }: Clipped): void {
    const tokens = counter.countSync(clipped);
    expect(tokens).toBeLessThanOrEqual(limit);
    // A code point has at most four tokens. A cut that moves back after the tokens are counted again loses at most four
    // more.
    expect(counter.countSync(text) <= limit ? clipped === text : tokens > limit - 8).toBe(true);
    // The two units around the cut are no surrogate pair. The text may contain half of a pair there.
    expect(clipped !== text && clipped !== '' && (cut.codePointAt(0) ?? 0) > 0xffff).toBe(false);
  }

  test('clipStart and clipEnd clip a long run of blanks, for which their first estimate is too short', async () => {
    const text = `${' '.repeat(20_000)}x`;
    for (const clipped of [await counter.clipStart(text, 20), await counter.clipEnd(text, 20)]) {
      expect(clipped.length).toBeGreaterThan(1_000);
      expect(counter.countSync(clipped)).toBeLessThanOrEqual(20);
    }
  });

  test('clipStart and clipEnd with a limit of 20 tokens keep 20 repetitions of the longest token of the encoding', async () => {
    const longest = ' '.repeat(counter.longestTokenBytes);
    expect(counter.encode(longest)).toHaveLength(1);
    const text = longest.repeat(100);
    expect(await counter.clipStart(text, 20)).toBe(longest.repeat(20));
    expect(await counter.clipEnd(text, 20)).toBe(longest.repeat(20));
    const ids = Array.from({ length: TOKENS[encoding] }, (_, id) => id);
    const lengths = ids.map((id) => tiktoken.decode_single_token_bytes(id).length);
    expect(counter.longestTokenBytes).toBe(lengths.reduce((a, b) => Math.max(a, b)));
  });
});
