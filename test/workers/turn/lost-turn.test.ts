import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, type Tool } from '../../../src/domain/agent.ts';
import { TurnfoldError } from '../../../src/domain/errors.ts';
import { nameConversation } from '../../../src/domain/ids.ts';
import { TURN_LIMITS } from '../../../src/domain/turn.ts';
import { scriptedModel } from '../../../src/providers/scripted.ts';
import type { TurnPorts } from '../../../src/workers/turn/turn-ports.ts';
import { Fixture, ref } from './fixture.ts';
import { settleTasks } from './manual-timers.ts';

/** Another worker takes over the conversation, as after a freeze of this one. */
async function takeOver(world: Fixture): Promise<void> {
  world.db.advance(TURN_LIMITS.leaseMs + 1);
  await world.store.claim(ref, 'another', 'w');
}

/** Wraps the ports to record what the worker writes after `arm` was called. */
function forbidWrites(ports: TurnPorts): {
  readonly ports: TurnPorts;
  readonly writes: string[];
  arm(): void;
} {
  const writes: string[] = [];
  let isArmed = false;
  const turns = new Proxy(ports.turns, {
    get(target, name) {
      const operation = Reflect.get(target, name) as (...args: unknown[]) => unknown;
      return (...args: unknown[]) => {
        if (isArmed && name !== 'heartbeat') writes.push(String(name));
        return operation(...args);
      };
    },
  });
  return {
    ports: { ...ports, turns },
    writes,
    arm: () => {
      isArmed = true;
    },
  };
}

async function openWatched(options: { model: ReturnType<typeof scriptedModel>; tools?: Tool[] }) {
  let guard: ReturnType<typeof forbidWrites> | undefined;
  const world = await Fixture.open({
    ...options,
    wrap: (ports) => {
      guard = forbidWrites(ports);
      return guard.ports;
    },
  });
  return { world, guard: guard as unknown as ReturnType<typeof forbidWrites> };
}

it('a worker that lost a turn’s lease aborts the model call at the next heartbeat and writes nothing more', async () => {
  let signal: AbortSignal | undefined;
  const model = scriptedModel({
    decide: (request) => {
      signal = request.signal;
      return new Promise<never>(() => {});
    },
  });
  const { world, guard } = await openWatched({ model });
  await world.accept('t1', 'Hi');
  const delivered = world.deliver();
  await settleTasks();
  await takeOver(world);
  guard.arm();
  await world.timers.advance(1_999);
  expect(signal?.aborted).toBe(false);
  await world.timers.advance(1);
  expect(await delivered).toBe('lost');
  expect(signal?.aborted).toBe(true);
  expect(guard.writes).toEqual([]);
  expect(world.eventsOf('model_called')).toMatchObject([{ outcome: 'lost' }]);
  expect(world.eventsOf('lease_lost')).toMatchObject([{ what: 'turn', turn: 't1', why: 'fenced' }]);
  expect(await world.readLog()).toHaveLength(1);
  expect(await world.countTimers()).toBe(0);
});

it('a worker that cannot record a tool result because it lost the lease aborts the other tool calls', async () => {
  const gate = Promise.withResolvers<string>();
  const signals: AbortSignal[] = [];
  const tool = defineTool({
    name: 'wait',
    description: '',
    input: z.object({ for: z.enum(['gate', 'ever']) }),
    run: (given, { signal }) => {
      signals.push(signal);
      return given.for === 'gate' ? gate.promise : new Promise<string>(() => {});
    },
  });
  const calls = ['gate', 'ever'].map((which) => ({ id: which, name: 'wait', arguments: { for: which } }));
  const model = scriptedModel({ steps: [{ answer: { toolCalls: calls } }] });
  const { world } = await openWatched({ model, tools: [tool] as Tool[] });
  await world.accept('t1', 'Hi');
  const delivered = world.deliver();
  await settleTasks();
  await takeOver(world);
  gate.resolve('too late');
  expect(await delivered).toBe('lost');
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, true]);
  expect(await world.readLog()).toHaveLength(2);
  expect(await world.countTimers()).toBe(0);
});

