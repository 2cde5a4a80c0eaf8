import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { EnqueueInput, TurnView } from '../../../src/api/client/index.ts';
import type { Agent } from '../../../src/domain/agent.ts';
import type { ModelRequest } from '../../../src/domain/model.ts';
import { type ScriptedOutcome, scriptedModel } from '../../../src/providers/scripted.ts';
import { type Fixture, openFixture } from '../fixture.ts';

const locate = {
  name: 'locate',
  description: 'Finds the position of the browser.',
  parameters: { type: 'object', properties: { exact: { type: 'boolean' } }, required: ['exact'] },
};
const colour = { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'] };

/** Requests by the text of their user message. */
const asked = new Map<string, ModelRequest[]>();

/** Calls the tool `locate` if the request has it, then answers with the result. `say …` is answered with the text. */
function decide(request: ModelRequest): ScriptedOutcome {
  const { messages, tools } = request;
  const at = messages.findLastIndex(({ role, content }) => role === 'user' && !content.startsWith('Your last answer'));
  const input = messages[at]?.content ?? '';
  asked.set(input, [...(asked.get(input) ?? []), request]);
  if (input.startsWith('say ')) return { content: input.slice(4) };
  if (input.startsWith('fail') && asked.get(input)?.length === 1) return new Error('the first call fails');
  const results = messages.slice(at).filter(({ role }) => role === 'tool');
  if (results.length > 0) return { content: results.map(({ content }) => content).join(' | ') };
  const isOwn = tools.some(({ name }) => name === 'locate');
  return isOwn ? { toolCalls: [{ name: 'locate', arguments: { exact: input !== 'wrong' || 'no' } }] } : {};
}

const model = scriptedModel({ decide });
const input = z.object({});
const agent: Agent = {
  name: 'open',
  system: 'You help.',
  model,
  tools: [{ name: 'look', description: 'looks', input, run: async () => 'seen' }],
  policy: { pins: ['Never lie.'] },
};

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([
    agent,
    { ...agent, name: 'closed', accepts: { tools: false, instructions: false, answer: false, parts: false } },
    { ...agent, name: 'steerable', accepts: { parts: false } },
    { ...agent, name: 'strict', answer: z.object({ size: z.number() }) },
  ]);
});
afterAll(() => fixture.close());

let count = 0;

async function enqueue(own: Partial<EnqueueInput> & { readonly input: string }): Promise<string> {
  const conversation = own.conversation ?? `own-${++count}`;
  await fixture.client.enqueueTurn({ conversation, agent: 'open', turn: 't1', ...own });
  return conversation;
}

/** Waits until the turn waits for its caller, or is settled. */
async function untilStill(conversation: string, turn = 't1'): Promise<TurnView> {
  let view: TurnView | undefined;
  await expect
    .poll(async () => {
      view = await fixture.client.result(conversation, turn);
      return view.waiting !== undefined || view.settledAt !== undefined;
    })
    .toBe(true);
  if (view === undefined) throw new Error('never read');
  return view;
}

async function answerCalls(conversation: string, { turn, waiting }: TurnView): Promise<void> {
  const answers = waiting?.calls.map(({ id }) => [id, { content: '52° N' }] as const) ?? [];
  await fixture.client.answer(conversation, turn, Object.fromEntries(answers));
}

async function run(own: Partial<EnqueueInput> & { readonly input: string }): Promise<TurnView> {
  const conversation = await enqueue(own);
  const view = await untilStill(conversation, own.turn);
  if (view.waiting === undefined) return view;
  await answerCalls(conversation, view);
  return await fixture.client.result(conversation, view.turn, { waitMs: 20_000 });
}

