import { beforeAll, expect, test } from 'vitest';
import { clipEnd, clipStart } from '../../src/tokens/clip.ts';
import { KnownPieces } from '../../src/tokens/known-pieces.ts';
import { ShortMerge } from '../../src/tokens/merge.ts';
import { SplitTables } from '../../src/tokens/split-rules.ts';
import type { EncodingTables } from '../../src/tokens/tokenization.ts';
import { importRanks, readVocabulary } from '../../src/tokens/vocabulary.ts';

let tables: EncodingTables;

beforeAll(async () => {
  const [, vocabulary] = runToEnd(readVocabulary(await importRanks('o200k_base')));
  tables = {
    vocabulary,
    split: new SplitTables('o200k_base'),
    known: new KnownPieces(vocabulary, new ShortMerge(vocabulary)),
  };
});

/** Runs a generator to its end. Returns its number of slices and its result. */
function runToEnd<Result>(work: Generator<void, Result>): [slices: number, result: Result] {
  for (let slices = 1; ; slices++) {
    const slice = work.next();
    if (slice.done) return [slices, slice.value];
  }
}

test.each([
  ['clipStart', clipStart],
  ['clipEnd', clipEnd],
])('%s takes no more steps for a text that is a hundred times as long', (_name, clip) => {
  for (const piece of [' ', 'a', '好', '😀', 'Plain words. ']) {
    const [slices, clipped] = runToEnd(clip(tables, piece.repeat(40_000), 200));
    const [slicesOfMore, clippedOfMore] = runToEnd(clip(tables, piece.repeat(4_000_000), 200));
    expect(slicesOfMore).toBe(slices);
    expect(clippedOfMore === clipped).toBe(true);
  }
});
