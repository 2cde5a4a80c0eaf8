import { expect, it } from 'vitest';
import { TurnfoldError } from '../../../src/domain/errors.ts';
import { nameConversation } from '../../../src/domain/ids.ts';
import { type ScriptedStep, scriptedModel } from '../../../src/providers/scripted.ts';
import type { TurnPorts } from '../../../src/workers/turn/turn-ports.ts';
import { Fixture, ref } from './fixture.ts';

/** A model that answers each user message with "re: " and the message's text. */
function echo() {
  return scriptedModel({
    decide: ({ messages }) => ({ content: `re: ${messages.at(-1)?.content}` }),
  });
}

/** Wraps the ports to record the worker's calls of the stores. */
function noteCalls(ports: TurnPorts, asked: string[]): TurnPorts {
  const watch = <Room extends object>(room: Room): Room =>
    new Proxy(room, {
      get(target, name) {
        const operation = Reflect.get(target, name) as (...args: unknown[]) => unknown;
        return (...args: unknown[]) => {
          asked.push(String(name));
          return operation(...args);
        };
      },
    });
  return { ...ports, turns: watch(ports.turns), contexts: watch(ports.contexts) };
}

it('a delivered turn job completes a turn: the log has the question and the answer, and the turn’s record has the answer', async () => {
  const model = scriptedModel({
    steps: [{ expect: { role: 'user', content: 'Hi', messages: 1 }, answer: { content: 'Hello' } }],
  });
  const world = await Fixture.open({ model });
  await world.accept('t1', 'Hi');
  expect(await world.deliver()).toBe('done');
  expect(await world.readLog()).toEqual([
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Hello' },
  ]);
  expect(await world.view('t1')).toMatchObject({ state: 'completed', answer: { seq: 2, content: 'Hello' } });
  model.assertDone();
  expect(await world.countTimers()).toBe(0);
});

it('a delivered turn job answers all queued turns of a conversation in order with one write each, and gets a short context with the claim', async () => {
  const asked: string[] = [];
  const world = await Fixture.open({ model: echo(), wrap: (ports) => noteCalls(ports, asked) });
  for (const number of [1, 2, 3]) await world.accept(`t${number}`, `${number}`);
  await world.deliver();
  expect(asked).toEqual(['claim', 'settle', 'settle', 'settle']);
  expect((await world.readLog()).map(({ content }) => content)).toEqual(['1', 're: 1', '2', 're: 2', '3', 're: 3']);
  expect(world.wakes).toEqual([]);
  expect((await world.db.find(ref))?.mailbox).toEqual([]);
});

it('a delivered turn job sends all earlier messages of the conversation with each turn', async () => {
  const sent: string[][] = [];
  const model = scriptedModel({
    decide: ({ messages, system, tools }) => {
      expect({ system, tools }).toEqual({ system: 'You guide.', tools: [] });
      sent.push(messages.map(({ content }) => content));
      return { content: 'ok' };
    },
  });
  const world = await Fixture.open({ model });
  await world.accept('t1', 'one');
  await world.accept('t2', 'two');
  await world.deliver();
  await world.accept('t3', 'three');
  await world.deliver();
  expect(sent).toEqual([['one'], ['one', 'ok', 'two'], ['one', 'ok', 'two', 'ok', 'three']]);
});

it('a delivered turn job ends after its limit of turns, and its last write records a wake for the remaining turns', async () => {
  const world = await Fixture.open({ model: echo(), settings: { maxTurns: 2 } });
  for (const number of [1, 2, 3]) await world.accept(`t${number}`, `${number}`);
  await world.deliver();
  expect(await world.readLog()).toHaveLength(4);
  expect(world.wakes).toEqual([{ kind: 'turn', wake: (await world.db.find(ref))?.wake }]);
  await world.deliver();
  expect(await world.readLog()).toHaveLength(6);
  expect(world.wakes).toHaveLength(1);
});

it('a delivered turn job claims no further turn after its time limit', async () => {
  const model = scriptedModel({
    decide: async () => {
      await world.timers.advance(2_000);
      return { content: 'slow' };
    },
  });
  const world: Fixture = await Fixture.open({ model });
  await world.accept('t1', '1');
  await world.accept('t2', '2');
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
  expect(await world.view('t2')).toMatchObject({ state: 'queued' });
  expect(world.wakes).toEqual([{ kind: 'turn', wake: (await world.db.find(ref))?.wake }]);
});

it('a delivered turn job writes nothing if the conversation has no open turn or another worker owns the turn', async () => {
  const model = scriptedModel({ steps: [] });
  const world = await Fixture.open({ model });
  expect(await world.deliver()).toBe('done');
  await world.accept('t1', 'Hi');
  await world.store.claim(ref, 'another', 'w');
  expect(await world.deliver()).toBe('done');
  expect(world.events).toEqual([]);
  expect(model.callCount).toBe(0);
});

it('a delivered turn job fails the turn of an unknown agent and continues with the next turn', async () => {
  const world = await Fixture.open({ model: echo() });
  await world.accept('t1', 'Hi', 'stranger');
  await world.accept('t2', 'Ho', 'stranger');
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({
    state: 'failed',
    failure: { code: 'unknown_agent', details: { agent: 'stranger' } },
  });
  expect(world.eventsOf('turn_settled')).toMatchObject([
    { turn: 't1', outcome: 'failed', code: 'unknown_agent' },
    { turn: 't2', outcome: 'failed', code: 'unknown_agent' },
  ]);
});

