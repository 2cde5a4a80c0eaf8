import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../../src/domain/agent.ts';
import { type Model, ModelError } from '../../../src/domain/model.ts';
import { scriptedModel } from '../../../src/providers/scripted.ts';
import { Shutdown } from '../../../src/workers/shutdown.ts';
import { TurnDelivery } from '../../../src/workers/turn/turn-delivery.ts';
import { Fixture, ref } from './fixture.ts';
import { settleTasks } from './manual-timers.ts';

const HOUR_MS = 3_600_000;
const DEADLINE_MS = 10_000;

/** The outcome of each model call, in order. */
type Act = 'answers' | 'calls' | 'hangs' | 'is limited' | 'is limited an hour earlier';

async function openWorld(...acts: readonly Act[]): Promise<Fixture> {
  const calls = { toolCalls: [{ id: 'c', name: 'look', arguments: {} }] };
  const scripted = scriptedModel({ decide: ({ messages }) => (messages.length === 1 ? calls : { content: 'done' }) });
  const left = [...acts];
  const model: Model = {
    profile: scripted.profile,
    generate: async (request) => {
      const act = left.shift();
      if (act === 'hangs') return await new Promise(() => undefined);
      if (act === 'is limited an hour earlier') await world.timers.advance(-HOUR_MS);
      if (act !== 'answers' && act !== 'calls') throw new ModelError('retry', 'too many requests');
      return await scripted.generate(request);
    },
  };
  const look = defineTool({ name: 'look', description: '', input: z.object({}), run: async () => 'seen' });
  const world = await Fixture.open({ model, tools: [look] });
  await world.accept('t1', 'Hi');
  await world.timers.advance(700);
  return world;
}

/** A delivery that a stopping worker interrupts, so that the turn is handed back. */
async function deliverUntilStop(world: Fixture): Promise<void> {
  const shutdown = new Shutdown();
  const delivery = new TurnDelivery({ ...world.ports, shutdown }, ref).run();
  await settleTasks();
  shutdown.begin(DEADLINE_MS, world.timers);
  await world.timers.advance(DEADLINE_MS);
  await delivery;
  expect(world.eventsOf('lease_returned').at(-1)).toMatchObject({ turn: 't1' });
}

/** Ends the wait of the turn, whose deadline a clock that runs backwards does not reach. */
function endWait({ db }: Fixture): void {
  db.run('HSET', db.keyspace.turn(ref, 't1'), 'waitFulfilled', 0);
}

it('a worker reports how long a turn waited in the queue only once, even if a stop handed the turn back before its first step', async () => {
  const world = await openWorld('hangs', 'calls', 'answers');
  await deliverUntilStop(world);
  await world.deliver();
  expect(world.eventsOf('turn_claimed').map(({ waitMs }) => waitMs)).toEqual([700, undefined]);
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
});

it('a worker reports a turn’s suspension only once if the clock runs backwards between the claims of the turn', async () => {
  const world = await openWorld('is limited', 'hangs', 'calls', 'answers');
  await world.deliver();
  endWait(world);
  await world.timers.advance(-HOUR_MS);
  await deliverUntilStop(world);
  await world.deliver();
  const suspended = world.eventsOf('turn_claimed').map((event) => event.suspended);
  expect(suspended).toEqual([undefined, { for: 'retry', ms: 0 }, undefined]);
});

it('a worker reports a turn’s suspension if the clock has run backwards since the turn’s earlier steps', async () => {
  const world = await openWorld('calls', 'is limited an hour earlier', 'answers');
  await world.deliver();
  await world.timers.advance(60_000);
  await world.deliver();
  expect(world.eventsOf('turn_claimed').at(-1)).toMatchObject({ suspended: { for: 'retry', ms: 60_000 } });
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
});

it('a worker counts a turn’s wait for its provider once if the clock runs backwards between the claims of the turn', async () => {
  const world = await openWorld('is limited', 'hangs', 'answers', 'answers');
  await world.deliver();
  endWait(world);
  await world.timers.advance(-HOUR_MS);
  await deliverUntilStop(world);
  await world.deliver();
  const { steps } = (await world.store.readSteps(ref, 't1')) ?? {};
  expect([...(steps?.keys() ?? [])].filter((key) => key.startsWith('waited-'))).toEqual(['waited-retry-model-1-1']);
});
