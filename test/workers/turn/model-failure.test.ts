import { expect, it } from 'vitest';
import type { WorkerEvent } from '../../../src/domain/events.ts';
import { ModelError } from '../../../src/domain/model.ts';
import { modelChain } from '../../../src/providers/chain.ts';
import { type ScriptedOutcome, scriptedModel } from '../../../src/providers/scripted.ts';
import { describeEvent } from '../../../src/telemetry/event-catalogue.ts';
import { Fixture, ref } from './fixture.ts';
import { settleTasks } from './manual-timers.ts';

function answersOf(...answers: readonly ScriptedOutcome[]) {
  return scriptedModel({ steps: answers.map((answer) => ({ answer })) });
}

function busy(retryAt?: number): ModelError {
  return new ModelError('retry', 'rate limit', retryAt === undefined ? {} : { retryAt });
}

function limitedBefore(...outcomes: readonly ScriptedOutcome[]) {
  const first = scriptedModel({ profile: { id: 'a' }, decide: () => busy() });
  let asked = 0;
  const second = scriptedModel({ profile: { id: 'b' }, decide: () => outcomes[asked++] ?? busy() });
  return modelChain([first, second]);
}

it('events of a model chain have the chain’s name, and the name of the model that answered', async () => {
  const world = await Fixture.open({ model: limitedBefore({ content: 'x' }) });
  for (const turn of ['t1', 't2']) {
    await world.accept(turn, 'hello');
    await world.deliver();
  }
  const [answered, failed] = world.eventsOf('model_called');
  expect(answered).toMatchObject({ model: 'a|b', outcome: 'answered', answeredBy: 'b' });
  expect(failed).toMatchObject({ model: 'a|b', outcome: 'retry' });
  expect(failed).not.toHaveProperty('answeredBy');
});

it('a model chain streams the text of the model that answers, not of a model that failed', async () => {
  async function* breakOff(): AsyncGenerator<string> {
    yield 'I have';
    throw busy();
  }
  const first = answersOf({ content: breakOff() }, busy());
  const second = answersOf({ content: '', toolCalls: [{ name: 'nothing', arguments: {} }] }, { content: 'Done.' });
  const world = await Fixture.open({ model: modelChain([first, second]) });
  await world.accept('t1', 'hello');
  await world.deliver();
  const [withoutText, withText] = world.eventsOf('model_called');
  expect(withoutText).toMatchObject({ outcome: 'answered' });
  expect(withoutText).not.toHaveProperty('firstTextMs');
  expect(withText).toHaveProperty('firstTextMs');
});

it('the token count of a model chain’s answer calibrates the model that answered', async () => {
  const world = await Fixture.open({
    model: limitedBefore({ content: 'x', usage: { inputTotal: 300, output: 2, outputKept: 2 } }),
  });
  await world.accept('t1', 'hello');
  await world.deliver();
  expect(world.observed).toMatchObject([{ model: 'b', providerTokens: 300 }]);
});

it('a worker reports the token usage of a paid request even if the model gave no answer', async () => {
  const usage = { inputTotal: 9_000, cachedInput: 8_000, output: 700, outputKept: 0 };
  const prices = { input: 1, cachedInput: 1, cacheWrite: 1, output: 10 };
  const model = scriptedModel({ profile: { prices }, decide: () => new ModelError('overflow', 'too long', { usage }) });
  const world = await Fixture.open({ model });
  await world.accept('t1', 'hello');
  await world.deliver();
  const told = { inputTokens: 9_000, outputTokens: 700, cachedTokens: 8_000, cost: expect.closeTo(0.016, 9) };
  expect(world.eventsOf('model_called')).toMatchObject([{ outcome: 'overflow', ...told }]);
});

it('a turn survives four rate limits (429) in a row, waits up to twice as long each time, and then continues', async () => {
  const model = answersOf(busy(), busy(), busy(), busy(), { content: 'there' });
  const world = await Fixture.open({ model });
  await world.accept('t1', 'Hi');
  for (const backoffMs of [1_000, 2_000, 4_000, 8_000]) {
    await world.deliver();
    const { waiting, state } = (await world.view('t1')) ?? {};
    expect({ state, ...waiting }).toMatchObject({ state: 'waiting', for: 'retry', step: 'model-1' });
    expect(waiting?.until).toBeLessThanOrEqual(world.timers.now() + backoffMs);
    expect((await world.db.find(ref))?.owner).toBeUndefined();
    await world.timers.advance(backoffMs);
  }
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'completed', answer: { content: 'there' } });
  model.assertDone();
  expect(world.eventsOf('model_called').map(({ outcome }) => outcome)).toEqual([
    'retry',
    'retry',
    'retry',
    'retry',
    'answered',
  ]);
  expect(await world.countTimers()).toBe(0);
});

it('a turn waits until the time that its rate-limited provider names', async () => {
  const world = await Fixture.open({ model: answersOf(busy(1_700_000_042_000), { content: 'there' }) });
  await world.accept('t1', 'Hi');
  await world.deliver();
  const { waiting } = (await world.view('t1')) ?? {};
  // Up to a second later, so that turns do not come back together.
  expect(waiting?.until).toBeGreaterThanOrEqual(1_700_000_042_000);
  expect(waiting?.until).toBeLessThanOrEqual(1_700_000_043_000);
});

