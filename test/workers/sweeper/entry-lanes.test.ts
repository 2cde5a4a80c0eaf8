import { expect, test } from 'vitest';
import type { DueEntry } from '../../../src/store/due-work.ts';
import { EntryLanes } from '../../../src/workers/sweeper/entry-lanes.ts';
import { ManualTimers, settleTasks } from '../turn/manual-timers.ts';

/** Lanes whose entries end at once. An entry whose name begins with `lost` ends when the test releases it. */
function openLanes() {
  const timers = new ManualTimers();
  const from = timers.now();
  const begun = new Map<string, number>();
  const { promise: back, resolve: comeBack } = Promise.withResolvers<boolean>();
  const lanes = new EntryLanes(async ({ conversation: { id } }) => {
    begun.set(id, timers.now() - from);
    return id.startsWith('lost') ? back : true;
  }, timers);
  const look = async (entries: DueEntry[]): Promise<number> => {
    begun.clear();
    const woken = lanes.handleAll(entries);
    await settleTasks();
    await timers.advance(20_000);
    return woken;
  };
  return { timers, from, begun, look, comeBack: () => comeBack(true) };
}

const entryOf = (id: string): DueEntry => ({ kind: 'turn', conversation: { tenant: '_', id } });
const lose = (count: number, from = 0): DueEntry[] =>
  Array.from({ length: count }, (_, index) => entryOf(`lost-${from + index}`));

test('many slow entries of due work delay the next entry of a sweep hardly longer than one slow entry does', async () => {
  const { begun, look } = openLanes();
  expect(await look([...lose(96), entryOf('c1')])).toBe(1);
  expect(begun.get('c1')).toBeLessThan(3_000);
});

test('a sweep continues with its next entry while slow entries of the sweep before are still being handled', async () => {
  const { timers, begun, look, from } = openLanes();
  await look(lose(16));
  const at = timers.now() - from;
  await look([...lose(112), entryOf('c1')]);
  expect(begun.has('lost-0'), 'in hand').toBe(false);
  expect((begun.get('c1') ?? Number.NaN) - at).toBeLessThan(1_000);
});

test('the sweeper limits the number of slow entries that it handles at the same time', async () => {
  const { begun, look, comeBack } = openLanes();
  expect(await look([...lose(2_500), entryOf('c1')]), 'c1 comes up again').toBe(0);
  expect(begun.size).toBe(2_000);
  comeBack();
  await settleTasks();
  expect(await look([...lose(500, 2_000), entryOf('c1')])).toBe(501);
});
