import { expect, it } from 'vitest';
import { scriptedModel } from '../../../src/providers/scripted.ts';
import type { SoloHold } from '../../../src/workers/solo-lock.ts';
import type { TurnPorts } from '../../../src/workers/turn/turn-ports.ts';
import { Fixture, ref } from './fixture.ts';
import { settleTasks } from './manual-timers.ts';

const NEVER = new AbortController().signal;

const DONE = scriptedModel({ decide: () => ({ content: 'done' }) });

/** A turn that two workers have claimed and died with. */
async function openSuspect(wrap?: (ports: TurnPorts) => TurnPorts, model = DONE): Promise<Fixture> {
  const world = await Fixture.open({ model, ...(wrap && { wrap }) });
  await world.accept('t1', 'Hi');
  for (const owner of ['a', 'b']) {
    await world.store.claim(ref, owner, owner);
    world.db.advance(8_001);
  }
  return world;
}

async function hold(world: Fixture): Promise<SoloHold> {
  const held = await world.solo.share(NEVER);
  if (held === undefined) throw new Error('not granted');
  return held;
}

it('a turn during which two workers died waits for its process to become idle, and keeps its lease meanwhile', async () => {
  const world = await openSuspect();
  const neighbour = await hold(world);
  const delivery = world.deliver();
  await settleTasks();
  await world.timers.advance(20_000);
  expect(world.eventsOf('model_called')).toEqual([]);
  expect((await world.store.claim(ref, 'another', 'w')).status).toBe('leased');
  neighbour.release();
  expect(await delivery).toBe('done');
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
  expect(world.solo.isWanted).toBe(false);
  expect(await world.countTimers()).toBe(0);
});

it('a process that runs a turn during which two workers died starts no other work until the turn has recorded an outcome', async () => {
  const seen: string[] = [];
  const model = scriptedModel({
    steps: [{ answer: { toolCalls: [{ name: 'unknown', arguments: {} }] } }, { answer: { content: 'done' } }],
  });
  const wrap = (ports: TurnPorts): TurnPorts => ({
    ...ports,
    turns: {
      ...ports.turns,
      startAlone: async (lease) => {
        seen.push('alone');
        return await ports.turns.startAlone(lease);
      },
      recordStep: async (lease, outcome) => {
        seen.push('recorded');
        return await ports.turns.recordStep(lease, outcome);
      },
      settle: async (...args) => {
        await settleTasks();
        seen.push('settled');
        return await ports.turns.settle(...args);
      },
    },
  });
  const world = await openSuspect(wrap, model);
  const neighbour = await hold(world);
  const delivery = world.deliver();
  await settleTasks();
  const enterLater = async (): Promise<void> => {
    const held = await hold(world);
    seen.push('neighbour');
    held.release();
  };
  const later = enterLater();
  neighbour.release();
  await Promise.all([delivery, later]);
  expect(seen).toEqual(['alone', 'recorded', 'neighbour', 'recorded', 'settled']);
});

it('a worker hands back a turn during which two workers died if the process’s other work does not end, and the turn’s attempts still count', async () => {
  const world = await openSuspect();
  const neighbour = await hold(world);
  const delivery = world.deliver();
  await settleTasks();
  await world.timers.advance(60_000);
  await delivery;
  expect(world.eventsOf('lease_returned')).toMatchObject([{ turn: 't1', isCutOff: false }]);
  expect((await world.db.find(ref))?.attempts).toBe(2);
  expect(world.eventsOf('model_called')).toEqual([]);
  neighbour.release();
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
});

it('a stopping worker hands back a turn that waits to run alone in its process', async () => {
  const world = await openSuspect();
  await hold(world);
  const delivery = world.deliver();
  await settleTasks();
  world.shutdown.begin(10_000, world.timers);
  await delivery;
  expect(world.eventsOf('lease_returned')).toMatchObject([{ turn: 't1', isCutOff: false }]);
});

it('when a turn waits to run alone, its process hands back its other turns at their next step', async () => {
  const called = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const model = scriptedModel({
    decide: async () => {
      called.resolve();
      await gate.promise;
      return { toolCalls: [{ name: 'unknown', arguments: {} }] };
    },
  });
  const world = await Fixture.open({ model });
  await world.accept('t1', 'Hi');
  const delivery = world.deliver();
  await called.promise;
  const alone = world.solo.alone(NEVER);
  gate.resolve();
  expect(await delivery).toBe('done');
  expect(await alone).toBeDefined();
  expect(world.eventsOf('lease_returned')).toMatchObject([{ turn: 't1', isCutOff: false }]);
  expect((await world.db.find(ref))?.attempts).toBe(0);
  expect(world.wakes).toHaveLength(1);
});

it('while a turn runs alone in its process, other jobs delivered to that process claim no work and are postponed by a second', async () => {
  const world = await Fixture.open({ model: scriptedModel({ decide: () => ({ content: 'done' }) }) });
  await world.accept('t1', 'Hi');
  const alone = await world.solo.alone(NEVER);
  const delivery = world.deliver();
  await settleTasks();
  await world.timers.advance(1_000);
  expect(await delivery).toBe('postponed');
  expect((await world.db.find(ref))?.owner).toBeUndefined();
  alone?.release();
  expect(await world.deliver()).toBe('done');
});
