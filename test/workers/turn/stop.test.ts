import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, type ToolContext } from '../../../src/domain/agent.ts';
import type { Model, ModelRequest, ModelUsage } from '../../../src/domain/model.ts';
import { type ScriptedAnswer, scriptedModel } from '../../../src/providers/scripted.ts';
import { Fixture, type FixtureOptions, ref } from './fixture.ts';
import { settleTasks } from './manual-timers.ts';

const DEADLINE_MS = 10_000;
const CALLS_END_MS = 8_000;
const WORK_ENDS_MS = 9_000;

const USAGE: ModelUsage = { inputTotal: 120, output: 1, outputKept: 1 };

/** A model that answers when the test releases it. */
function heldModel(answers: readonly ScriptedAnswer[] = [{ content: 'done' }], usage?: ModelUsage) {
  const gate = Promise.withResolvers<void>();
  const called = Promise.withResolvers<void>();
  const scripted = scriptedModel({ steps: answers.map((answer) => ({ answer })) });
  const model: Model = {
    profile: scripted.profile,
    generate: async (request: ModelRequest) => {
      called.resolve();
      if (usage !== undefined) request.onUsage?.(usage);
      const { promise: aborted, reject } = Promise.withResolvers<never>();
      request.signal.addEventListener('abort', () => reject(request.signal.reason as Error), { once: true });
      await Promise.race([gate.promise, aborted]);
      return await scripted.generate(request);
    },
  };
  return { model, called: called.promise, release: () => gate.resolve() };
}

const CALLS: ScriptedAnswer = { toolCalls: [{ id: 'call', name: 'pay', arguments: {} }] };

/** A tool that ends when the test releases it. `onAbort`: what the tool does when its signal is aborted. */
function heldTool(onAbort: 'answers' | 'throws' | 'ignores' = 'ignores') {
  const gate = Promise.withResolvers<string>();
  const called = Promise.withResolvers<void>();
  const state = { runs: 0 };
  const run = async (_: unknown, { signal }: ToolContext): Promise<string> => {
    state.runs += 1;
    called.resolve();
    if (onAbort === 'answers') signal.addEventListener('abort', () => gate.resolve('paid at the last moment'));
    if (onAbort === 'throws') signal.addEventListener('abort', () => gate.reject(signal.reason));
    return await gate.promise;
  };
  const tool = defineTool({ name: 'pay', description: '', input: z.object({}), retry: 'never', run });
  return { tool, state, called: called.promise, release: () => gate.resolve('paid') };
}

async function openTurn(options: FixtureOptions): Promise<{ world: Fixture; delivery: Promise<unknown> }> {
  const world = await Fixture.open(options);
  await world.accept('t1', 'Pay.');
  return { world, delivery: world.deliver() };
}

function begin(world: Fixture): void {
  world.shutdown.begin(DEADLINE_MS, world.timers);
}

/** Expects that the turn may be claimed at once, and that the interrupted claim does not count as an attempt. */
async function expectHandedBack(world: Fixture, isCutOff: boolean): Promise<void> {
  const { owner, attempts, wake } = (await world.db.find(ref)) ?? {};
  expect({ owner, attempts }).toEqual({ owner: undefined, attempts: 0 });
  expect(world.wakes.at(-1)).toEqual({ kind: 'turn', wake });
  expect(world.eventsOf('lease_returned')).toMatchObject([{ what: 'turn', turn: 't1', isCutOff }]);
  expect(world.shutdown.cutOff).toBe(isCutOff ? 1 : 0);
}

it('a stopping worker lets a model call in flight end before the deadline, and completes the turn with its answer', async () => {
  const held = heldModel();
  const { world, delivery } = await openTurn({ model: held.model });
  await held.called;
  begin(world);
  await world.timers.advance(CALLS_END_MS - 1);
  held.release();
  expect(await delivery).toBe('done');
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
  expect(world.shutdown.cutOff).toBe(0);
});

it('a stopping worker whose model call asks for a tool starts no tool, and hands the turn back', async () => {
  const held = heldModel([CALLS, { content: 'done' }]);
  const pay = heldTool();
  const { world, delivery } = await openTurn({ model: held.model, tools: [pay.tool] });
  await held.called;
  begin(world);
  held.release();
  await delivery;
  await expectHandedBack(world, false);
  expect(pay.state.runs).toBe(0);
  expect((await world.view('t1'))?.state).toBe('queued');
  const claim = await world.store.claim(ref, 'next', 'w');
  const steps = claim.status === 'claimed' ? [...claim.turn.steps.keys()] : [];
  expect(steps, 'a call that was not begun is not marked as started').toEqual(['model-1']);
  expect(await world.countTimers()).toBe(2);
});

