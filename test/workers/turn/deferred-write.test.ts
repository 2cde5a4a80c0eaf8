import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../../src/domain/agent.ts';
import { DEFERRED_WRITES, type DeferredWrite } from '../../../src/domain/events.ts';
import { scriptedModel } from '../../../src/providers/scripted.ts';
import { nameRedisError } from '../../../src/store/redis/errors.ts';
import type { TurnPorts } from '../../../src/workers/turn/turn-ports.ts';
import { Fixture, ref } from './fixture.ts';
import { settleTasks } from './manual-timers.ts';

const OOM = "OOM command not allowed when used memory > 'maxmemory'.";
const PROFILE = { windowTokens: 2_500, outputCapTokens: 500 };
const WRITES = {
  startSteps: 'start',
  recordStep: 'step',
  suspend: 'suspend',
  settle: 'settle',
} as const satisfies Partial<Record<keyof TurnPorts['turns'], DeferredWrite>>;

interface World {
  readonly world: Fixture;
  /** Number of runs of each tool. */
  readonly runs: Record<string, number>;
  readonly full: Set<string>;
}

/**
 * A turn with two parallel tool calls, and then one that a person must answer. Redis refuses the operations in `full`.
 */
async function open(said: string = OOM): Promise<World> {
  const runs: Record<string, number> = {};
  const full = new Set<string>();
  const tool = (name: string) =>
    defineTool({
      name,
      description: '',
      input: z.object({}),
      run: async () => {
        runs[name] = (runs[name] ?? 0) + 1;
        return `result of ${name}`;
      },
    });
  const ask = defineTool({ name: 'ask', description: '', input: z.object({}) });
  const call = (name: string) => ({ name, arguments: {} });
  const model = scriptedModel({
    profile: PROFILE,
    decide: ({ messages }) => {
      const results = messages.filter(({ role }) => role === 'tool').length;
      if (results === 0) return { toolCalls: [call('one'), call('two')] };
      return results === 2 ? { toolCalls: [call('ask')] } : { content: 'done' };
    },
  });
  const world = await Fixture.open({
    model,
    tools: [tool('one'), tool('two'), ask],
    wrap: (ports) => {
      const guard = <Room extends object>(room: Room): Room =>
        new Proxy(room, {
          get(target, name) {
            const found: unknown = Reflect.get(target, name);
            if (typeof found !== 'function') return found;
            return async (...args: unknown[]) => {
              if (full.has(String(name))) throw nameRedisError(new Error(said));
              return (await Reflect.apply(found, target, args)) as unknown;
            };
          },
        });
      return { ...ports, turns: guard(ports.turns), passes: guard(ports.passes) };
    },
  });
  return { world, runs, full };
}

/** Delivers the turn while Redis refuses the operation for longer than a lease. Then Redis accepts it. */
async function deliverWhileFull({ world, full }: World, operation: string): Promise<void> {
  full.add(operation);
  const delivery = world.deliver();
  for (let look = 0; world.eventsOf('write_deferred').length === 0; look += 1) {
    if (look === 100) throw new Error(`${operation} was not deferred`);
    await settleTasks();
  }
  await world.timers.advance(20_000);
  full.delete(operation);
  await world.timers.advance(1_000);
  await delivery;
}

async function finish({ world }: World): Promise<void> {
  const { waiting } = (await world.view('t1')) ?? {};
  const [call = ''] = waiting?.calls.map(({ id }) => id) ?? [];
  await world.resume('t1', { [call]: { content: 'yes' } });
  await world.deliver();
}

it.each(Object.entries(WRITES))(
  'a worker repeats a write that a full Redis refuses until Redis accepts it, and runs no call twice: %s',
  async (operation, write) => {
    const open1 = await open();
    const { world, runs } = open1;
    await world.accept('t1', 'go');
    if (operation === 'settle') {
      await world.deliver();
      const { waiting } = (await world.view('t1')) ?? {};
      await world.resume('t1', { [waiting?.calls[0]?.id ?? '']: { content: 'yes' } });
      await deliverWhileFull(open1, operation);
    } else {
      await deliverWhileFull(open1, operation);
      await finish(open1);
    }
    expect(await world.view('t1')).toMatchObject({ state: 'completed', answer: { content: 'done' } });
    expect(runs).toEqual({ one: 1, two: 1 });
    expect(world.eventsOf('model_called')).toHaveLength(3);
    const deferred = world.eventsOf('write_deferred');
    expect(deferred[0]).toMatchObject({ write, code: 'redis_full', turn: 't1' });
    expect(world.eventsOf('deferred_write_succeeded').map(({ write: succeeded }) => succeeded)).toEqual(
      deferred.map((event) => event.write),
    );
    expect(world.eventsOf('turn_claimed').map(({ attempt }) => attempt)).not.toContain(2);
    expect(await world.countTimers()).toBe(0);
  },
);

it('a worker repeats a write that a full Redis refuses only as long as the worker has the turn’s lease', async () => {
  const lost = await open();
  const { world, full, runs } = lost;
  await world.accept('t1', 'go');
  full.add('recordStep');
  const delivery = world.deliver();
  for (let look = 0; world.eventsOf('write_deferred').length === 0 && look < 100; look += 1) await settleTasks();
  full.add('heartbeat');
  await world.timers.advance(8_000);
  expect(await delivery).toBe('lost');
  expect(world.eventsOf('lease_lost')).toMatchObject([{ why: 'expired' }]);
  full.clear();
  await world.deliver();
  await finish(lost);
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
  expect(runs).toEqual({ one: 1, two: 1 });
  expect(await world.countTimers()).toBe(0);
});

it('a worker repeats a write if the disk of Redis is full, and fails the delivery at once after an error of another kind', async () => {
  const misconf = await open('MISCONF Redis is configured to save RDB snapshots, but it is unable to persist to disk.');
  await misconf.world.accept('t1', 'go');
  await deliverWhileFull(misconf, 'recordStep');
  expect(misconf.world.eventsOf('write_deferred')[0]).toMatchObject({ code: 'redis_unavailable' });
  const broken = await open('WRONGTYPE Operation against a key holding the wrong kind of value');
  await broken.world.accept('t1', 'go');
  broken.full.add('recordStep');
  await expect(broken.world.deliver()).rejects.toThrow('an unexpected error ended the delivery');
});

it('a turn repeats its request for a compaction pass while a full Redis refuses the request', async () => {
  const asking = await open();
  const { world } = asking;
  await world.accept('t0', ' word'.repeat(1_950));
  await deliverWhileFull(asking, 'requestPass');
  expect(await world.view('t0')).toMatchObject({ state: 'waiting', waiting: { for: 'compaction' } });
  expect((await world.db.find(ref))?.pass?.reasons).toContain('hard_limit');
});

it('each store write that workers repeat while Redis is full has its own name in metrics', () => {
  expect(DEFERRED_WRITES).toEqual(expect.arrayContaining(Object.values(WRITES)));
});
