import { describe, expect, test } from 'vitest';
import { cutContext } from '../../src/domain/compaction/eviction.ts';
import { findLastModelSeq, layOutInSlices } from '../../src/domain/compaction/layout.ts';
import { completePolicy, type EvictionStrategy, type PolicyInput } from '../../src/domain/policy.ts';
import { runToEnd } from '../../src/domain/sliced.ts';
import { contextOf, maskLine } from './alphabet.ts';

interface CutSetting extends PolicyInput {
  readonly excess?: number;
  readonly excessBytes?: number;
  readonly relax?: boolean;
}

/** Writes the line with `.` for each message that a cut takes. Without a strategy, the cut takes the excess. */
function cutLine(line: string, { excess = 0, excessBytes = 0, relax = false, strategy, ...policy }: CutSetting) {
  const { items } = contextOf(line);
  const first = items.find((item) => item.message.role === 'user')?.from;
  const layout = runToEnd(
    layOutInSlices(items, completePolicy({ retentionWindow: 0, ...policy }), {
      firstUserSeq: first,
      lastModelSeq: findLastModelSeq(items),
    }),
  );
  const cut = cutContext(layout, {
    ...(strategy === undefined ? {} : { strategy }),
    excess: { tokens: excess, bytes: excessBytes },
    mayRelaxFloor: relax,
  });
  const gone = items.filter((_, position) => cut.groups.has(layout.groupOf[position] as number));
  return { left: maskLine(line, gone, []), tokens: cut.weight.tokens, isFloorRelaxed: cut.isFloorRelaxed };
}

describe('bytes', () => {
  test('a cut continues until both its tokens and its bytes cover the excess', () => {
    expect(cutLine('su a a a u', { excess: 10, excessBytes: 80 }).left).toBe('su..au');
    expect(cutLine('su a a a u', { excess: 0, excessBytes: 1 }).left).toBe('su.aau');
  });
});

describe('strategies', () => {
  const ten = 's(ua)x5 u';
  test.each<{ strategy: EvictionStrategy; left: string }>([
    { strategy: { evict: 0.5 }, left: 'su.....uauau' },
    { strategy: { evict: 1 }, left: 'su.........u' },
    { strategy: { retain: 10 }, left: 'su..auauauau' },
    { strategy: { retain: 0 }, left: 'su.........u' },
    { strategy: { retain: 100 }, left: 'suauauauauau' },
    { strategy: { min: [{ evict: 1 }, { retain: 10 }] }, left: 'su..auauauau' },
    { strategy: { max: [{ evict: 0.1 }, { retain: 10 }] }, left: 'su..auauauau' },
    { strategy: { max: [{ min: [{ evict: 1 }, { retain: 100 }] }, { evict: 0.1 }] }, left: 'su.uauauauau' },
  ])('the strategy $strategy leaves $left of twelve messages', ({ strategy, left }) => {
    expect(cutLine(ten, { strategy }).left).toBe(left);
  });

  test('an eviction of 0.55 stops at exactly 55 of 100 tokens', () => {
    // 0.55 × 100 is 55.00000000000001 in binary: compared with that, a third group would go.
    expect(cutLine('u a:50 a:5 a:45', { strategy: { evict: 0.55 } })).toMatchObject({ left: 'u..a', tokens: 55 });
    expect(cutLine('u a:50 a:4 a:46', { strategy: { evict: 0.55 } }).left).toBe('u...');
  });

  test('an eviction by share takes nothing if no message has tokens', () => {
    expect(cutLine('u a:0 a:0', { strategy: { evict: 1 } }).left).toBe('uaa');
    expect(cutLine('u', { strategy: { evict: 1 } }).left).toBe('u');
  });

  test('the strategy retain counts messages and removes a round only as a whole', () => {
    expect(cutLine('su t{1,2} r1 r2 a u', { strategy: { retain: 5 } }).left).toBe('sutrrau');
    expect(cutLine('su t{1,2} r1 r2 a u', { strategy: { retain: 4 } }).left).toBe('su...au');
  });
});