/** Accepts two turns. The workers of the first one have died three times. */
async function acceptPoison(world: Fixture): Promise<void> {
  await world.accept('t1', 'poison');
  await world.accept('t2', 'Ho');
  for (const owner of ['a', 'b', 'c']) {
    const claim = await world.store.claim(ref, owner, owner);
    if (claim.status === 'claimed') await world.store.startAlone(claim.turn.lease);
    world.db.advance(8_001);
  }
}

it('a delivered turn job fails a turn after three claims without progress, and wakes the next turn', async () => {
  const world = await Fixture.open({ model: echo() });
  await acceptPoison(world);
  expect(await world.deliver()).toBe('done');
  expect(world.eventsOf('turn_settled')).toMatchObject([{ turn: 't1', outcome: 'failed', code: 'poison' }]);
  expect(world.wakes).toEqual([{ kind: 'turn', wake: (await world.db.find(ref))?.wake }]);
  await world.deliver();
  expect(await world.view('t2')).toMatchObject({ state: 'completed' });
});

it('a delivered turn job reports the wait and duration of a scheduled turn from its due time, by the store’s clock', async () => {
  const hour = 3_600_000;
  const world = await Fixture.open({
    model: echo(),
    wrap: (ports) => ({ ...ports, clock: { now: () => world.timers.now() - 3 * hour } }),
  });
  const input = await world.agent.weigh({ role: 'user', content: 'Hi' });
  const turn = {
    conversation: ref,
    turn: 't1',
    agent: 'guide',
    input,
    payloadHash: 'h',
    wake: 'w',
    maxQueuedTurns: 9,
  };
  await world.store.accept({ ...turn, delayMs: hour });
  await world.timers.advance(hour);
  await world.store.promoteScheduled(ref, 't1', 'w');
  await world.timers.advance(700);
  await world.deliver();
  expect(world.eventsOf('turn_claimed')).toMatchObject([{ turn: 't1', waitMs: 700 }]);
  expect(world.eventsOf('turn_settled')).toMatchObject([{ turn: 't1', durationMs: 700 }]);
});

it('the events that a delivered turn job reports contain no text of the conversation', async () => {
  const usage = { inputTotal: 120, output: 30, outputKept: 20 };
  const model = scriptedModel({ steps: [{ answer: { content: 'the secret', usage } }] });
  const world = await Fixture.open({ model });
  await world.accept('t1', 'a secret');
  await world.timers.advance(700);
  await world.deliver();
  expect(world.events).toEqual([
    { type: 'turn_claimed', ...nameConversation(ref), turn: 't1', agent: 'guide', attempt: 1, waitMs: 700 },
    {
      type: 'model_called',
      ...nameConversation(ref),
      purpose: 'turn',
      model: 'scripted',
      outcome: 'answered',
      durationMs: 0,
      firstTextMs: 0,
      tokens: expect.any(Number),
      isOverLimit: false,
      inputTokens: 120,
      outputTokens: 30,
    },
    { type: 'turn_settled', ...nameConversation(ref), turn: 't1', outcome: 'completed', durationMs: 700 },
  ]);
  expect(JSON.stringify(world.events)).not.toContain('secret');
  const view = await world.view('t1');
  expect(view).toMatchObject({ usage: { inputTokens: 120, outputTokens: 30 } });
  expect(view?.requestTokens).toEqual(world.eventsOf('model_called').map(({ tokens }) => tokens));
  expect((await world.db.find(ref))?.size.anchor).toMatchObject({ seq: 2, tokens: 140 });
});

it('a delivered turn job records a model’s refusal without text as a message that providers accept later', async () => {
  const world = await Fixture.open({
    model: scriptedModel({ steps: [{ answer: { content: ' \n', end: 'refusal' } }] }),
  });
  await world.accept('t1', 'Hi');
  await world.deliver();
  expect((await world.readLog()).at(-1)).toEqual({ role: 'assistant', content: '(empty)' });
});

it('a turn fails with the code `empty_answer` after three empty model answers in a row, and completes if a later answer has text', async () => {
  const empty = { answer: { content: ' \n' } };
  const settle = async (...steps: readonly ScriptedStep[]) => {
    const world = await Fixture.open({ model: scriptedModel({ steps }) });
    await world.accept('t1', 'Hi');
    for (let delivery = 0; delivery < 3; delivery += 1) {
      await world.deliver();
      await world.timers.advance(60_000);
    }
    return await world.view('t1');
  };
  expect(await settle(empty, empty, empty)).toMatchObject({
    state: 'failed',
    failure: { code: 'model_failed', details: { code: 'empty_answer' } },
  });
  expect(await settle(empty, empty, { answer: { content: 'Two.' } })).toMatchObject({ state: 'completed' });
});

it('a delivered turn job does not fail when a full Redis refuses the wake of the next turn, because the sweeper adds that wake', async () => {
  const full = new TurnfoldError('redis_full', 'full');
  const wrap = (ports: TurnPorts): TurnPorts => ({ ...ports, wakes: { wake: () => Promise.reject(full) } });
  const world = await Fixture.open({ model: echo(), wrap });
  await acceptPoison(world);
  expect(await world.deliver()).toBe('done');
  expect(world.eventsOf('turn_settled')).toMatchObject([{ turn: 't1', code: 'poison' }]);
  expect(await world.store.inspectTurn(ref)).toEqual({
    status: 'lapsed',
    hadWorker: false,
    recordedWake: (await world.db.find(ref))?.wake,
  });
});
