import { expect, test } from 'vitest';
import { hitsOf, readAhead } from '../../inspector/src/find/hits.ts';
import type { ReportAnswer } from '../../src/api/contract/inspection.ts';

function fatesOf(kept: readonly string[], lost: readonly string[]) {
  const list = (texts: readonly string[]) => texts.map((text, index) => ({ text, seq: index + 1 }));
  return { kept: list(kept), lost: list(lost), keptCount: kept.length, lostCount: lost.length };
}

const report: ReportAnswer = {
  version: 3,
  parent: 2,
  cause: 'pass',
  reasons: [],
  at: 1,
  before: { messages: 9, tokens: 90 },
  after: { messages: 3, tokens: 30 },
  parts: [
    {
      from: 1,
      to: 4,
      strategy: 'structural',
      tokens: 5,
      sourceTokens: 50,
      text: 'W47',
      identifiers: fatesOf(['W47'], ['W4711']),
    },
  ],
  evicted: [
    { from: 5, to: 6, identifiers: fatesOf([], ['W47']) },
    { from: 7, to: 7 },
  ],
  shortened: [{ from: 8, to: 9, identifiers: fatesOf([], ['w47']) }],
};

test('a search in a report lists its hits in summaries, evicted and shortened ranges, nearest first and lost before kept', () => {
  expect(hitsOf(report, '#W47').map(({ fate, text, isKept }) => [fate, text, isKept])).toEqual([
    ['evicted', 'W47', false],
    ['summarized', 'W47', true],
    ['summarized', 'W4711', false],
    ['shortened', 'w47', false],
  ]);
  expect(hitsOf(report, 'W47')[0]).toEqual({
    version: 3,
    fate: 'evicted',
    text: 'W47',
    seq: 1,
    isKept: false,
    from: 5,
    to: 6,
  });
});

async function collect<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  const collected: Value[] = [];
  for await (const value of values) collected.push(value);
  return collected;
}

test('the inspector reads at most three reports at the same time, and returns them in their order', async () => {
  let [reading, most] = [0, 0];
  const read = async (version: number): Promise<number> => {
    reading += 1;
    most = Math.max(most, reading);
    await new Promise(setImmediate);
    reading -= 1;
    return version;
  };
  expect(await collect(readAhead([9, 8, 7, 6, 5, 4], read))).toEqual([9, 8, 7, 6, 5, 4]);
  expect(most).toBe(3);
});

test('reading several reports ends at the first report that fails, and later failures are handled as well', async () => {
  const fail = async (version: number): Promise<number> => {
    throw new Error(`version ${version} is gone`);
  };
  await expect(collect(readAhead([3, 2, 1], fail))).rejects.toThrow('version 3 is gone');
});
