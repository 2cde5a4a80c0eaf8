import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { rangesToRead } from '../../src/domain/context-source.ts';
import { choosePackable, isWorthPacking } from '../../src/domain/log-packing.ts';
import { NO_WEIGHT } from '../../src/domain/message.ts';
import { type Segment, type SeqRange, START_VERSION, type Version } from '../../src/domain/version.ts';

const kinds = fc.constantFrom<Segment['kind'][]>('raw', 'masked', 'evicted', 'summary');

/** Versions whose segments cover 1…base. */
const versions = fc.array(fc.tuple(kinds, fc.integer({ min: 1, max: 5 })), { maxLength: 12 }).map((parts): Version => {
  let base = 0;
  const segments = parts.map(([kind, length]): Segment => {
    const range = { from: base + 1, to: base + length, weight: NO_WEIGHT };
    base += length;
    if (kind === 'summary') return { ...range, kind, version: 1, summaryKey: 'k', depth: 1 };
    return { ...range, kind } as Segment;
  });
  return { ...START_VERSION, number: 1, base, segments };
});

const ranges = fc.array(
  fc.tuple(fc.integer({ min: 1, max: 60 }), fc.nat(6)).map(([from, length]) => ({ from, to: from + length })),
  { maxLength: 6 },
);

const logs = fc.record({
  version: versions,
  newer: fc.nat(20),
  isIdle: fc.boolean(),
  inputSeq: fc.nat(30),
  packed: ranges,
});

function listSeqs(list: readonly SeqRange[]): number[] {
  return list.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, at) => from + at));
}

test('choosePackable packs each log entry that the context hides once, or each entry if the conversation is idle, except entries that Lua scripts read', () => {
  fc.assert(
    fc.property(logs, ({ version, newer, isIdle, inputSeq, packed }) => {
      const head = version.base + newer;
      const shown = new Set(listSeqs(rangesToRead(version, version.base)));
      const done = new Set(listSeqs(packed));
      const expected = listSeqs([{ from: 1, to: head }]).filter(
        (seq) => seq < head && seq !== inputSeq && !done.has(seq) && !shown.has(seq) && (seq <= version.base || isIdle),
      );
      expect(listSeqs(choosePackable({ version, head, isIdle, inputSeq, packed }))).toEqual(expected);
    }),
  );
});

test('choosePackable packs only existing entries if a lost write left the log shorter than its version', () => {
  const version: Version = {
    ...START_VERSION,
    base: 9,
    segments: [{ kind: 'evicted', from: 1, to: 9, weight: NO_WEIGHT }],
  };
  expect(choosePackable({ version, head: 5, isIdle: false, inputSeq: 0, packed: [] })).toEqual([{ from: 1, to: 4 }]);
  expect(choosePackable({ version, head: 0, isIdle: true, inputSeq: 0, packed: [] })).toEqual([]);
});

test.each([
  [8, 0, true],
  [7, 4_095, false],
  [1, 4_096, true],
])('isWorthPacking for %i log entries of %i bytes returns %s', (entries, bytes, expected) => {
  expect(isWorthPacking({ entries, bytes })).toBe(expected);
});
