import { describe, expect, test } from 'vitest';
import { buildContext, weighItems } from '../../src/compaction/context.ts';
import { diffInSlices } from '../../src/compaction/diff.ts';
import { canRebase } from '../../src/compaction/rebase.ts';
import { describeRange, segmentItems } from '../../src/compaction/segments.ts';
import { rangesToRead } from '../../src/domain/context-source.ts';
import { runToEnd } from '../../src/domain/interruptible.ts';
import { NO_WEIGHT } from '../../src/domain/message.ts';
import type { PassPlan } from '../../src/domain/pass-plan.ts';
import { type Segment, START_VERSION, type Summary, type Version, versionSchema } from '../../src/domain/version.ts';
import { contextOf, logOf } from './alphabet.ts';
import { errorOf } from './error-of.ts';

const diffVersions = (before: Version, after: Version) => runToEnd(diffInSlices(before, after));

type Part = readonly [kind: 'raw' | 'evicted' | 'summary', from: number, to: number, text?: string];

/** A context version with these segments, which ends where the last one ends. */
function versionWith(number: number, ...parts: readonly Part[]): Version {
  const segments = parts.map(([kind, from, to, text = `text-${from}-${to}`]): Segment => {
    const weight = kind === 'evicted' ? NO_WEIGHT : { tokens: 10, bytes: 40 };
    return kind === 'summary'
      ? { kind, from, to, version: 1, weight, summaryKey: text, depth: 1 }
      : { kind, from, to, weight };
  });
  return { ...START_VERSION, number, parent: 0, cause: 'pass', base: parts.at(-1)?.[2] ?? 0, segments };
}

const raw = (from: number, to: number): Part => ['raw', from, to];
const evicted = (from: number, to: number): Part => ['evicted', from, to];
const summary = (from: number, to: number, text?: string): Part =>
  text === undefined ? ['summary', from, to] : ['summary', from, to, text];

function summaries(...texts: readonly string[]): Map<string, Summary> {
  return new Map(
    texts.map((text) => [
      text,
      { text: `about ${text}`, covers: { from: 1, to: 1 }, sources: [], depth: 1, model: 'test' },
    ]),
  );
}

describe('context of a version', () => {
  const version = versionWith(3, raw(1, 2), summary(3, 5), evicted(6, 6), raw(7, 8));
  const entries = logOf('su(a)x3 u a u (ua)x3');
  const source = { version, entries, summaries: summaries('text-3-5') };

  test('the context of a version consists of its segments and all later log entries', () => {
    const { items } = buildContext({ ...source, head: 10 });
    expect(items.map(({ from, to, message }) => [from, to, message.content])).toStrictEqual([
      [1, 1, 's 1'],
      [2, 2, 'u 2'],
      [3, 5, 'about text-3-5'],
      [7, 7, 'a 7'],
      [8, 8, 'u 8'],
      [9, 9, 'u 9'],
      [10, 10, 'a 1 0'],
    ]);
    expect(items[2]).toMatchObject({
      message: { role: 'summary', summary: { from: 3, to: 5, version: 1 } },
      tokens: 10,
    });
    expect(weighItems(items)).toStrictEqual({ tokens: 70, bytes: 280 });
  });

  test('an old version still gives the same bytes after later versions and appended messages', () => {
    const shown = JSON.stringify(buildContext({ ...source, head: 8 }));
    const longer = logOf('su(a)x3 u a u (ua)x30');
    const more = summaries('text-3-5', 'text-1-9');
    expect(JSON.stringify(buildContext({ version, head: 8, entries: longer, summaries: more }))).toBe(shown);
    const atTen = buildContext({ ...source, head: 10 }).items;
    expect(JSON.stringify(atTen.slice(0, 5))).toBe(JSON.stringify(buildContext({ ...source, head: 8 }).items));
  });

  test('building a context reads the log entries that the version leaves unchanged, and all entries after the version', () => {
    expect(rangesToRead(version, 10)).toStrictEqual([
      { from: 1, to: 2 },
      { from: 7, to: 10 },
    ]);
    expect(rangesToRead(version, 8)).toHaveLength(2);
    expect(rangesToRead(START_VERSION, 0)).toStrictEqual([]);
    const read = rangesToRead(version, 10).flatMap(({ from, to }) => entries.slice(from - 1, to));
    expect(buildContext({ ...source, entries: read, head: 10 })).toStrictEqual(buildContext({ ...source, head: 10 }));
  });

  test('building a context throws an error if a log entry or summary is missing', () => {
    const error = errorOf(() => buildContext({ ...source, entries: entries.slice(0, 7), head: 8 }));
    expect(error).toMatchObject({ code: 'not_found', details: { seq: 8 } });
    const noText = errorOf(() => buildContext({ ...source, summaries: new Map(), head: 8 }));
    expect(noText.code).toBe('not_found');
    expect(noText.message).toContain('3…5');
  });

  test('a stored context version parses to its original value', () => {
    expect(versionSchema.parse(JSON.parse(JSON.stringify(version)))).toStrictEqual(version);
    expect(versionSchema.safeParse({ ...version, segments: [{ kind: 'gone', from: 1, to: 2 }] }).success).toBe(false);
  });
});

