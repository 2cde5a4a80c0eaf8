import { describe, expect, test } from 'vitest';
import { readEvidence } from '../../src/compaction/context-evidence.ts';
import { type Cut, cutContext, cutFloor, evictionCandidates } from '../../src/compaction/eviction.ts';
import { orderByWorth } from '../../src/compaction/group-worth.ts';
import { findLastModelSeq, layOutInSlices } from '../../src/compaction/layout.ts';
import type { EvictionStrategy } from '../../src/domain/eviction-strategy.ts';
import { runToEnd } from '../../src/domain/interruptible.ts';
import { completePolicy, type PolicyInput } from '../../src/domain/policy.ts';
import type { ContextItem } from '../../src/domain/version.ts';
import { contextOf, maskLine } from './alphabet.ts';

interface CutSetting extends PolicyInput {
  readonly excess?: number;
  readonly excessBytes?: number;
  readonly relax?: boolean;
  /** Tokens that the strategy may remove at most. */
  readonly spare?: number;
}

/**
 * Writes the conversation line with `.` for each message that an eviction removes. Without a strategy, the eviction
 * removes as many tokens and bytes as the excess.
 */
function cutLine(line: string, { excess = 0, excessBytes = 0, relax = false, spare, strategy, ...policy }: CutSetting) {
  const { items } = contextOf(line);
  const first = items.find((item) => item.message.role === 'user')?.from;
  const complete = completePolicy({ retentionWindow: 0, ...policy });
  const layout = runToEnd(
    layOutInSlices(items, complete, {
      firstUserSeq: first,
      lastModelSeq: findLastModelSeq(items),
      inputs: new Set(),
    }),
  );
  const { droppable, others } = evictionCandidates(layout);
  const worth = runToEnd(orderByWorth(layout, others, runToEnd(readEvidence(items))));
  const cut = cutContext(layout, {
    order: [...droppable, ...worth],
    ...(strategy === undefined ? {} : { strategy }),
    excess: { tokens: excess, bytes: excessBytes },
    ...(spare === undefined ? {} : { spareTokens: spare }),
  });
  const cuts: Cut[] = [cut];
  // The floor is laid out again, because it is about the items that are left.
  const gone = (): ContextItem[] =>
    items.filter((_, position) => cuts.some(({ groups }) => groups.has(layout.groupOf[position] as number)));
  if (relax) {
    const left = {
      tokens: Math.max(0, excess - cut.weight.tokens),
      bytes: Math.max(0, excessBytes - cut.weight.bytes),
    };
    const rest = items.filter((item) => !gone().includes(item));
    const relaxed = runToEnd(
      layOutInSlices(rest, complete, { firstUserSeq: first, lastModelSeq: findLastModelSeq(items), inputs: new Set() }),
    );
    const second = cutFloor(relaxed, left);
    const went = rest.filter((_, position) => second.groups.has(relaxed.groupOf[position] as number));
    const tokens = cut.weight.tokens + second.weight.tokens;
    return { left: maskLine(line, [...gone(), ...went], []), tokens };
  }
  return { left: maskLine(line, gone(), []), tokens: cut.weight.tokens };
}

describe('eviction by bytes', () => {
  test('an eviction continues until it has removed both the excess tokens and the excess bytes', () => {
    expect(cutLine('su a a a u', { excess: 10, excessBytes: 80 }).left).toBe('su..au');
    expect(cutLine('su a a a u', { excess: 0, excessBytes: 1 }).left).toBe('su.aau');
  });
});

test('an eviction of one token among 1,200 equal messages removes one message', () => {
  const one = cutLine('s(ua)x2 u', { excess: 1 }).tokens;
  expect(one).toBeGreaterThan(0);
  expect(cutLine('s(ua)x600 u', { excess: 1 }).tokens).toBe(one);
});

describe('eviction strategies', () => {
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
  ])('the eviction strategy $strategy leaves $left of twelve messages', ({ strategy, left }) => {
    expect(cutLine(ten, { strategy }).left).toBe(left);
  });

  test('an eviction of the share 0.55 of 100 tokens removes exactly 55 tokens', () => {
    // In binary floating point, 0.55 × 100 is 55.00000000000001. Compared with that number, a third group would be
    // removed.
    expect(cutLine('u a:50 a:5 a:45', { strategy: { evict: 0.55 } })).toMatchObject({ left: 'u..a', tokens: 55 });
    expect(cutLine('u a:50 a:4 a:46', { strategy: { evict: 0.55 } }).left).toBe('u...');
  });

  test('an eviction of a share of the tokens removes no message if all messages have zero tokens', () => {
    expect(cutLine('u a:0 a:0', { strategy: { evict: 1 } }).left).toBe('uaa');
    expect(cutLine('u', { strategy: { evict: 1 } }).left).toBe('u');
  });

  test('the eviction strategy `retain` counts messages, and removes a tool round either whole or not at all', () => {
    expect(cutLine('su t{1,2} r1 r2 a u', { strategy: { retain: 5 } }).left).toBe('sutrrau');
    expect(cutLine('su t{1,2} r1 r2 a u', { strategy: { retain: 4 } }).left).toBe('su...au');
  });
});

