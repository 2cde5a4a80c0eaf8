import { describe, expect, test } from 'vitest';
import { loadTokenCounter } from '../../src/wire/tokens/token-counter.ts';
import { holdsShortly } from '../setup/held-loop.ts';
import { readTexts } from './corpus.ts';

describe('count does not block the event loop', () => {
  test.each(['a', 'A', ' ', '好', '-', '\u0301'])(
    'counting 100,000 times %j does not block the event loop',
    async (char) => {
      const counter = await loadTokenCounter('o200k_base');
      const text = char.repeat(100_000);
      expect(await holdsShortly(() => counter.count(text))).toMatchObject({ isShort: true });
    },
  );

  test.each([
    ['1,000,000 Chinese characters in one piece', '好'.repeat(1_000_000)],
    ['1,000,000 alternating letters and marks', 'a\u0301'.repeat(500_000)],
  ])('counting %s does not block the event loop', async (_name, text) => {
    const counter = await loadTokenCounter('cl100k_base');
    expect(await holdsShortly(() => counter.count(text))).toMatchObject({ isShort: true });
  });

  test('ten long counts at once do not block the event loop', async () => {
    const counter = await loadTokenCounter('o200k_base');
    const text = 'a'.repeat(100_000);
    const countTen = () => Promise.all(Array.from({ length: 10 }, () => counter.count(text)));
    expect(await holdsShortly(countTen)).toMatchObject({ isShort: true });
  });

  test('a thousand short counts in a row do not block the event loop', async () => {
    const counter = await loadTokenCounter('o200k_base');
    const text = 'A short message, as thousands are when a file is read. '.repeat(200);
    const countAll = async () => {
      for (let message = 0; message < 1_000; message++) await counter.count(text);
    };
    expect(await holdsShortly(countAll)).toMatchObject({ isShort: true });
  });
});

describe('clipping does not block the event loop', () => {
  test.each([
    ['a megabyte of blanks', ' '.repeat(1_000_000), 8_000],
    ['twenty megabytes of blanks', ' '.repeat(20_000_000), 8_000],
    ['a megabyte of one letter', 'a'.repeat(1_000_000), 80_000],
    ['a million tokens of real text', readTexts().code.repeat(12), 1_000_000],
  ])('clipping %s does not block the event loop', async (_name, text, maxTokens) => {
    const counter = await loadTokenCounter('o200k_base');
    const clipBoth = () => Promise.all([counter.clipStart(text, maxTokens), counter.clipEnd(text, maxTokens)]);
    expect(await holdsShortly(clipBoth)).toMatchObject({ isShort: true });
  });
});
