import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, type Tool, type ToolContext } from '../../../src/domain/agent.ts';
import { TURN_LIMITS } from '../../../src/domain/turn.ts';
import { type ScriptedAnswer, scriptedModel } from '../../../src/providers/scripted.ts';
import { Fixture, ref } from './fixture.ts';
import { settleTasks } from './manual-timers.ts';

const input = z.object({ path: z.string() });
const read = defineTool({ name: 'read', description: 'reads', input, run: async ({ path }) => `text of ${path}` });

function calls(...names: readonly (readonly [name: string, path: string])[]): ScriptedAnswer {
  return { toolCalls: names.map(([name, path], index) => ({ id: `call_${index}`, name, arguments: { path } })) };
}

/** A model that makes these rounds of tool calls, and then answers "done". */
function roundsOf(...rounds: readonly ScriptedAnswer[]) {
  return scriptedModel({ steps: [...rounds, { content: 'done' }].map((answer) => ({ answer })) });
}

function erroneous(content: RegExp): unknown {
  return expect.objectContaining({ role: 'tool', isError: true, content: expect.stringMatching(content) });
}

it('a turn gives tool calls ids that are unique in the log, keeps the provider’s ids, and sends the results to the model', async () => {
  const model = scriptedModel({
    steps: [
      { answer: calls(['read', 'a'], ['read', 'b']) },
      { expect: { role: 'tool', messages: 4 }, answer: calls(['read', 'c']) },
      { expect: { role: 'tool', content: 'text of c', messages: 6 }, answer: { content: 'done' } },
    ],
  });
  const world = await Fixture.open({ model, tools: [read] as Tool[] });
  await world.accept('t1', 'Read.');
  await world.deliver();
  expect((await world.readLog()).flatMap(({ toolCalls = [] }) => toolCalls)).toEqual([
    { id: 'c2_0', providerId: 'call_0', name: 'read', arguments: '{"path":"a"}' },
    { id: 'c2_1', providerId: 'call_1', name: 'read', arguments: '{"path":"b"}' },
    { id: 'c5_0', providerId: 'call_0', name: 'read', arguments: '{"path":"c"}' },
  ]);
  expect((await world.readLog()).filter(({ role }) => role === 'tool')).toEqual([
    { role: 'tool', toolCallId: 'c2_0', content: 'text of a' },
    { role: 'tool', toolCallId: 'c2_1', content: 'text of b' },
    { role: 'tool', toolCallId: 'c5_0', content: 'text of c' },
  ]);
  expect(await world.view('t1')).toMatchObject({ state: 'completed', answer: { content: 'done' } });
  model.assertDone();
});

it('a turn describes its tools to the model by their schemas', async () => {
  const model = scriptedModel({
    decide: ({ tools }) => {
      expect(tools).toMatchObject([
        { name: 'read', description: 'reads', parameters: { type: 'object', required: ['path'] } },
      ]);
      return { content: 'ok' };
    },
  });
  const world = await Fixture.open({ model, tools: [read] as Tool[] });
  await world.accept('t1', 'Hi');
  await world.deliver();
  expect(model.callCount).toBe(1);
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
});

it('a turn runs at most 64 tool calls at the same time', async () => {
  let running = 0;
  let most = 0;
  const counted = defineTool({
    name: 'read',
    description: '',
    input,
    run: async ({ path }) => {
      running += 1;
      most = Math.max(most, running);
      await Promise.resolve();
      running -= 1;
      return path;
    },
  });
  const names = Array.from({ length: 200 }, (_, index) => ['read', String(index)] as const);
  const world = await Fixture.open({ model: roundsOf(calls(...names)), tools: [counted] as Tool[], maxSteps: 500 });
  await world.accept('t1', 'Read.');
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
  expect((await world.readLog()).filter(({ role }) => role === 'tool')).toHaveLength(200);
  expect(most).toBe(64);
});