it.each(['recordStep', 'settle'] as const)(
  'a worker that learns of a lost lease from the write %s ends the delivery without an error',
  async (name) => {
    const world: Fixture = await Fixture.open({
      model: scriptedModel({
        steps: [{ answer: { toolCalls: [{ name: 'unknown', arguments: {} }] } }, { answer: { content: 'ok' } }],
      }),
      wrap: (ports) => ({
        ...ports,
        turns: {
          ...ports.turns,
          [name]: async (...args: Parameters<TurnPorts['turns']['settle']>) => {
            await takeOver(world);
            return (ports.turns[name] as TurnPorts['turns']['settle'])(...args);
          },
        },
      }),
    });
    await world.accept('t1', 'Hi');
    expect(await world.deliver()).toBe('lost');
    expect(await world.view('t1')).toMatchObject({ state: 'running' });
    expect(world.eventsOf('turn_settled')).toEqual([]);
    expect(world.eventsOf('lease_lost')).toMatchObject([{ why: 'fenced' }]);
    expect(await world.countTimers()).toBe(0);
  },
);

it('a delivered turn job ends without an error when its conversation is erased', async () => {
  const gate = Promise.withResolvers<{ content: string }>();
  const world = await Fixture.open({ model: scriptedModel({ decide: () => gate.promise }) });
  await world.accept('t1', 'Hi');
  const delivered = world.deliver();
  await settleTasks();
  await world.store.erase(ref);
  gate.resolve({ content: 'to nobody' });
  expect(await delivered).toBe('lost');
  expect(world.eventsOf('lease_lost')).toMatchObject([{ why: 'gone' }]);
  expect(await world.countTimers()).toBe(0);
});

it('the answer of a model call is dropped if the turn was canceled during the call', async () => {
  const gate = Promise.withResolvers<{ content: string }>();
  const world = await Fixture.open({ model: scriptedModel({ decide: () => gate.promise }) });
  await world.accept('t1', 'Hi');
  const delivered = world.deliver();
  await settleTasks();
  await world.store.cancel(ref, 't1', 'w');
  gate.resolve({ content: 'too late' });
  expect(await delivered).toBe('lost');
  expect(await world.view('t1')).toMatchObject({ state: 'canceled' });
  expect(await world.readLog()).toHaveLength(1);
  expect(world.eventsOf('lease_lost')).toMatchObject([{ what: 'turn', turn: 't1', why: 'canceled' }]);
  expect(world.eventsOf('turn_settled')).toEqual([]);
});

it('a worker keeps its turn after unanswered heartbeats while the lease is valid', async () => {
  const gate = Promise.withResolvers<{ content: string }>();
  const world = await Fixture.open({
    model: scriptedModel({ decide: () => gate.promise }),
    wrap: (ports) => ({
      ...ports,
      turns: { ...ports.turns, heartbeat: () => Promise.reject(new Error('redis is away')) },
    }),
  });
  await world.accept('t1', 'Hi');
  const delivered = world.deliver();
  await settleTasks();
  await world.timers.advance(7_000);
  gate.resolve({ content: 'in time' });
  expect(await delivered).toBe('done');
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
});

it.each([
  [new TurnfoldError('redis_unavailable', 'Redis does not answer'), undefined],
  [new Error('WRONGTYPE'), { scope: nameConversation(ref) }],
])('a delivered turn job whose claim of a turn fails throws the store’s error: %s', async (failed, told) => {
  const world = await Fixture.open({
    model: scriptedModel({ decide: () => ({ content: 'ok' }) }),
    wrap: (ports) => ({ ...ports, turns: { ...ports.turns, claim: () => Promise.reject(failed) } }),
  });
  const thrown: unknown = await world.deliver().catch((error: unknown) => error);
  if (told === undefined) expect(thrown, 'an outage tells of itself, once for all').toBe(failed);
  else expect(thrown).toMatchObject({ ...told, cause: failed });
});

it('a delivered turn job fails with the error of a failing store, and the sweeper wakes the turn later', async () => {
  const away = new Error('redis is away');
  const world = await Fixture.open({
    model: scriptedModel({ decide: () => ({ content: 'ok' }) }),
    wrap: (ports) => ({ ...ports, turns: { ...ports.turns, settle: () => Promise.reject(away) } }),
  });
  await world.accept('t1', 'Hi');
  await expect(world.deliver()).rejects.toMatchObject({
    scope: { ...nameConversation(ref), turn: 't1' },
    cause: away,
  });
  expect(world.eventsOf('lease_lost')).toEqual([]);
  expect(await world.countTimers()).toBe(0);
});
