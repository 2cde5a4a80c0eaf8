import { beforeAll, expect, test } from 'vitest';
import { clipEnd, clipStart } from '../../src/wire/tokens/clip.ts';
import { KnownPieces } from '../../src/wire/tokens/known-pieces.ts';
import { ShortMerge } from '../../src/wire/tokens/merge.ts';
import { SplitTables } from '../../src/wire/tokens/split-rules.ts';
import type { EncodingTables } from '../../src/wire/tokens/tokenization.ts';
import { importRanks, readVocabulary } from '../../src/wire/tokens/vocabulary.ts';

let tables: EncodingTables;

beforeAll(async () => {
  const [, vocabulary] = runToEnd(readVocabulary(await importRanks('o200k_base')));
  tables = {
    vocabulary,
    split: new SplitTables('o200k_base'),
    shortMerge: new ShortMerge(vocabulary),
    known: new KnownPieces(),
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
])('the function %s needs no more steps for a text that is a hundred times as long', (_name, clip) => {
  for (const piece of [' ', 'a', '好', '😀', 'Plain words. ']) {
    // Each run starts without known pieces, which save steps.
    const clipNew = (text: string) => runToEnd(clip({ ...tables, known: new KnownPieces() }, text, 200));
    const [slices, clipped] = clipNew(piece.repeat(40_000));
    const [slicesOfMore, clippedOfMore] = clipNew(piece.repeat(4_000_000));
    expect(slicesOfMore).toBe(slices);
    expect(clippedOfMore === clipped).toBe(true);
  }
});