it('a turn runs tool calls in parallel, and records each result at once', async () => {
  const gates = new Map(['a', 'b'].map((path) => [path, Promise.withResolvers<string>()]));
  const gated = defineTool({
    name: 'read',
    description: '',
    input,
    run: ({ path }) => gates.get(path)?.promise ?? Promise.reject(new Error(`no gate ${path}`)),
  });
  const world = await Fixture.open({
    model: roundsOf(calls(['read', 'a'], ['read', 'b'])),
    tools: [gated] as Tool[],
  });
  await world.accept('t1', 'Read.');
  const delivered = world.deliver();
  await settleTasks();
  const { steps } = (await world.store.readSteps(ref, 't1')) ?? {};
  expect(steps?.get('tool-c2_0')).toMatchObject({ status: 'started' });
  expect(steps?.get('tool-c2_1')).toMatchObject({ status: 'started' });
  gates.get('b')?.resolve('second call, first result');
  await settleTasks();
  expect((await world.readLog()).at(-1)).toMatchObject({ role: 'tool', toolCallId: 'c2_1' });
  gates.get('a')?.resolve('late');
  await delivered;
  expect((await world.readLog()).map(({ toolCallId }) => toolCallId)).toEqual([
    undefined,
    undefined,
    'c2_1',
    'c2_0',
    undefined,
  ]);
  expect((await world.readLog()).at(-1)?.content).toBe('done');
});

it('a turn answers tool calls that cannot be run with errors, and continues', async () => {
  const failing = defineTool({
    name: 'fail',
    description: '',
    input,
    run: async () => {
      throw new Error('no such file');
    },
  });
  const odd: Tool = { name: 'odd', description: '', input, run: async () => 7 as unknown as string };
  const bad = { id: 'call_9', name: 'read', arguments: '{"path":' };
  const round = calls(['read', 'a'], ['write', 'a'], ['fail', 'a'], ['odd', 'a']);
  const model = roundsOf({ toolCalls: [...(round.toolCalls ?? []), bad] });
  const world = await Fixture.open({ model, tools: [read, failing, odd] as Tool[] });
  await world.accept('t1', 'Go.');
  await world.deliver();
  const results = (await world.readLog()).filter(({ role }) => role === 'tool');
  const byId = new Map(results.map((message) => [message.toolCallId, message]));
  expect(byId.get('c2_0')).toEqual({ role: 'tool', toolCallId: 'c2_0', content: 'text of a' });
  expect(byId.get('c2_1')).toEqual(erroneous(/^unknown_tool: .*"write"/));
  expect(byId.get('c2_2')).toEqual(erroneous(/^failed: no such file$/));
  expect(byId.get('c2_3')).toEqual(erroneous(/^invalid_result: /));
  expect(byId.get('c2_4')).toEqual(erroneous(/^invalid_input: arguments: not valid JSON/));
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
  const told = world.eventsOf('tool_called').map(({ name, outcome }) => `${name} ${outcome}`);
  expect(told.toSorted()).toEqual([
    'fail failed',
    'odd invalid_result',
    'read done',
    'read invalid_input',
    'unknown unknown_tool',
  ]);
});

it('a tool call gets an idempotency key, and ends at its deadline even if it ignores its signal', async () => {
  const contexts: ToolContext[] = [];
  const hanging = defineTool({
    name: 'hang',
    description: '',
    input,
    run: (_, context) => {
      contexts.push(context);
      return new Promise<string>(() => {});
    },
  });
  const world = await Fixture.open({
    model: roundsOf(calls(['hang', 'a'])),
    tools: [hanging] as Tool[],
    settings: { stepTimeoutMs: 5_000 },
  });
  await world.accept('t1', 'Go.');
  const delivered = world.deliver();
  await settleTasks();
  expect(contexts).toMatchObject([
    { conversation: 'talk', turn: 't1', idempotencyKey: '_/talk/t1/1700000000000/c2_0' },
  ]);
  await world.timers.advance(4_999);
  expect(contexts[0]?.signal.aborted).toBe(false);
  await world.timers.advance(1);
  await delivered;
  expect(contexts[0]?.signal.aborted).toBe(true);
  expect((await world.readLog())[2]).toEqual(
    erroneous(/^timeout: the call did not end within its timeout of 5000 ms$/),
  );
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
  expect(await world.countTimers()).toBe(0);
});

