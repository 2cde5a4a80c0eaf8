import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, type Tool } from '../../../src/domain/agent.ts';
import { ModelError } from '../../../src/domain/model.ts';
import { TURN_LIMITS } from '../../../src/domain/turn.ts';
import { type ScriptedOutcome, scriptedModel } from '../../../src/providers/scripted.ts';
import { Shutdown } from '../../../src/workers/shutdown.ts';
import { createTurnHandler } from '../../../src/workers/turn/turn-delivery.ts';
import { Fixture, type FixtureOptions, ref } from './fixture.ts';
import { settleTasks } from './manual-timers.ts';

const TIMEOUT_MS = 100_000;
const FAILED = { state: 'failed', failure: { code: 'turn_timeout', details: { turnTimeoutMs: TIMEOUT_MS } } };
const never = new Promise<never>(() => undefined);
const call: ScriptedOutcome = { toolCalls: [{ name: 'hold', arguments: {} }] };

function toolOf(changes: Partial<Tool>): Tool[] {
  return [{ ...defineTool({ name: 'hold', description: '', input: z.object({}) }), ...changes }];
}

async function openWorld(options: FixtureOptions): Promise<Fixture> {
  const world = await Fixture.open({ turnTimeoutMs: TIMEOUT_MS, ...options });
  await world.accept('t1', 'Hello');
  await world.accept('t2', 'And this?');
  return world;
}

/** A model that answers the second turn at once, because the second turn must run whatever happened to the first. */
function firstThen(first: () => ScriptedOutcome): FixtureOptions['model'] {
  return scriptedModel({
    decide: ({ idempotencyKey }) => (idempotencyKey.includes('/t2/') ? { content: 'yes' } : first()),
  });
}

async function expectNext(world: Fixture): Promise<void> {
  expect(await world.view('t1')).toMatchObject(FAILED);
  expect(await world.view('t2')).toMatchObject({ state: 'completed', answer: { content: 'yes' } });
  expect(await world.countTimers()).toBe(0);
}

it('a turn that reaches its timeout aborts its model call and fails, and the next turn runs', async () => {
  const world = await openWorld({ model: firstThen(() => never) });
  const delivered = world.deliver();
  await settleTasks();
  await world.timers.advance(TIMEOUT_MS - 1);
  expect(await world.view('t1')).toMatchObject({ state: 'running' });
  await world.timers.advance(1);
  // The delivery has used up its time, so the next turn gets a wake of its own.
  expect(await delivered).toBe('done');
  expect(world.eventsOf('model_called')).toMatchObject([{ outcome: 'timeout' }]);
  expect(world.wakes.map(({ kind }) => kind)).toEqual(['turn']);
  await world.deliver();
  await expectNext(world);
});

it('a turn that reaches its timeout aborts its tools and answers the open tool calls with errors', async () => {
  const world = await openWorld({ model: firstThen(() => call), tools: toolOf({ run: () => never }) });
  const delivered = world.deliver();
  await settleTasks();
  await world.timers.advance(TIMEOUT_MS);
  await delivered;
  expect(await world.readLog()).toMatchObject([
    { role: 'user' },
    { role: 'assistant' },
    { role: 'tool', toolCallId: 'c2_0', isError: true },
  ]);
  await world.deliver();
  await expectNext(world);
});

it('a final answer that is not recorded at the timeout of its turn is dropped, and the turn fails', async () => {
  let pass = async (_: number): Promise<void> => undefined;
  const world = await openWorld({
    model: firstThen(async () => {
      await pass(TIMEOUT_MS - 1);
      return { content: 'late', usage: { inputTotal: 7, output: 1, outputKept: 1 } };
    }),
    wrap: (ports) => ({ ...ports, calibrations: { observe: () => pass(1) } }),
  });
  pass = (ms) => world.timers.advance(ms);
  await world.deliver();
  await world.deliver();
  expect((await world.readLog()).map(({ content }) => content)).toEqual(['Hello', 'And this?', 'yes']);
  await expectNext(world);
});

it('a turn that reaches its timeout while it waits fails without another step', async () => {
  const world = await openWorld({ model: firstThen(() => call), tools: toolOf({ needsApproval: true }) });
  await world.timers.advance(50_000);
  await world.deliver();
  const { until = 0 } = (await world.view('t1'))?.waiting ?? {};
  expect(until - world.timers.now()).toBe(TIMEOUT_MS);
  await world.timers.advance(TIMEOUT_MS);
  await world.deliver();
  expect(world.eventsOf('model_called')).toHaveLength(2);
  await expectNext(world);
});

it('the timeout of a turn runs from the first claim, across all later claims', async () => {
  let retryAt = 0;
  const world = await openWorld({ model: firstThen(() => new ModelError('retry', 'busy', { retryAt })) });
  const startedAt = world.timers.now();
  retryAt = startedAt + 60_000;
  await world.deliver();
  // The time that the provider asks for, and a random delay of up to a second.
  await world.timers.advance(61_000);
  retryAt = startedAt + 1_000_000;
  await world.deliver();
  expect((await world.view('t1'))?.waiting?.until).toBe(startedAt + TIMEOUT_MS);
  await world.timers.advance(39_000);
  await world.deliver();
  await expectNext(world);
});

it('a turn completes if it ends before its timeout or if its agent sets no timeout', async () => {
  const done = await openWorld({ model: firstThen(() => ({ content: 'done' })) });
  await done.deliver();
  expect(await done.view('t1')).toMatchObject({ state: 'completed' });
  expect(await done.countTimers()).toBe(0);

  const world = await Fixture.open({ model: firstThen(() => call), tools: toolOf({ needsApproval: true }) });
  await world.accept('t1', 'Hello');
  await world.deliver();
  expect((await world.view('t1'))?.waiting?.until).toBe(world.timers.now() + TURN_LIMITS.answerWithinMs);
});

it('a worker does not fail a turn at its timeout if another worker owns the turn by then', async () => {
  const world = await openWorld({ model: firstThen(() => never) });
  const delivered = world.deliver();
  await settleTasks();
  await world.store.cancel(ref, 't1', 'w');
  await world.timers.advance(TIMEOUT_MS);
  expect(await delivered).toBe('lost');
  expect(await world.view('t1')).toMatchObject({ state: 'canceled' });
});

it('the timeout of a turn counts from its first claim, also if a stopping worker hands it back in its first model call', async () => {
  const world = await openWorld({ model: firstThen(() => never), settings: { stepTimeoutMs: 10 * TIMEOUT_MS } });
  const cutOff = world.deliver();
  await settleTasks();
  await world.timers.advance(TIMEOUT_MS - 2_000);
  world.shutdown.begin(1_000, world.timers);
  await world.timers.advance(1_000);
  await cutOff;
  expect(await world.view('t1')).toMatchObject({ state: 'queued' });
  const again = createTurnHandler({ ...world.ports, shutdown: new Shutdown() })(ref);
  await settleTasks();
  await world.timers.advance(1_000);
  await again;
  expect(await world.view('t1')).toMatchObject(FAILED);
});