describe('tools that a turn brings', () => {
  test('the model gets the tools of the turn behind those of the agent, and the turn waits for the result of its caller', async () => {
    const conversation = await enqueue({ input: 'find me', tools: [locate] });
    const view = await untilStill(conversation);
    expect(view.waiting).toMatchObject({ for: 'tools', calls: [{ name: 'locate', arguments: '{"exact":true}' }] });
    await answerCalls(conversation, view);
    expect(await untilStill(conversation)).toMatchObject({
      state: 'completed',
      answer: { content: '52° N' },
    });
    const [first] = asked.get('find me') ?? [];
    expect(first?.tools.map(({ name }) => name)).toEqual(['look', 'locate']);
    expect(first?.tools[1]).toMatchObject(locate);
  });

  test('the next turn of the conversation has only the tools that it brings itself', async () => {
    const conversation = await enqueue({ input: 'say first', tools: [locate] });
    await untilStill(conversation);
    await run({ conversation, turn: 't2', input: 'say second' });
    expect(asked.get('say second')?.[0]?.tools.map(({ name }) => name)).toEqual(['look']);
  });

  test('a call whose arguments do not match the parameters gets an error that names the field', async () => {
    const view = await run({ input: 'wrong', tools: [locate] });
    expect(view.answer?.content).toContain('invalid_input: arguments.exact: expected boolean');
  });

  test('toolChoice none and a lower output limit are in each request, and required is only in the first', async () => {
    await run({ input: 'say none', toolChoice: 'none', maxOutputTokens: 100 });
    expect(asked.get('say none')?.[0]).toMatchObject({ toolChoice: 'none', maxOutputTokens: 100 });
    await run({ input: 'must', toolChoice: 'required', tools: [locate] });
    expect(asked.get('must')?.map(({ toolChoice }) => toolChoice)).toEqual(['required', undefined]);
  });
});

test('instructions of the turn stand behind the system prompt and the pins', async () => {
  await run({ input: 'say hello', instructions: 'Be brief.' });
  expect(asked.get('say hello')?.[0]?.system).toBe('You help.\n\nNever lie.\n\nBe brief.');
});

describe('a form of the answer that a turn brings', () => {
  test('the answer has the value, and the prompt asks for the form of the turn', async () => {
    const view = await run({ input: 'say {"colour":"red"}', answer: { schema: colour } });
    expect(view.answer?.value).toEqual({ colour: 'red' });
    expect(asked.get('say {"colour":"red"}')?.[0]?.system).toContain('matches this JSON Schema');
  });

  test('the form of the turn replaces that of the agent', async () => {
    const own = { agent: 'strict', input: 'say {"colour":"blue"}', answer: { schema: colour, name: 'paint' } };
    expect((await run(own)).answer?.value).toEqual({ colour: 'blue' });
    const [request] = asked.get(own.input) ?? [];
    expect(request?.system).not.toContain('size');
    expect(request?.answerSchema).toMatchObject({ name: 'paint', schema: { required: ['colour'] } });
  });

  test('an answer that does not match the form is corrected once, and then the turn fails with answer_invalid', async () => {
    const view = await run({ input: 'say {"colour":7}', answer: { schema: colour } });
    expect(view).toMatchObject({
      state: 'failed',
      failure: { code: 'answer_invalid', details: { fields: ['colour'] } },
    });
    expect(asked.get('say {"colour":7}')).toHaveLength(2);
  });
});