it.each([true, false])(
  'a turn clips a large tool result before it enters the log, and stores the full text if the agent has recall: %s',
  async (recall) => {
    const text = Array.from({ length: 500 }, (_, line) => `line ${line}`).join('\n');
    const large = defineTool({
      name: 'read',
      description: '',
      input,
      run: async () => ({ content: text, isError: true }),
    });
    const world = await Fixture.open({
      model: roundsOf(calls(['read', 'a'])),
      tools: [large] as Tool[],
      toolResultMaxTokens: 200,
      recall,
    });
    await world.accept('t1', 'Go.');
    await world.deliver();
    const { content = '', isError } = (await world.readLog())[2] ?? {};
    expect(isError).toBe(true);
    expect(content).toMatch(/\[clipped: \d+ characters; /);
    const [, hash] = /by ref (\w+)\]/.exec(content) ?? [];
    expect([...((await world.db.find(ref))?.texts.byHash ?? [])]).toEqual(recall ? [[hash, text]] : []);
    expect((await world.db.find(ref))?.log[2]?.tokens).toBeLessThanOrEqual(204);
  },
);

it('a turn of 100 tool calls records each step at once', async () => {
  const lengths: number[] = [];
  const model = scriptedModel({
    decide: ({ messages }) => {
      const rounds = messages.filter(({ role }) => role === 'tool').length;
      return rounds < 100 ? calls(['read', `${rounds}`]) : { content: 'done' };
    },
  });
  const watching = defineTool({
    name: 'read',
    description: '',
    input,
    run: async ({ path }) => {
      lengths.push((await world.readLog()).length);
      return path;
    },
  });
  const world: Fixture = await Fixture.open({ model, tools: [watching] as Tool[], maxSteps: 201 });
  await world.accept('t1', 'Go.');
  await world.deliver();
  expect(lengths).toEqual(Array.from({ length: 100 }, (_, call) => 2 + 2 * call));
  expect(await world.readLog()).toHaveLength(202);
});

it('a turn at its limit of steps fails instead of calling the model again', async () => {
  const model = scriptedModel({ decide: () => calls(['read', 'a']) });
  const world = await Fixture.open({ model, tools: [read] as Tool[], maxSteps: 4 });
  await world.accept('t1', 'Go.');
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({
    state: 'failed',
    failure: { code: 'step_limit', details: { maxSteps: 4 } },
  });
  expect(model.callCount).toBe(2);
  expect(await world.readLog()).toHaveLength(5);
});

it('a turn whose tool calls would exceed its step limit fails, runs none of these calls, and closes the tool round', async () => {
  let runs = 0;
  const counting = defineTool({
    name: 'read',
    description: '',
    input,
    run: async () => {
      runs += 1;
      return 'x';
    },
  });
  const model = roundsOf(calls(['read', 'a'], ['read', 'b'], ['read', 'c']));
  const world = await Fixture.open({ model, tools: [counting] as Tool[], maxSteps: 3 });
  await world.accept('t1', 'Go.');
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ failure: { code: 'step_limit' } });
  expect(runs).toBe(0);
  expect((await world.db.find(ref))?.openCalls).toEqual([]);
  expect((await world.readLog()).slice(2).map(({ toolCallId, isError }) => [toolCallId, isError])).toEqual([
    ['c2_0', true],
    ['c2_1', true],
    ['c2_2', true],
  ]);
});

const ask = defineTool({ name: 'ask', description: 'asks a person', input });
const remove = defineTool({
  name: 'remove',
  description: '',
  input,
  needsApproval: true,
  run: async ({ path }) => `no ${path}`,
});
const tools = [read, ask, remove] as Tool[];