it('a stopping worker aborts a model call that takes too long, and hands the turn back', async () => {
  const held = heldModel([{ content: 'never' }], USAGE);
  const { world, delivery } = await openTurn({ model: held.model });
  await held.called;
  begin(world);
  await world.timers.advance(CALLS_END_MS);
  await delivery;
  await expectHandedBack(world, true);
  expect(world.eventsOf('model_called')).toMatchObject([{ outcome: 'stopped', inputTokens: 120, outputTokens: 1 }]);
  expect(await world.view('t1')).toMatchObject({ state: 'queued' });
});

it('a stopping worker hands back a turn whose model ignores the abort signal', async () => {
  const scripted = scriptedModel({ steps: [] });
  const model: Model = { profile: scripted.profile, generate: () => new Promise(() => undefined) };
  const { world, delivery } = await openTurn({ model });
  await settleTasks();
  begin(world);
  await world.timers.advance(WORK_ENDS_MS);
  await delivery;
  await expectHandedBack(world, true);
  expect(world.eventsOf('model_called')).toMatchObject([{ outcome: 'stopped' }]);
});

it('a stopping worker records the result of a tool that ends before the deadline, and starts no model call after it', async () => {
  const pay = heldTool();
  const model = scriptedModel({ steps: [{ answer: CALLS }] });
  const { world, delivery } = await openTurn({ model, tools: [pay.tool] });
  await pay.called;
  begin(world);
  await world.timers.advance(CALLS_END_MS - 1);
  pay.release();
  await delivery;
  await expectHandedBack(world, false);
  expect((await world.readLog()).at(-1)).toMatchObject({ role: 'tool', content: 'paid' });
});

it('a stopping worker records the result of a tool that answers after its signal was aborted', async () => {
  const pay = heldTool('answers');
  const model = scriptedModel({ steps: [{ answer: CALLS }] });
  const { world, delivery } = await openTurn({ model, tools: [pay.tool] });
  await pay.called;
  begin(world);
  await world.timers.advance(CALLS_END_MS);
  await delivery;
  await expectHandedBack(world, false);
  expect((await world.readLog()).at(-1)).toMatchObject({ role: 'tool', content: 'paid at the last moment' });
});

it.each(['throws', 'ignores'] as const)(
  'a stopping worker records no outcome of a tool that %s when its signal is aborted',
  async (how) => {
    const pay = heldTool(how);
    const model = scriptedModel({ steps: [{ answer: CALLS }, { answer: { content: 'done' } }] });
    const { world, delivery } = await openTurn({ model, tools: [pay.tool] });
    await pay.called;
    begin(world);
    await world.timers.advance(WORK_ENDS_MS);
    await delivery;
    await expectHandedBack(world, true);
    expect((await world.readLog()).at(-1)).toMatchObject({ role: 'assistant' });
    pay.release();
    await settleTasks();
    expect((await world.readLog()).at(-1), 'its late answer is dropped').toMatchObject({ role: 'assistant' });
  },
);

it('a stopping worker records the result of a tool that answers in time, even if another tool of the turn is aborted', async () => {
  const both = { toolCalls: ['pay', 'ask'].map((name) => ({ id: name, name, arguments: {} })) };
  const pay = heldTool('answers');
  const stuck = heldTool('throws');
  const model = scriptedModel({ steps: [{ answer: both }] });
  const { world, delivery } = await openTurn({ model, tools: [pay.tool, { ...stuck.tool, name: 'ask' }] });
  await Promise.all([pay.called, stuck.called]);
  begin(world);
  await world.timers.advance(CALLS_END_MS);
  await delivery;
  await expectHandedBack(world, true);
  expect((await world.readLog()).filter(({ role }) => role === 'tool')).toMatchObject([
    { content: 'paid at the last moment' },
  ]);
});

it('a stopping worker claims no further turn of the same or of another conversation', async () => {
  const held = heldModel();
  const world = await Fixture.open({ model: held.model });
  for (const turn of ['t1', 't2']) await world.accept(turn, 'Hi');
  const delivery = world.deliver();
  await held.called;
  begin(world);
  held.release();
  await delivery;
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
  expect(await world.view('t2')).toMatchObject({ state: 'queued' });
  expect(world.wakes).toEqual([{ kind: 'turn', wake: (await world.db.find(ref))?.wake }]);
  expect(await world.deliver()).toBe('postponed');
  expect((await world.db.find(ref))?.owner).toBeUndefined();
});

it('a stopping worker adds no wake for a turn that was canceled while the worker stopped', async () => {
  const held = heldModel();
  const { world, delivery } = await openTurn({ model: held.model });
  await held.called;
  await world.store.cancel(ref, 't1', 'w');
  begin(world);
  await world.timers.advance(WORK_ENDS_MS);
  expect(await delivery).toBe('lost');
  expect(world.wakes).toEqual([]);
  expect(await world.view('t1')).toMatchObject({ state: 'canceled' });
});