describe('order', () => {
  test('an eviction takes droppable groups first, then the oldest groups, then summaries', () => {
    const line = 'su S:10 a a a? a u a? u';
    const order = [10, 20, 30, 40, 50, 60].map((excess) => cutLine(line, { excess }).left);
    expect(order).toStrictEqual(['suSaa.auau', 'suSaa.au.u', 'suS.a.au.u', 'suS...au.u', 'suS....u.u', 'suS......u']);
    expect(cutLine(line, { excess: 61 }).left).toBe('su.......u');
  });

  test('an eviction treats a round as droppable only if all its messages are droppable', () => {
    expect(cutLine('su a t? r a u', { excess: 10 }).left).toBe('su.trau');
    expect(cutLine('su a t? r? a u', { excess: 10 }).left).toBe('sua..au');
  });

  test('a cut stops once the excess is gone, and the extent of the strategy counts towards the excess', () => {
    expect(cutLine('su(a)x6 u', { excess: 25 })).toMatchObject({ left: 'su...aaau', tokens: 30 });
    expect(cutLine('su(a)x6 u', { excess: 25, strategy: { evict: 0.9 } }).left).toBe('su......u');
    expect(cutLine('su(a)x6 u', { excess: 0 }).left).toBe('suaaaaaau');
  });
});

describe('the floor', () => {
  const line = 'su a a u a a u a';
  test('a cut never takes the floor without permission to relax it', () => {
    expect(cutLine(line, { excess: 1_000, retentionWindow: 4 })).toStrictEqual({
      left: 'su...aaua',
      tokens: 30,
      isFloorRelaxed: false,
    });
  });

  test('a relaxed floor loses its oldest group first, the first user message last, and never the last user message', () => {
    const relax = (excess: number) => cutLine(line, { excess, retentionWindow: 4, relax: true });
    expect(relax(30)).toMatchObject({ left: 'su...aaua', isFloorRelaxed: false });
    expect(relax(31)).toMatchObject({ left: 'su....aua', isFloorRelaxed: true });
    expect(relax(41)).toMatchObject({ left: 'su.....ua', isFloorRelaxed: true });
    expect(relax(51)).toMatchObject({ left: 'su.....u.', isFloorRelaxed: true });
    expect(relax(61)).toMatchObject({ left: 's......u.', isFloorRelaxed: true });
    expect(relax(1_000)).toMatchObject({ left: 's......u.', tokens: 70 });
  });

  test('a round that reaches into the retention window stays whole, and a relaxed floor loses it first', () => {
    const straddling = 'su t a a r a u';
    expect(cutLine(straddling, { excess: 1_000, retentionWindow: 3 }).left).toBe('sut..rau');
    expect(cutLine(straddling, { excess: 21, retentionWindow: 3, relax: true }).left).toBe('su....au');
  });

  test('a cut never takes results that the model has not read, because the model would repeat their calls for ever', () => {
    const relax = (history: string) => cutLine(history, { excess: 1_000, retentionWindow: 6, relax: true }).left;
    expect(relax('su tr t{1,2} r1 r2')).toBe('su..trr');
    expect(relax('su tr u t{1,2} r1 r2')).toBe('s...utrr');
    expect(relax('su tr a')).toBe('su...');
    expect(relax('su t a r')).toBe('sut.r');
    expect(relax('su t3 t4 r3 r4')).toBe('suttrr');
  });

  test('a cut never takes open rounds or pins', () => {
    expect(cutLine('su a! t t r a u', { excess: 1_000, relax: true }).left).toBe('s.a.t..u');
  });
});

describe('the first message after system', () => {
  const free = { keepFirstUser: false };
  test('a cut continues until the context starts with a user message, even below retain', () => {
    expect(cutLine('s(ua)x3', { ...free, strategy: { retain: 6 } }).left).toBe('s..uaua');
    expect(cutLine('suaaaaua', { ...free, strategy: { retain: 7 } }).left).toBe('s.....ua');
  });

  test('a cut context may start with a summary', () => {
    expect(cutLine('sua S aaua', { ...free, strategy: { retain: 7 } }).left).toBe('s..Saaua');
  });

  test('a cut that looks for a legal start stops before protected groups', () => {
    expect(cutLine('suaaaa', { ...free, retentionWindow: 2, excess: 1_000 }).left).toBe('su..aa');
    const floor = cutLine('suu aaaa u', { ...free, retentionWindow: 4, excess: 10 });
    expect(floor.left).toBe('s.uaaaau');
    expect(cutLine('suaaaau', { ...free, retentionWindow: 4, excess: 10 }).left).toBe('s..aaau');
  });

  test('a cut that looks for a legal start ignores a system message inside the log', () => {
    expect(cutLine('u s a a u', { ...free, excess: 10 }).left).toBe('.s..u');
  });

  test('a log that starts with an assistant message stays as it is if nothing is cut', () => {
    expect(cutLine('saua', { excess: 0 }).left).toBe('saua');
  });
});