it('a turn runs its other tool calls first, and then waits until all open approvals and outside results are answered', async () => {
  const model = roundsOf(calls(['ask', 'a'], ['read', 'b'], ['ask', 'c']));
  const world = await Fixture.open({ model, tools });
  const told = () => world.eventsOf('tool_called').map(({ name }) => name);
  await world.accept('t1', 'Go.');
  await world.deliver();
  const until = world.timers.now() + TURN_LIMITS.answerWithinMs;
  expect(await world.view('t1')).toMatchObject({
    state: 'waiting',
    waiting: { for: 'tools', step: 'model-1', until, calls: [{ id: 'c2_0' }, { id: 'c2_2' }] },
  });
  expect(world.eventsOf('turn_suspended')).toMatchObject([{ for: 'tools', waitMs: TURN_LIMITS.answerWithinMs }]);
  expect(await world.readLog()).toHaveLength(3);
  expect(told()).toEqual(['read']);
  await world.timers.advance(3_600_000);
  await world.deliver();
  await world.resume('t1', { c2_2: { content: 'blue' } });
  await world.deliver();
  expect(await world.readLog()).toHaveLength(3);
  expect(model.callCount).toBe(1);
  await world.resume('t1', { c2_0: { content: 'nobody there', isError: true } });
  await world.deliver();
  expect((await world.readLog()).slice(3)).toEqual([
    { role: 'tool', toolCallId: 'c2_0', content: 'nobody there', isError: true },
    { role: 'tool', toolCallId: 'c2_2', content: 'blue' },
    { role: 'assistant', content: 'done' },
  ]);
  expect(told(), 'what has its result is not run again').toEqual(['read', 'ask', 'ask']);
  expect(await world.countTimers()).toBe(0);
});

it('a tool call that waits for an outside result is answered by a timeout after its deadline', async () => {
  const world = await Fixture.open({ model: roundsOf(calls(['ask', 'a'], ['ask', 'b'])), tools });
  await world.accept('t1', 'Go.');
  await world.deliver();
  await world.resume('t1', { c2_1: { content: 'blue' } });
  await world.timers.advance(TURN_LIMITS.answerWithinMs);
  await world.deliver();
  expect((await world.readLog()).slice(2, 4)).toEqual([
    erroneous(/^timeout: /),
    { role: 'tool', toolCallId: 'c2_1', content: 'blue' },
  ]);
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
});

it('a turn runs approved tool calls and denies rejected ones before it waits for outside results', async () => {
  const model = roundsOf(calls(['remove', 'a'], ['ask', 'b'], ['remove', 'c']));
  const world = await Fixture.open({ model, tools });
  await world.accept('t1', 'Go.');
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({
    waiting: { for: 'approval', calls: [{ id: 'c2_0' }, { id: 'c2_2' }] },
  });
  await world.resume('t1', { c2_0: { approved: true }, c2_2: { approved: false, why: 'keep it' } });
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ waiting: { for: 'tools', calls: [{ id: 'c2_1' }] } });
  await world.resume('t1', { c2_1: { content: 'blue' } });
  await world.deliver();
  const byId = new Map((await world.readLog()).map((message) => [message.toolCallId, message]));
  expect(byId.get('c2_0')).toMatchObject({ content: 'no a' });
  expect(byId.get('c2_1')).toMatchObject({ content: 'blue' });
  expect(byId.get('c2_2')).toEqual(erroneous(/^denied: keep it$/));
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
});

it('each tool call that waits for an outside result has its own deadline, and the turn continues to wait for the others', async () => {
  const soon: Tool = { name: 'soon', description: '', input, answerWithinMs: 60_000 };
  const model = roundsOf(calls(['ask', 'a'], ['soon', 'b']));
  const world = await Fixture.open({ model, tools: [...tools, soon] });
  await world.accept('t1', 'Go.');
  await world.deliver();
  const startedAt = world.timers.now();
  expect(await world.view('t1')).toMatchObject({ waiting: { until: startedAt + 60_000 } });
  await world.timers.advance(60_000);
  await world.deliver();
  expect((await world.readLog()).slice(2)).toEqual([erroneous(/^timeout: /)]);
  expect((await world.readLog())[2]).toMatchObject({ toolCallId: 'c2_1' });
  const until = startedAt + TURN_LIMITS.answerWithinMs;
  expect(await world.view('t1')).toMatchObject({
    state: 'waiting',
    waiting: { until, calls: [{ id: 'c2_0', until }] },
  });
  await world.resume('t1', { c2_0: { content: 'blue' } });
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
  expect((await world.readLog()).filter(({ role }) => role === 'tool')).toHaveLength(2);
});

it('a tool call that waits for an approval is denied after its deadline', async () => {
  const world = await Fixture.open({ model: roundsOf(calls(['remove', 'a'])), tools });
  await world.accept('t1', 'Go.');
  await world.deliver();
  await world.timers.advance(TURN_LIMITS.answerWithinMs);
  await world.deliver();
  expect((await world.readLog())[2]).toEqual(erroneous(/^denied: .*deadline/));
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
});