describe('order of eviction', () => {
  test('an eviction removes droppable messages first, then the oldest messages, then summaries', () => {
    const line = 'su S:10 a a a? a u a? u';
    const order = [10, 20, 30, 40, 50, 60].map((excess) => cutLine(line, { excess }).left);
    expect(order).toStrictEqual(['suSaa.auau', 'suSaa.au.u', 'suS.a.au.u', 'suS...au.u', 'suS....u.u', 'suS......u']);
    expect(cutLine(line, { excess: 61 }).left).toBe('su.......u');
  });

  test('an eviction treats a tool round as droppable only if all its messages are droppable', () => {
    expect(cutLine('su a t? r a u', { excess: 10 }).left).toBe('su.trau');
    expect(cutLine('su a t? r? a u', { excess: 10 }).left).toBe('sua..au');
  });

  test('an eviction that must remove an excess counts what the strategy removed, and stops once the excess is gone', () => {
    expect(cutLine('su(a)x6 u', { excess: 25 })).toMatchObject({ left: 'su...aaau', tokens: 30 });
    expect(cutLine('su(a)x6 u', { excess: 25, strategy: { evict: 0.9 } }).left).toBe('su......u');
    expect(cutLine('su(a)x6 u', { excess: 0 }).left).toBe('suaaaaaau');
  });
});

describe('messages that an eviction must keep', () => {
  const line = 'su a a u a a u a';
  test('a soft eviction never removes messages of the retention window or the first user message', () => {
    expect(cutLine(line, { excess: 1_000, retentionWindow: 4 })).toStrictEqual({
      left: 'su...aaua',
      tokens: 30,
    });
  });

  test('a hard eviction removes the oldest messages of the retention window first, and never the last user message', () => {
    const relax = (excess: number) => cutLine(line, { excess, retentionWindow: 4, relax: true });
    expect(relax(30)).toMatchObject({ left: 'su...aaua' });
    expect(relax(31)).toMatchObject({ left: 'su....aua' });
    expect(relax(41)).toMatchObject({ left: 'su.....ua' });
    expect(relax(51)).toMatchObject({ left: 'su.....u.' });
    expect(relax(61)).toMatchObject({ left: 's......u.' });
    expect(relax(1_000)).toMatchObject({ left: 's......u.', tokens: 70 });
  });

  test('a soft eviction keeps a whole tool round that starts before the retention window, and a hard eviction removes that round first', () => {
    const straddling = 'su t a a r a u';
    expect(cutLine(straddling, { excess: 1_000, retentionWindow: 3 }).left).toBe('sut..rau');
    expect(cutLine(straddling, { excess: 21, retentionWindow: 3, relax: true }).left).toBe('su....au');
  });

  test('an eviction keeps tool results that the model has not read, because the model would call the tools again', () => {
    const relax = (history: string) => cutLine(history, { excess: 1_000, retentionWindow: 6, relax: true }).left;
    expect(relax('su tr t{1,2} r1 r2')).toBe('su..trr');
    expect(relax('su tr u t{1,2} r1 r2')).toBe('s...utrr');
    expect(relax('su tr a')).toBe('su...');
    expect(relax('su t a r')).toBe('sut.r');
    expect(relax('su t3 t4 r3 r4')).toBe('suttrr');
  });

  test('an eviction never removes pinned messages or tool rounds with unanswered calls', () => {
    expect(cutLine('su a! t t r a u', { excess: 1_000, relax: true }).left).toBe('s.a.t..u');
  });
});

describe('the first message after the system prompt', () => {
  const free = { keepFirstUser: false };
  test('an eviction continues until the context starts with a user message, even if fewer messages than `retain` are left', () => {
    expect(cutLine('s(ua)x3', { ...free, strategy: { retain: 6 } }).left).toBe('s..uaua');
    expect(cutLine('suaaaaua', { ...free, strategy: { retain: 7 } }).left).toBe('s.....ua');
  });

  test('an eviction accepts a summary as the first message of the remaining context', () => {
    expect(cutLine('sua S aaua', { ...free, strategy: { retain: 7 } }).left).toBe('s..Saaua');
  });

  test('an eviction that continues until a user message comes first stops before protected messages', () => {
    expect(cutLine('suaaaa', { ...free, retentionWindow: 2, excess: 1_000 }).left).toBe('su..aa');
    const floor = cutLine('suu aaaa u', { ...free, retentionWindow: 4, excess: 10 });
    expect(floor.left).toBe('s.uaaaau');
    expect(cutLine('suaaaau', { ...free, retentionWindow: 4, excess: 10 }).left).toBe('s..aaau');
  });

  test('an eviction that looks for the first user message skips a system message inside the log', () => {
    expect(cutLine('u s a a u', { ...free, excess: 10 }).left).toBe('.s..u');
  });

  test('a log that starts with an assistant message stays unchanged if nothing needs to be evicted', () => {
    expect(cutLine('saua', { excess: 0 }).left).toBe('saua');
  });
});
