import { expect, it } from 'vitest';
import { z } from 'zod';
import type { Tool } from '../../../src/domain/agent.ts';
import { type Model, type ModelAnswer, ModelError } from '../../../src/domain/model.ts';
import { type ScriptedOutcome, scriptedModel } from '../../../src/providers/scripted.ts';
import { HOSTILE_BYTES, HOSTILE_JSON, HOSTILE_THROWN, hostileProxy, withGetter } from '../../fakes/hostile-values.ts';
import { Fixture, ref } from './fixture.ts';

const { profile } = scriptedModel({ decide: () => ({}) });

function throwing(make: () => unknown): () => Promise<never> {
  return async () => {
    throw make();
  };
}

const callOnce = (): Model =>
  scriptedModel({
    decide: ({ messages }): ScriptedOutcome =>
      messages.at(-1)?.role === 'tool' ? { content: 'done' } : { toolCalls: [{ name: 'act', arguments: {} }] },
  });

const tool = (run: () => Promise<unknown>): Tool => ({
  name: 'act',
  description: 'acts',
  input: z.object({}),
  run: run as () => Promise<string>,
});

async function answerWith(model: Model, tools: readonly Tool[] = []) {
  const world = await Fixture.open({ model, tools });
  await world.accept('t1', 'Hi');
  expect(await world.deliver()).toBe('done');
  expect(world.eventsOf('turn_claimed'), 'one delivery').toHaveLength(1);
  return { world, view: await world.view('t1') };
}

it.each(HOSTILE_THROWN)('a turn answers a tool call with an error when the tool throws %s', async (_, make) => {
  let runs = 0;
  const run = throwing(() => {
    runs += 1;
    return make();
  });
  const { world, view } = await answerWith(callOnce(), [tool(run)]);
  expect(view).toMatchObject({ state: 'completed', answer: { content: 'done' } });
  expect(runs).toBe(1);
  const result = (await world.readLog()).find(({ role }) => role === 'tool');
  expect(result).toMatchObject({ isError: true, content: expect.stringMatching(/^failed: /) });
  expect(result?.content.length).toBeLessThan(20_000);
});

it.each(HOSTILE_JSON.filter(([name]) => name !== '5 MB'))(
  'a turn answers a tool call with an error when the tool returns a content that is %s',
  async (_, make) => {
    const { world, view } = await answerWith(callOnce(), [tool(async () => ({ content: make() }))]);
    expect(view).toMatchObject({ state: 'completed' });
    expect((await world.readLog()).find(({ role }) => role === 'tool')).toMatchObject({ isError: true });
  },
);

it.each([...HOSTILE_JSON, ...HOSTILE_BYTES])(
  'a turn answers a tool call with an error when the tool returns an object that is %s',
  async (_, make) => {
    const { world, view } = await answerWith(callOnce(), [tool(async () => ({ rows: [make()] }))]);
    expect(view).toMatchObject({ state: 'completed' });
    expect((await world.readLog()).find(({ role }) => role === 'tool')).toMatchObject({
      isError: true,
      content: expect.stringMatching(/^invalid_result: result/) as string,
    });
  },
);

it('a model can read 20,000 rows of an object that a tool returned', async () => {
  const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, a: 1, b: 2, c: 3, d: 4 }));
  const { world } = await answerWith(callOnce(), [tool(async () => rows)]);
  expect((await world.readLog()).find(({ role }) => role === 'tool')?.isError).toBeUndefined();
});

it.each(HOSTILE_THROWN)(
  'a worker fails a turn as system_failed when its system function throws %s',
  async (_, make) => {
    const world = await Fixture.open({ model: callOnce(), system: throwing(make) });
    await world.accept('t1', 'Hi');
    expect(await world.deliver()).toBe('done');
    expect(await world.view('t1')).toMatchObject({ state: 'failed', failure: { code: 'system_failed' } });
  },
);

it.each<[string, unknown]>([
  ['a proxy', hostileProxy()],
  ['a thenable that throws', withGetter('then')],
  ['a symbol', Symbol('odd')],
])('a turn answers a tool call with an error when the tool returns %s', async (_, value) => {
  const { world, view } = await answerWith(callOnce(), [tool(async () => value)]);
  expect(view).toMatchObject({ state: 'completed' });
  expect((await world.readLog()).find(({ role }) => role === 'tool')).toMatchObject({ isError: true });
});

it.each(HOSTILE_THROWN)('a worker fails a turn as model_failed when its model throws %s', async (_, make) => {
  const { world, view } = await answerWith({ profile, generate: throwing(make) });
  expect(view).toMatchObject({ state: 'failed', failure: { code: 'model_failed' } });
  expect(view?.failure?.message.length).toBeLessThan(1_000);
  expect(world.eventsOf('model_called')).toMatchObject([{ outcome: 'fatal' }]);
});