describe('the end of a turn', () => {
  test('a redrive repeats the turn with its own tools and instructions', async () => {
    const own = { input: 'fail', tools: [locate], instructions: 'Stay calm.' };
    const conversation = await enqueue(own);
    expect(await untilStill(conversation)).toMatchObject({ state: 'failed' });
    const { turn } = await fixture.client.redrive(conversation, 't1');
    const view = await untilStill(conversation, turn);
    expect(view.waiting?.calls[0]?.name).toBe('locate');
    expect(asked.get('fail')?.at(-1)?.system).toMatch(/Stay calm\.$/);
    await fixture.client.cancel(conversation, turn);
  });

  test('a redrive finds what the turn brought where a worker of an earlier release has left it', async () => {
    const conversation = await enqueue({ input: 'fail again', instructions: 'Stay calm.' });
    expect(await untilStill(conversation)).toMatchObject({ state: 'failed' });
    const { redis } = fixture;
    const [hash = ''] = await redis.keys(`*:t:${conversation}:t1`);
    const own = (await redis.hget(hash, 'own')) ?? '';
    expect(JSON.parse(own)).toEqual({ instructions: 'Stay calm.' });
    await redis.hset(hash.replace(/:t:.*/, `:txt:${conversation}`), 'o:t1', own);
    await redis.hdel(hash, 'own');
    const { turn } = await fixture.client.redrive(conversation, 't1');
    expect(await untilStill(conversation, turn)).toMatchObject({ state: 'completed' });
    expect(asked.get('fail again')?.at(-1)?.system).toMatch(/Stay calm\.$/);
  });

  test.each([
    ['completed', { input: 'say bye' }],
    ['failed', { input: 'say {"x":1}', answer: { schema: colour } }],
  ])('Redis holds nothing of its own under the texts of the conversation once a turn has %s', async (state, own) => {
    const conversation = await enqueue({ ...own, tools: [locate], instructions: 'A secret.' });
    expect(await untilStill(conversation)).toMatchObject({ state });
    const keys = await fixture.redis.keys(`*:txt:*${conversation}`);
    expect(keys.length).toBeLessThan(2);
    const texts = await Promise.all(keys.map((key) => fixture.redis.hgetall(key)));
    expect(JSON.stringify(texts)).not.toContain('A secret.');
  });

  test.each(['cancel', 'erase', 'interrupt', 'rollback'] as const)(
    'a waiting turn that ends by %s leaves nothing of its own, and the next turn has nothing of it',
    async (end) => {
      const { client, redis } = fixture;
      const conversation = await enqueue({ input: 'leave', tools: [locate], instructions: 'A secret.' });
      expect((await untilStill(conversation)).waiting).toBeDefined();
      if (end === 'cancel') await client.cancel(conversation, 't1');
      if (end === 'erase') await client.erase(conversation);
      const onBusy = end === 'cancel' || end === 'erase' ? 'enqueue' : end;
      const text = `say after ${end}`;
      expect(await run({ conversation, turn: 't2', input: text, onBusy })).toMatchObject({ state: 'completed' });
      const [request] = asked.get(text) ?? [];
      expect(request?.tools.map(({ name }) => name)).toEqual(['look']);
      expect(request?.system).not.toContain('A secret.');
      const names = await redis.keys(`*${conversation}*`);
      const hashes = await Promise.all(names.map((name) => redis.hgetall(name).catch(() => ({}))));
      expect(hashes.length).toBeGreaterThan(2);
      expect(JSON.stringify(hashes)).not.toContain('A secret.');
    },
  );

  test('a restore while the turn waits changes nothing of what it brings', async () => {
    const { client } = fixture;
    const conversation = await enqueue({ input: 'restored', tools: [locate], instructions: 'Be brief.' });
    const view = await untilStill(conversation);
    await client.restore(conversation, { version: 0, newer: 'keep', operation: 'restore' });
    await answerCalls(conversation, view);
    expect(await client.result(conversation, 't1', { waitMs: 20_000 })).toMatchObject({ state: 'completed' });
    for (const { system, tools } of asked.get('restored') ?? []) {
      expect(system).toMatch(/Be brief\.$/);
      expect(tools.map(({ name }) => name)).toEqual(['look', 'locate']);
    }
    expect(asked.get('restored')).toHaveLength(2);
  });

  test('a fork of the conversation has no tools of an earlier turn', async () => {
    const conversation = await enqueue({ input: 'say parent', tools: [locate] });
    await untilStill(conversation);
    await fixture.client.fork(conversation, `${conversation}-copy`);
    await run({ conversation: `${conversation}-copy`, turn: 't2', input: 'say child' });
    expect(asked.get('say child')?.[0]?.tools.map(({ name }) => name)).toEqual(['look']);
  });
});

describe('an agent that does not accept a part', () => {
  test.each<[string, Partial<EnqueueInput>]>([
    ['tools', { tools: [locate] }],
    ['instructions', { instructions: 'Be brief.' }],
    ['answer', { answer: { schema: colour } }],
    ['parts', { parts: [{ type: 'image', url: 'https://example.com/a.png' }] }],
  ])('a turn with %s fails with invalid_input before any model call', async (field, own) => {
    const text = `say closed ${field}`;
    const view = await run({ agent: 'closed', input: text, ...own });
    expect(view).toMatchObject({
      state: 'failed',
      failure: {
        code: 'invalid_input',
        message: expect.stringContaining(`${field}: the agent closed accepts no ${field} of callers`) as string,
        details: { field },
      },
    });
    expect(asked.get(text)).toBeUndefined();
  });

  test('a refused image leaves the context, so that the next turn is answered without it', async () => {
    const parts = [{ type: 'image' as const, url: 'https://example.com/a.png' }];
    const conversation = await enqueue({ agent: 'closed', input: 'see', parts });
    await untilStill(conversation);
    await run({ conversation, agent: 'closed', turn: 't2', input: 'say next' });
    expect(asked.get('say next')?.[0]?.messages.map(({ content }) => content)).toEqual(['say next']);
  });
});