describe('segments of a context version', () => {
  test('segmentItems marks messages without an item as evicted and joins neighbours of the same kind', () => {
    const { items } = contextOf('su(a)x6 u');
    const kept = items.filter((item) => ![1, 4, 5, 9].includes(item.from));
    expect(segmentItems(kept, 9).map(({ kind, from, to, weight }) => [kind, from, to, weight.tokens])).toStrictEqual([
      ['evicted', 1, 1, 0],
      ['raw', 2, 3, 20],
      ['evicted', 4, 5, 0],
      ['raw', 6, 8, 30],
      ['evicted', 9, 9, 0],
    ]);
  });

  test('segmentItems builds one evicted segment for an empty context and none for an empty log', () => {
    expect(segmentItems([], 5)).toStrictEqual([{ kind: 'evicted', from: 1, to: 5, weight: NO_WEIGHT }]);
    expect(segmentItems([], 0)).toStrictEqual([]);
  });

  test('describeRange gives the same description of a range, no matter where the version ends its unchanged segment', () => {
    const range = { from: 3, to: 9 };
    expect(describeRange(versionWith(1, raw(1, 5)), range)).toStrictEqual(describeRange(START_VERSION, range));
    expect(describeRange(versionWith(1, raw(1, 4), summary(5, 12)), range)).toStrictEqual([
      'raw 3-4 ',
      'summary 5-12 text-5-12',
    ]);
    expect(describeRange(versionWith(1, evicted(1, 5), raw(6, 12)), range)).toStrictEqual(['evicted 3-5 ', 'raw 6-9 ']);
  });
});

