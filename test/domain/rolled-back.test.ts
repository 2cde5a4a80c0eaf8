import { expect, test } from 'vitest';
import { buildLog, NO_WEIGHT } from '../../src/domain/message.ts';
import { findHidden, findRolledBack, omitRolledBack } from '../../src/domain/rolled-back.ts';
import { type Segment, START_VERSION, type Version } from '../../src/domain/version.ts';

const segment = (kind: 'raw' | 'evicted', from: number, to: number): Segment => ({ kind, from, to, weight: NO_WEIGHT });

function version(number: number, cause: Version['cause'], explained: string[], segments: Segment[]): Version {
  return { ...START_VERSION, number, parent: number - 1, cause, explained, segments, base: segments.at(-1)?.to ?? 0 };
}

const rollback = version(1, 'rollback', ['turn_rolled_back'], [segment('raw', 1, 2), segment('evicted', 3, 4)]);

test('a rollback of a turn hides the messages at the end of its version from the conversation', () => {
  expect(findRolledBack([START_VERSION, rollback])).toEqual([{ from: 3, to: 4 }]);
  const log = buildLog(
    Array.from({ length: 5 }, () => ({ message: { role: 'user', content: 'x' }, tokens: 1, bytes: 1 })),
  );
  expect(omitRolledBack(log, [rollback]).map(({ seq }) => seq)).toEqual([1, 2, 5]);
});

test.each<[string, Version]>([
  ['a pass', version(1, 'pass', [], [segment('evicted', 1, 4)])],
  ['a rollback of a refused version', version(1, 'rollback', ['version_refused'], [segment('evicted', 1, 4)])],
  ['a rollback that keeps the last message', version(1, 'rollback', ['turn_rolled_back'], [segment('raw', 1, 4)])],
])('findRolledBack returns no messages for %s', (_, made) => {
  expect(findRolledBack([made])).toEqual([]);
});

test('messages that a rollback hid stay hidden until a restore shows them again', () => {
  expect(findHidden([rollback], [segment('evicted', 1, 6)])).toEqual([{ from: 3, to: 4 }]);
  expect(findHidden([rollback], [segment('evicted', 1, 3), segment('raw', 4, 4)])).toEqual([{ from: 3, to: 3 }]);
  expect(findHidden([rollback], [segment('raw', 1, 4)])).toEqual([]);
});
