import { expect, it } from 'vitest';
import { settleTasks } from '../turn/manual-timers.ts';
import { FIVE_SEQUENCES, Fixture, ref } from './fixture.ts';

const DEADLINE_MS = 10_000;

it('a stopping worker releases a compaction pass that hangs, and the next delivery continues the pass', async () => {
  let isStuck = true;
  const world = await Fixture.open({
    wrap: (ports) => ({
      ...ports,
      contexts: {
        ...ports.contexts,
        readContext: (...args) => (isStuck ? new Promise(() => undefined) : ports.contexts.readContext(...args)),
      },
    }),
  });
  await world.append(FIVE_SEQUENCES);
  await world.request('manual');
  const delivery = world.deliver();
  await settleTasks();
  world.shutdown.begin(DEADLINE_MS, world.timers);
  await world.timers.advance(DEADLINE_MS);
  expect(await delivery).toEqual({ status: 'postponed', delayMs: 0 });
  expect(world.eventsOf('lease_returned')).toMatchObject([{ what: 'pass', isCutOff: true }]);
  expect(world.shutdown.cutOff).toBe(1);
  expect((await world.db.find(ref))?.pass).toMatchObject({ owner: undefined, attempts: 0 });
  isStuck = false;
  const claim = await world.store.claimPass(ref, 'next', 'job1', 'w');
  expect(claim).toMatchObject({ status: 'claimed', pass: { attempt: 1 } });
});

it('a stopping worker claims no further compaction pass', async () => {
  const world = await Fixture.open();
  await world.append(FIVE_SEQUENCES);
  await world.request('manual');
  world.shutdown.begin(DEADLINE_MS, world.timers);
  expect(await world.deliver()).toEqual({ status: 'postponed', delayMs: 0 });
  expect((await world.db.find(ref))?.pass?.owner).toBeUndefined();
});
