import { expect, it } from 'vitest';
import { scriptedModel } from '../../../src/providers/scripted.ts';
import type { SuspectEnd, TurnPorts } from '../../../src/workers/turn/turn-ports.ts';
import { textStep } from '../../store/samples.ts';
import { Fixture, ref } from './fixture.ts';
import { settleTasks } from './manual-timers.ts';

type Run = NonNullable<TurnPorts['suspects']>['run'];

/** A turn that two workers have claimed and died with, and a worker that can start processes. */
async function openSuspect(run: Run): Promise<{ readonly world: Fixture; readonly runs: () => number }> {
  let runs = 0;
  const suspects = {
    run: async (...given: Parameters<Run>): Promise<SuspectEnd> => {
      runs += 1;
      return await run(...given);
    },
  };
  const model = scriptedModel({ decide: () => ({ content: 'done' }) });
  const world = await Fixture.open({ model, wrap: (ports) => ({ ...ports, suspects }) });
  await world.accept('t1', 'Hi');
  for (const owner of ['a', 'b']) {
    await world.store.claim(ref, owner, owner);
    world.db.advance(8_001);
  }
  return { world, runs: () => runs };
}

it('a worker keeps the lease of a turn that runs in a child process, and runs its other turns meanwhile', async () => {
  const held = Promise.withResolvers<SuspectEnd>();
  const { world } = await openSuspect(() => held.promise);
  const delivery = world.deliver();
  await settleTasks();
  await world.timers.advance(20_000);
  expect((await world.store.claim(ref, 'another', 'w')).status).toBe('leased');
  expect(world.solo.isWanted).toBe(false);
  held.resolve('ended');
  expect(await delivery).toBe('done');
  expect(world.eventsOf('model_called')).toEqual([]);
  expect(await world.countTimers()).toBe(0);
});

it('a worker settles a turn as failed (poison) at once when the child process of the turn has died', async () => {
  const { world, runs } = await openSuspect(async (claimed) => {
    await world.store.startAlone(claimed.lease, true);
    return 'died';
  });
  expect(await world.deliver()).toBe('done');
  expect(runs()).toBe(1);
  expect(world.eventsOf('turn_settled')).toMatchObject([{ turn: 't1', outcome: 'failed', code: 'poison' }]);
});

it('a turn that made progress before its child process died runs in another child process, until three deaths without progress', async () => {
  const { world, runs } = await openSuspect(async (claimed) => {
    if (claimed.steps.size === 0) await world.store.recordStep(claimed.lease, textStep('s', 1));
    return 'died';
  });
  expect(await world.deliver()).toBe('done');
  expect(runs()).toBe(3);
  expect(await world.view('t1')).toMatchObject({ state: 'failed', failure: { code: 'poison' } });
});

it('a worker without room for another child process gives the turn back for five seconds, without counting an attempt', async () => {
  const { world } = await openSuspect(async () => 'full');
  expect(await world.deliver()).toBe('done');
  expect(world.eventsOf('lease_returned')).toMatchObject([{ turn: 't1', isCutOff: false }]);
  expect((await world.db.find(ref))?.attempts).toBe(2);
  expect(world.wakes).toEqual([]);
  const due = [...world.db.ready.values()].map((at) => at - world.db.now());
  expect(due).toEqual([5_000]);
});

it('a turn runs alone in the process of its worker if its child process could not start', async () => {
  const { world } = await openSuspect(async () => 'not_started');
  expect(await world.deliver()).toBe('done');
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
});

it('a stopping worker gives back a turn whose child process it has ended', async () => {
  const { world } = await openSuspect(async () => 'stopped');
  expect(await world.deliver()).toBe('done');
  expect(world.eventsOf('lease_returned')).toMatchObject([{ turn: 't1', isCutOff: true }]);
  expect((await world.db.find(ref))?.attempts).toBe(2);
  expect(world.wakes).toHaveLength(1);
});

it('a worker that loses a turn tells the child process of the turn, and reports no death', async () => {
  const { world } = await openSuspect(async (_, leaseEnds) => {
    await new Promise((resolve) => leaseEnds.addEventListener('abort', resolve));
    return 'died';
  });
  const delivery = world.deliver();
  await settleTasks();
  await world.store.cancel(ref, 't1', 'w');
  await world.timers.advance(2_000);
  expect(await delivery).toBe('lost');
  expect(await world.view('t1')).toMatchObject({ state: 'canceled' });
});
