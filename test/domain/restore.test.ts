import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PLACEHOLDER } from '../../src/compaction/budget.ts';
import { buildContext, type Context, weighItems } from '../../src/compaction/context.ts';
import {
  checkHardLimit,
  evictNewer,
  findVersionBefore,
  keepBetween,
  restoreVersion,
  weighOutside,
} from '../../src/compaction/restore.ts';
import { groupMessages } from '../../src/domain/group.ts';
import { runToEnd } from '../../src/domain/interruptible.ts';
import { addWeights, type LogEntry, NO_WEIGHT } from '../../src/domain/message.ts';
import { type Segment, START_VERSION, type Summary, type Version, versionSchema } from '../../src/domain/version.ts';
import { logOf } from './alphabet.ts';
import { errorOf } from './error-of.ts';

const OUTSIDE = { tokens: 40, bytes: 160 };
const TEXT: Summary = { text: 'earlier', covers: { from: 1, to: 1 }, sources: [], depth: 1, model: 'test' };
const summaries = new Map([['text', TEXT]]);

function totalAt(log: readonly LogEntry[], seq: number) {
  return log[seq - 1]?.total ?? NO_WEIGHT;
}

/**
 * A context version over messages 1…base with these segments. Unchanged segments have the size of their log entries.
 */
function versionOf(log: readonly LogEntry[], number: number, segments: readonly Segment[]): Version {
  const base = segments.at(-1)?.to ?? 0;
  const weighed = segments.map((segment): Segment => {
    if (segment.kind !== 'raw') return segment;
    return { ...segment, weight: weighItems(log.slice(segment.from - 1, segment.to)) };
  });
  const weight = weighItems(weighed.map((segment) => segment.weight));
  const measuredAt = { head: base, ...addWeights(weight, OUTSIDE) };
  const parent = number - 1;
  return {
    ...START_VERSION,
    number,
    parent,
    cause: 'pass',
    base,
    segments: weighed,
    weight,
    baseTotal: totalAt(log, base),
    measuredAt,
  };
}

function contextAt(version: Version, log: readonly LogEntry[], head = log.length): Context {
  return buildContext({ version, head, entries: log, summaries });
}

function contents({ items }: Context): string[] {
  return items.map(({ message }) => JSON.stringify(message));
}

interface Case {
  readonly log: LogEntry[];
  readonly target: Version;
  readonly live: Version;
}

const pieces = fc.constantFrom(
  'u',
  'a',
  'a?',
  'u!',
  'a!',
  'tr',
  'tr!',
  't{1,2}r2r1',
  't{1,2}r1 u r2',
  't{1,2} u! r2r1',
);

/** A log, its current version, and an old version that may end in the middle of a tool round. */
const cases: fc.Arbitrary<Case> = fc
  .record({
    line: fc.array(pieces, { minLength: 1, maxLength: 12 }).map((parts) => parts.join(' ')),
    cut: fc.nat(1_000),
    fates: fc.array(fc.constantFrom<Segment['kind']>('raw', 'raw', 'evicted', 'summary'), { minLength: 40 }),
  })
  .map(({ line, cut, fates }) => {
    const log = logOf(line);
    const base = cut % (log.length + 1);
    const kinds: Segment['kind'][] = log.map(() => 'raw');
    groupMessages(log.map(({ message }) => message)).forEach(({ positions }, index) => {
      const isRemovable =
        positions.every((position) => position < base) && positions.every((at) => log[at]?.message.pinned !== true);
      const isRun = positions.every((position, at) => at === 0 || position === (positions[at - 1] as number) + 1);
      const fate = fates[index] ?? 'raw';
      if (isRemovable) for (const position of positions) kinds[position] = isRun || fate !== 'summary' ? fate : 'raw';
    });
    return { log, target: versionOf(log, 1, segmentsOf(kinds.slice(0, base))), live: versionOf(log, 4, []) };
  });

function segmentsOf(kinds: readonly Segment['kind'][]): Segment[] {
  const segments: Segment[] = [];
  kinds.forEach((kind, index) => {
    const last = segments.at(-1);
    if (last?.kind === kind) segments[segments.length - 1] = { ...last, to: index + 1 };
    else if (kind === 'summary') {
      const weight = { tokens: 5, bytes: 20 };
      segments.push({ kind, from: index + 1, to: index + 1, weight, version: 1, summaryKey: 'text', depth: 1 });
    } else {
      segments.push({ kind: kind as 'raw', from: index + 1, to: index + 1, weight: NO_WEIGHT });
    }
  });
  return segments;
}

function restored({ log, target, live }: Case, newer: 'keep' | 'drop'): Version {
  const end = { head: log.length, total: totalAt(log, log.length) };
  const kept = keepBetween({ head: target.base, total: target.baseTotal }, end);
  return restoreVersion({
    cause: 'restore',
    live,
    target,
    newer: newer === 'keep' ? kept : runToEnd(evictNewer(log.slice(target.base))),
    log: end,
    outside: OUTSIDE,
    explained: [],
    now: 9,
  });
}