test('a steering message with an image that the agent refuses fails alone, and the steered turn goes on', async () => {
  const conversation = await enqueue({ input: 'steered', agent: 'steerable', tools: [locate] });
  const waiting = await untilStill(conversation);
  const parts = [{ type: 'image' as const, url: 'https://example.com/a.png' }];
  const steer = { conversation, agent: 'steerable', onBusy: 'steer' } as const;
  await fixture.client.enqueueTurn({ ...steer, turn: 't2', input: 'look at this', parts });
  await answerCalls(conversation, waiting);
  expect(await fixture.client.result(conversation, 't1', { waitMs: 20_000 })).toMatchObject({
    state: 'completed',
    answer: { content: '52° N' },
  });
  expect(await fixture.client.result(conversation, 't2', { waitMs: 20_000 })).toMatchObject({
    state: 'failed',
    failure: { code: 'invalid_input', details: { field: 'parts' } },
  });
});

test('a tool with the name of a tool of the agent fails the turn with invalid_input, and names the tool', async () => {
  const view = await run({ input: 'say same', tools: [locate, { ...locate, name: 'look' }] });
  expect(view.failure).toMatchObject({ code: 'invalid_input', details: { field: 'tools[1].name' } });
});

test('tools that fill the window fail the turn with budget_infeasible before any model call, and the error names them', async () => {
  const tools = Array.from({ length: 20 }, (_, at) => ({
    ...locate,
    name: `tool_${at}`,
    description: 'word '.repeat(3_000),
  }));
  const view = await run({ input: 'say too much', tools: tools.slice(0, 16) });
  expect(view.failure).toMatchObject({
    code: 'budget_infeasible',
    message: expect.stringContaining('tools ') as string,
  });
  expect(asked.get('say too much')).toBeUndefined();
});

describe('validation of what a turn brings', () => {
  const object = { type: 'object' };
  test.each<[string, Partial<Record<keyof EnqueueInput, unknown>>, string]>([
    ['a name with a space', { tools: [{ name: 'a b', parameters: object }] }, 'tools[0].name'],
    ['the same name twice', { tools: [locate, locate] }, 'tools[1].name'],
    ['a tool with a run function', { tools: [{ ...locate, run: 'x' }] }, 'tools[0].run'],
    ['parameters of a list', { tools: [{ name: 'a', parameters: { type: 'array' } }] }, 'tools[0].parameters'],
    ['parameters that are no schema', { tools: [{ name: 'a', parameters: 'x' }] }, 'tools[0].parameters'],
    ['a choice of forms at the top', { tools: [{ name: 'a', parameters: { anyOf: [] } }] }, 'tools[0].parameters'],
    ['129 tools', { tools: Array.from({ length: 129 }, (_, at) => ({ ...locate, name: `t${at}` })) }, 'tools'],
    ['65 KiB of instructions', { instructions: 'x'.repeat(65_537) }, 'instructions'],
    ['an answer without a schema', { answer: {} }, 'answer.schema'],
    ['an unknown choice', { toolChoice: 'maybe' }, 'toolChoice'],
    ['no output tokens', { maxOutputTokens: 0 }, 'maxOutputTokens'],
  ])('enqueueTurn refuses %s, and names the field', async (_, own, field) => {
    const given = { conversation: 'refused', agent: 'open', input: 'x', ...own } as EnqueueInput;
    await expect(fixture.client.enqueueTurn(given)).rejects.toMatchObject({ field });
  });

  test('a known turn id with other tools is a conflict', async () => {
    const turn = { conversation: 'conflict', agent: 'open', turn: 't1', input: 'say x', tools: [locate] };
    await fixture.client.enqueueTurn(turn);
    expect(await fixture.client.enqueueTurn(turn)).toMatchObject({ isNew: false });
    await expect(fixture.client.enqueueTurn({ ...turn, tools: [] })).rejects.toMatchObject({ code: 'turn_conflict' });
  });
});