it('the retry delay of a model call starts again at its shortest value in the turn’s next step', async () => {
  const call = { toolCalls: [{ name: 'nothing', arguments: {} }] };
  const world = await Fixture.open({ model: answersOf(busy(), busy(), call, busy(), { content: 'there' }) });
  await world.accept('t1', 'Hi');
  const backoffs: number[] = [];
  for (let delivery = 0; delivery < 4; delivery += 1) {
    await world.deliver();
    const { waiting } = (await world.view('t1')) ?? {};
    if (waiting === undefined) break;
    backoffs.push(waiting.until - world.timers.now());
    await world.timers.advance(waiting.until - world.timers.now());
  }
  expect(backoffs).toHaveLength(3);
  for (const [at, most] of [1_000, 2_000, 1_000].entries()) expect(backoffs[at]).toBeLessThanOrEqual(most);
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
});

it('a turn waits for its provider by time and not by a count: for a day, then it fails and the next turn runs', async () => {
  const model = scriptedModel({ decide: ({ messages }) => (messages.length === 1 ? busy() : { content: 'there' }) });
  const world = await Fixture.open({ model });
  await world.accept('t1', 'Hi');
  await world.accept('t2', 'Ho');
  for (let suspensions = 0; suspensions < 40; suspensions += 1) {
    await world.deliver();
    expect(await world.view('t1')).toMatchObject({ state: 'waiting' });
    await world.timers.advance(64_000);
  }
  await world.timers.advance(86_400_000);
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({
    failure: { code: 'retries_exhausted', details: { step: 'model-1' } },
  });
  expect(await world.view('t2')).toMatchObject({ state: 'completed' });
});

it.each([
  ['its provider', {}],
  ['its provider, in the time that the turn has', { turnTimeoutMs: 3_600_000 }],
])(
  'the failure of a turn that waited too long contains the last error of %s, as does the event of each model call',
  async (_, time) => {
    const overloaded = new ModelError('retry', 'the provider had an internal error (503 overloaded_error)', {
      code: 'overloaded_error',
    });
    const world = await Fixture.open({
      model: scriptedModel({ decide: () => overloaded }),
      settings: { providerWaitMs: 100_000 },
      ...time,
    });
    await world.accept('t1', 'Hi');
    for (let delivery = 0; delivery < 3; delivery += 1) {
      await world.deliver();
      await world.timers.advance(64_000);
    }
    expect((await world.view('t1'))?.failure).toEqual({
      code: 'retries_exhausted',
      message:
        'step model-1 waited longer than 100000 ms. Its last wait was for retry: the provider had an internal error (503 overloaded_error)',
      details: { step: 'model-1', code: 'overloaded_error' },
    });
    const told = { outcome: 'retry', why: overloaded.message, code: 'overloaded_error' };
    expect(world.eventsOf('model_called').at(-1)).toMatchObject(told);
    expect(describeEvent(world.eventsOf('model_called').at(-1) as WorkerEvent).fields).toMatchObject(told);
  },
);

it('a model call that exceeds the time limit of a step is retried', async () => {
  const hang = new Promise<never>(() => {});
  const model = answersOf(hang, { content: 'there' });
  const world = await Fixture.open({ model, settings: { stepTimeoutMs: 30_000 } });
  await world.accept('t1', 'Hi');
  const delivered = world.deliver();
  await settleTasks();
  await world.timers.advance(30_000);
  expect(await delivered).toBe('done');
  expect(await world.view('t1')).toMatchObject({ waiting: { for: 'retry' } });
  expect(world.eventsOf('model_called')).toMatchObject([{ outcome: 'timeout', durationMs: 30_000 }]);
  await world.timers.advance(1_000);
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
  expect(await world.countTimers()).toBe(0);
});

it('a turn whose model throws a fatal error fails with the error’s message', async () => {
  const world = await Fixture.open({ model: answersOf(new ModelError('fatal', 'no such model')) });
  await world.accept('t1', 'Hi');
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({
    state: 'failed',
    failure: {
      code: 'model_failed',
      message: 'the call of model scripted failed: no such model',
      details: { model: 'scripted' },
    },
  });
});

it('a turn whose model throws an unknown error fails with only the error’s name, because the message may contain conversation text', async () => {
  const world = await Fixture.open({ model: answersOf(new RangeError('your prompt was "secret"')) });
  await world.accept('t1', 'secret');
  await world.deliver();
  expect((await world.view('t1'))?.failure).toMatchObject({
    code: 'model_failed',
    message: expect.stringMatching(
      /^the call of model scripted failed: the model threw RangeError\. (?!.*secret)/,
    ) as unknown,
  });
});

it.each([
  ['answer.toolCalls[0].name', { toolCalls: [{ name: '', arguments: {} }] }],
  ['answer[0].toolCalls[1].id', { toolCalls: ['a', 'b'].map((name) => ({ id: 'same', name, arguments: {} })) }],
  ['bytes', { content: 'x'.repeat(1_048_577) }],
])(
  'a turn fails and writes nothing of the model’s answer if this part of the answer is invalid: %s',
  async (field, answer) => {
    const world = await Fixture.open({ model: answersOf(answer) });
    await world.accept('t1', 'Hi');
    await world.deliver();
    const { failure } = (await world.view('t1')) ?? {};
    expect(failure).toMatchObject({ code: 'model_failed', message: expect.stringContaining(field) });
    expect(await world.readLog()).toHaveLength(1);
  },
);
