import { expect, test } from 'vitest';
import { isShown } from '../../src/compaction/context-evidence.ts';
import type { ContextItem, ItemSegment } from '../../src/domain/version.ts';

const weight = { tokens: 5, bytes: 20 };
const content = 'x'.repeat(100);
const logged = { role: 'tool', content } as const;

function itemOf(segment?: Partial<ItemSegment>): ContextItem {
  const item = { from: 3, to: 3, ...weight, message: logged, logged };
  return segment === undefined ? item : { ...item, segment: { from: 3, to: 3, weight, ...segment } as ItemSegment };
}

const line = {
  message: 0,
  part: 'result',
  text: 'x',
  partIndex: 0,
  start: 30,
  end: 40,
  owner: -1,
  line: 1,
  depth: 0,
  terms: [],
} as const;

test.each([
  { name: 'an item as in the log shows every line', segment: undefined, shown: true },
  { name: 'a masked item shows no line', segment: { kind: 'masked' } as const, shown: false },
  {
    name: 'an excerpt shows a line within a kept range',
    segment: { kind: 'excerpt', kept: [[20, 50]] } as const,
    shown: true,
  },
  {
    name: 'an excerpt hides a line that a range cuts',
    segment: { kind: 'excerpt', kept: [[35, 50]] } as const,
    shown: false,
  },
  { name: 'a clip shows a line of its start', segment: { kind: 'clipped', keepChars: 90 } as const, shown: true },
  { name: 'a clip hides a line of the middle', segment: { kind: 'clipped', keepChars: 40 } as const, shown: false },
])('isShown decides which lines of a message the context shows: $name', ({ segment, shown }) => {
  expect(isShown(itemOf(segment as Partial<ItemSegment> | undefined), line)).toBe(shown);
});

test('a clipped tool call shows its arguments only up to the length that the clip kept', () => {
  const clipped = itemOf({ kind: 'clipped', keepChars: 40 });
  expect(isShown(clipped, { ...line, part: 'call', start: 0, end: 10 })).toBe(true);
});

test('a clipped message shows a line at its end', () => {
  expect(isShown(itemOf({ kind: 'clipped', keepChars: 40 }), { ...line, start: 85, end: 95 })).toBe(true);
});