it.each(HOSTILE_JSON)(
  'a worker fails a turn as model_failed when the field raw of the model’s answer is %s',
  async (_, make) => {
    const answer = { content: 'secret', toolCalls: [], raw: { items: [make()] } };
    const { world, view } = await answerWith({ profile, generate: async () => answer });
    expect(view).toMatchObject({
      state: 'failed',
      failure: { code: 'model_failed', message: expect.stringMatching(/: answer\.raw/) },
    });
    expect(view?.failure?.message).not.toContain('secret');
    expect(await world.readLog(), 'nothing of the answer is in the log').toHaveLength(1);
  },
);

it.each<[string, unknown, string]>([
  [
    'a getter that throws',
    {
      get content() {
        throw new Error('x');
      },
      toolCalls: [],
    },
    'answer.content',
  ],
  ['an unknown end', { content: '', toolCalls: [], end: 'tired' }, 'answer.end'],
  ['5 MB of text', { content: 'x'.repeat(5_000_000), toolCalls: [] }, 'answer'],
  ['a model name of 5 MB', { content: '', toolCalls: [], model: 'x'.repeat(5_000_000) }, 'answer.model'],
])('a worker fails a turn as model_failed when the model’s answer has %s', async (_, answer, field) => {
  const { view } = await answerWith({ profile, generate: async () => answer as ModelAnswer });
  const message = expect.stringContaining(`: ${field}: `) as string;
  expect(view).toMatchObject({ state: 'failed', failure: { code: 'model_failed', message } });
});

it.each<[string, ModelError]>([
  ['an unknown kind', new ModelError('tired' as 'fatal', 'no')],
  ['a message of 5 MB', new ModelError('fatal', 'x'.repeat(5_000_000))],
  [
    'a form and a code of 5 MB',
    new ModelError('fatal', 'no', { form: 'x'.repeat(5_000_000), code: 'y'.repeat(5_000_000) }),
  ],
  [
    'a kind that throws',
    Object.defineProperty(new ModelError('fatal', 'no'), 'kind', {
      get() {
        throw new Error('x');
      },
    }),
  ],
])('a worker fails a turn as model_failed when its model throws a ModelError with %s', async (_, error) => {
  const { world, view } = await answerWith({ profile, generate: throwing(() => error) });
  expect(view).toMatchObject({ state: 'failed', failure: { code: 'model_failed' } });
  expect(JSON.stringify(view?.failure).length).toBeLessThan(100_000);
  expect(world.eventsOf('model_called')).toMatchObject([{ outcome: 'fatal' }]);
});

it.each([Number.NaN, Number.POSITIVE_INFINITY, 9e15, 'soon'])(
  'a turn waits the usual retry delay when a ModelError has the invalid retry time %s',
  async (retryAt) => {
    const error = new ModelError('retry', 'busy', { retryAt: retryAt as number });
    const { world, view } = await answerWith({ profile, generate: throwing(() => error) });
    expect(view).toMatchObject({ state: 'waiting' });
    expect(world.eventsOf('turn_suspended')).toMatchObject([
      { for: 'retry', waitMs: expect.closeTo(500, -3) as number },
    ]);
  },
);

it('a worker streams only the texts that a model reports as progress, and ignores other values and unknown kinds of progress', async () => {
  const { world, view } = await answerWith({
    profile,
    generate: async ({ onText, onReasoning, onToolCall, onPassedOver }) => {
      for (const piece of [Symbol('odd'), undefined, hostileProxy(), 'a', 5n]) onText?.(piece as string);
      for (const piece of [Symbol('odd'), undefined, hostileProxy(), { call: -1 }, { call: 1e9, name: 'a' }, 5n]) {
        onReasoning?.(piece as unknown as string);
        onToolCall?.(piece as { call: number });
      }
      onPassedOver?.(Symbol('odd') as unknown as string, 'tired' as 'fatal');
      onText?.('x'.repeat(5_000_000));
      onText?.('b');
      return { content: 'b', toolCalls: [] };
    },
  });
  expect(view).toMatchObject({ state: 'completed', answer: { content: 'b' } });
  expect(world.eventsOf('model_passed_over')).toMatchObject([{ model: 'unknown', outcome: 'fatal' }]);
});

it.each(HOSTILE_JSON)(
  'a worker fails a turn as model_failed if its model throws after it reported token usage that is %s',
  async (_, make) => {
    const { world, view } = await answerWith({
      profile,
      generate: async ({ onUsage }) => {
        const usage = { inputTotal: 9, output: 3, outputKept: 3 };
        onUsage?.(make() as never);
        onUsage?.(Object.defineProperty(usage, 'output', { get: () => make() }));
        onUsage?.(withGetter('inputTotal') as never);
        onUsage?.(hostileProxy() as never);
        throw new Error('x');
      },
    });
    expect(view).toMatchObject({ state: 'failed', failure: { code: 'model_failed' } });
    expect(world.eventsOf('model_called')).toHaveLength(1);
  },
);

it('a worker ignores a model’s reported token count that is impossible for the request', async () => {
  const usage = { inputTotal: 1e300, output: 1.5, outputKept: 5n as unknown as number };
  const { world } = await answerWith({ profile, generate: async () => ({ content: 'a', toolCalls: [], usage }) });
  expect(world.eventsOf('model_called')[0]).not.toHaveProperty('inputTokens');
  expect((await world.db.find(ref))?.size.anchor).toBeUndefined();
});