describe('rebase of a plan onto another context version', () => {
  const planned = versionWith(1, raw(1, 2), summary(3, 5), raw(6, 10));
  const plan: PassPlan = {
    kind: 'summarize',
    reasons: ['ratio'],
    version: 1,
    head: 20,
    tokens: 900,
    sequences: [{ from: 3, to: 9, tokens: 300, maxTokens: 150, userTokens: 0 }],
    evict: [],
    explained: [],
  };

  test.each<[boolean, string, Version]>([
    [true, 'the planned version itself', planned],
    [true, 'a version that changed only other messages', versionWith(2, evicted(1, 2), summary(3, 5), raw(6, 10))],
    [true, 'a version that covers more messages', versionWith(2, raw(1, 2), summary(3, 5), raw(6, 18))],
    [true, 'a version that ends at the last message of the plan', versionWith(2, raw(1, 2), summary(3, 5), raw(6, 20))],
    [
      false,
      'a version that a rollback made',
      { ...versionWith(2, raw(1, 2), summary(3, 5), raw(6, 10)), cause: 'rollback' },
    ],
    [
      false,
      'a version that ends after the last message of the plan',
      versionWith(2, raw(1, 2), summary(3, 5), raw(6, 21)),
    ],
    [
      false,
      'a version with another summary in the range',
      versionWith(2, raw(1, 2), summary(3, 5, 'other'), raw(6, 10)),
    ],
    [false, 'a version with the messages instead of their summary', versionWith(2, raw(1, 10))],
    [
      false,
      'a version that evicted a part of the range',
      versionWith(2, raw(1, 2), summary(3, 5), evicted(6, 6), raw(7, 10)),
    ],
    [false, 'a version that evicted the whole range', versionWith(2, raw(1, 2), evicted(3, 10))],
    [
      false,
      'a version that summarized the end of the range',
      versionWith(2, raw(1, 2), summary(3, 5), raw(6, 7), summary(8, 10)),
    ],
  ])('canRebase returns %s for a plan when the current version is %s', (can, _name, live) => {
    expect(canRebase(plan, planned, live)).toBe(can);
  });

  test('canRebase accepts a planned eviction only if all messages to evict are still in the context', () => {
    const evicting: PassPlan = { ...plan, kind: 'evict', sequences: [], evict: [{ from: 1, to: 2 }] };
    expect(canRebase(evicting, planned, versionWith(2, raw(1, 2), evicted(3, 10)))).toBe(true);
    expect(canRebase(evicting, planned, versionWith(2, evicted(1, 1), raw(2, 10)))).toBe(false);
  });

  test('canRebase accepts planned clips and masks only if their messages are still as the plan saw them', () => {
    const clipping: PassPlan = { ...plan, kind: 'evict', sequences: [], shorten: [{ from: 2, to: 2 }] };
    const clipped = { kind: 'clipped' as const, from: 2, to: 2, weight: { tokens: 1, bytes: 1 }, keepChars: 40 };
    const [first, second] = [versionWith(2, raw(1, 2)), versionWith(2, raw(1, 1))];
    expect(canRebase(clipping, planned, first)).toBe(true);
    expect(canRebase(clipping, planned, { ...second, segments: [...second.segments, clipped] })).toBe(false);
  });
});

describe('diff of two context versions', () => {
  test.each<{ name: string; before: Version; after: Version; changes: (string | number)[][] }>([
    { name: 'no change', before: versionWith(1, raw(1, 5)), after: versionWith(2, raw(1, 9)), changes: [] },
    {
      name: 'the changes of the first version',
      before: START_VERSION,
      after: versionWith(1, raw(1, 2), summary(3, 5), evicted(6, 7), raw(8, 9)),
      changes: [
        [3, 5, 'raw', 'summary'],
        [6, 7, 'raw', 'evicted'],
      ],
    },
    {
      name: 'one change for neighbours that change alike',
      before: versionWith(1, raw(1, 3), raw(4, 9)),
      after: versionWith(2, evicted(1, 2), evicted(3, 6), raw(7, 9)),
      changes: [[1, 6, 'raw', 'evicted']],
    },
    {
      name: 'a summary with another key',
      before: versionWith(1, raw(1, 2), summary(3, 5, 'one'), raw(6, 9)),
      after: versionWith(2, raw(1, 2), summary(3, 7, 'two'), raw(8, 9)),
      changes: [
        [3, 5, 'summary', 'summary'],
        [6, 7, 'raw', 'summary'],
      ],
    },
    {
      name: 'messages that return to the context',
      before: versionWith(2, evicted(1, 4), raw(5, 6)),
      after: versionWith(3, raw(1, 2), evicted(3, 8)),
      changes: [
        [1, 2, 'evicted', 'raw'],
        [5, 8, 'raw', 'evicted'],
      ],
    },
  ])('diffVersions lists $name, in both directions', ({ before, after, changes }) => {
    const found = diffVersions(before, after);
    expect(found.map((change) => [change.from, change.to, change.before, change.after])).toStrictEqual(changes);
    const back = diffVersions(after, before);
    expect(back.map((change) => [change.from, change.to, change.after, change.before])).toStrictEqual(changes);
  });

  test('diffVersions finds no difference between a version and itself', () => {
    const version = versionWith(1, raw(1, 2), summary(3, 5), evicted(6, 7));
    expect(diffVersions(version, version)).toStrictEqual([]);
    expect(diffVersions(START_VERSION, START_VERSION)).toStrictEqual([]);
  });
});
