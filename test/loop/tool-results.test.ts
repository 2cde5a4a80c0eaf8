import { beforeAll, expect, test } from 'vitest';
import type { TokenCounter } from '../../src/wire/tokens/token-counter.ts';
import { loadTokenCounter } from '../../src/wire/tokens/token-counter.ts';
import { clipResult } from '../../src/workers/turn/tool-output.ts';
import { holdsShortly } from '../setup/held-loop.ts';

const BYTES = 64 * 1024 * 1024;
const bounds = { maxTokens: 8_000, hasRecall: true };
let counter: TokenCounter;

beforeAll(async () => {
  counter = await loadTokenCounter('o200k_base');
});

/** Builds one flat string, as tools return it. `repeat` would build a tree of strings, which takes time to read. */
function fill(piece: string): string {
  const bytes = Buffer.alloc(BYTES, piece);
  return bytes.toString('utf8');
}

test.each([
  ['of one letter', 'a'],
  ['of blanks', ' '],
  ['of lines', 'The quick brown fox jumps over the lazy dog.\n'],
  ['of Chinese', '好'],
])('clipping a tool result of 64 MiB %s blocks the event loop for less than the limit', async (_name, piece) => {
  const text = fill(piece);
  let content = '';
  const held = await holdsShortly(async () => {
    ({ content } = await clipResult(counter, text, bounds));
  });
  expect(content).toContain('the rest is not kept');
  expect(held).toMatchObject({ isShort: true });
});

test('clipping a tool result of 64 MiB takes about as much time as clipping a result of 1 MiB', async () => {
  const timeClip = async (text: string): Promise<number> => {
    const before = process.threadCpuUsage();
    await clipResult(counter, text, bounds);
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000;
  };
  const pages = 'a'.repeat(1_200_000);
  await timeClip(pages);
  const short = await timeClip(pages);
  const long = await timeClip(fill('a'));
  // The text is 50 times as long. Counting all of it would take 50 times as long.
  expect(long).toBeLessThan(10 * short + 100);
});

test('a short token count ends before ten clips of large tool results that started earlier', async () => {
  const large = fill('a');
  let ended = 0;
  const clips = Array.from({ length: 10 }, async () => {
    await clipResult(counter, large, bounds);
    ended += 1;
  });
  expect(await counter.count('A short message of another conversation.')).toBe(7);
  expect(ended).toBe(0);
  await Promise.all(clips);
});