describe('any restored version', () => {
  test('a restored version covers the whole log without gaps and states the size of its contents', () => {
    fc.assert(
      fc.property(cases, fc.constantFrom('keep', 'drop'), (sample, newer) => {
        const version = restored(sample, newer);
        const { log } = sample;
        expect(versionSchema.parse(version)).toStrictEqual(version);
        expect(version).toMatchObject({ number: 5, parent: 4, base: log.length, cause: 'restore' });
        let next = 1;
        for (const { from, to } of version.segments) {
          expect(from).toBe(next);
          expect(to).toBeGreaterThanOrEqual(from);
          next = to + 1;
        }
        expect(next).toBe(log.length + 1);
        const context = contextAt(version, log);
        expect(weighItems(context.items)).toStrictEqual(version.weight);
        expect(version.baseTotal).toStrictEqual(totalAt(log, log.length));
        expect(version.tokensAfter).toBe(version.weight.tokens + OUTSIDE.tokens);
        expect(version.tokensBefore).toBe(totalAt(log, log.length).tokens + OUTSIDE.tokens);
      }),
      { numRuns: 1_000 },
    );
  });

  test('a restore that keeps newer messages produces the old context followed by the newer log, byte for byte', () => {
    fc.assert(
      fc.property(cases, (sample) => {
        const version = restored(sample, 'keep');
        expect(contents(contextAt(version, sample.log))).toStrictEqual(contents(contextAt(sample.target, sample.log)));
      }),
      { numRuns: 1_000 },
    );
  });

  test('a restore that drops newer messages keeps only pinned ones and the results of older calls', () => {
    fc.assert(
      fc.property(cases, (sample) => {
        const { log, target } = sample;
        const version = restored(sample, 'drop');
        const context = contextAt(version, log);
        const old = contents(contextAt(target, log, target.base));
        expect(contents(context).slice(0, old.length)).toStrictEqual(old);
        const behind = context.items.slice(old.length);
        const groups = groupMessages(log.map(({ message }) => message)).map(({ positions }) => positions);
        for (const { from } of behind) {
          const members = groups.find((positions) => positions.includes(from - 1)) ?? [];
          const isPinned = members.some((position) => log[position]?.message.pinned === true);
          expect(isPinned || (members[0] ?? 0) < target.base, `message ${from} stays`).toBe(true);
        }
        const pins = log.filter(({ seq, message }) => seq > target.base && message.pinned === true);
        const shown = new Set(behind.map(({ from }) => from));
        expect(pins.filter(({ seq }) => !shown.has(seq))).toStrictEqual([]);
        // Tool results need their calls, and calls need those results that the log has.
        const rounds = groupMessages(context.items.map(({ message }) => message));
        expect(rounds.filter(({ isOpen }) => isOpen)).toStrictEqual([]);
        const single = context.items.filter(({ message }) => message.role !== 'summary');
        expect(version.archived).toBe(log.length - single.length);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('sizes after a restore', () => {
  const log = logOf('(ua)x4');

  test('a restore takes the size of system prompt and tools from the newest version that was measured at the same message', () => {
    const measured = versionOf(log, 1, [{ kind: 'raw', from: 1, to: 4, weight: NO_WEIGHT }]);
    const putBack: Version = { ...measured, number: 2, measuredAt: { head: 7, tokens: 999, bytes: 999 } };
    expect(weighOutside([measured, putBack])).toStrictEqual(OUTSIDE);
    expect(weighOutside([])).toStrictEqual({ tokens: 3, bytes: 0 });
  });

  test('a restore keeps the placeholder’s size apart from the size of the items, even if an older record stores their sum', () => {
    const found = versionOf(log, 1, [
      { kind: 'evicted', from: 1, to: 1, weight: NO_WEIGHT },
      { kind: 'raw', from: 2, to: 4, weight: NO_WEIGHT },
    ]);
    const older = { ...found, weight: addWeights(found.weight, PLACEHOLDER) };
    for (const target of [older, { ...found, placeholder: PLACEHOLDER }]) {
      const version = restored({ log, target, live: target }, 'keep');
      expect(version).toMatchObject({ weight: weighItems(log.slice(1)), placeholder: PLACEHOLDER });
      expect(version.tokensAfter).toBe(addWeights(weighItems(log.slice(1)), PLACEHOLDER).tokens + OUTSIDE.tokens);
    }
  });

  test('a restore of a context above the hard limit is refused with the calculation, and a restore below that limit is accepted', () => {
    const version = restored({ log, target: START_VERSION, live: START_VERSION }, 'keep');
    expect(version.tokensAfter).toBe(120);
    expect(() => checkHardLimit(version, OUTSIDE, 121)).not.toThrow();
    const error = errorOf(() => checkHardLimit(version, OUTSIDE, 120));
    const sum = 'messages 80 + system, tools and framing 40 = 120 >= hard limit 120';
    expect(error).toMatchObject({ code: 'over_hard_limit', field: 'version', details: { sum } });
    expect(error.message).toContain(
      'would have 120 tokens (messages 80 + system, tools and framing 40), but must stay below the hard limit of 120',
    );
  });
});

describe('the version that was live before a message', () => {
  const log = logOf('(ua)x8');
  const over = (number: number, to: number): Version =>
    versionOf(log, number, [{ kind: 'raw', from: 1, to, weight: NO_WEIGHT }]);

  test('a rollback of a turn returns to the newest context version that contains no message of that turn', () => {
    const versions = [over(1, 2), over(2, 6), over(3, 12), over(4, 6)];
    expect(findVersionBefore(versions, 7)?.number).toBe(4);
    expect(findVersionBefore(versions, 6)?.number).toBe(1);
    expect(findVersionBefore(versions, 13)?.number).toBe(4);
    expect(findVersionBefore(versions, 1)).toBe(START_VERSION);
    expect(findVersionBefore([], 1)).toBe(START_VERSION);
  });

  test('a rollback of a turn finds no version if the version from before the turn is no longer stored', () => {
    expect(findVersionBefore([over(3, 4), over(4, 6)], 3)).toBeUndefined();
  });
});
