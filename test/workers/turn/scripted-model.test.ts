import { expect, it } from 'vitest';
import { ModelError, type ModelRequest } from '../../../src/domain/model.ts';
import { scriptedModel } from '../../../src/providers/scripted.ts';

function request(content: string, signal = new AbortController().signal): ModelRequest {
  return {
    system: '',
    tools: [],
    messages: [
      { role: 'user', content: 'before' },
      { role: 'user', content },
    ],
    tokens: 10,
    idempotencyKey: 'c/t/model-1',
    signal,
  };
}

it('the scripted model answers the expected calls in order, and fills in fields that the script leaves out', async () => {
  const usage = { inputTotal: 1, output: 2, outputKept: 2 };
  const model = scriptedModel({
    steps: [
      { expect: { role: 'user', content: 'one', messages: 2 }, answer: { content: 'first' } },
      { expect: { content: /^tw/ }, answer: { toolCalls: [{ name: 'read', arguments: { path: 'a' } }], usage } },
      { answer: ({ messages }) => ({ content: `third of ${messages.length}` }) },
    ],
  });
  expect(await model.generate(request('one'))).toEqual({ content: 'first', toolCalls: [] });
  expect(await model.generate(request('two'))).toEqual({
    content: '',
    toolCalls: [{ id: 'call_0', name: 'read', arguments: '{"path":"a"}' }],
    usage,
  });
  expect(await model.generate(request('three'))).toMatchObject({ content: 'third of 2' });
  expect(model.callCount).toBe(3);
  model.assertDone();
});

it.each([
  [{ role: 'tool' as const }, /the last message has the role user, expected tool/],
  [{ content: 'two' }, /the text of the last message does not match two/],
  [{ content: /two/ }, /the text of the last message does not match \/two\//],
  [{ messages: 3 }, /2 messages, expected 3/],
])('the scripted model fails on a call that is not %j', async (expected, why) => {
  const model = scriptedModel({ steps: [{ expect: expected, answer: {} }] });
  const failed = await model.generate(request('one')).catch((error: unknown) => error);
  expect(failed).toMatchObject({ name: 'ModelError', kind: 'fatal', message: expect.stringMatching(why) });
});

it('the scripted model fails if it gets more or fewer calls than its script lists', async () => {
  const model = scriptedModel({ steps: [{ answer: {} }] });
  expect(() => model.assertDone()).toThrow('1 of 1 steps were not used');
  await model.generate(request('one'));
  model.assertDone();
  await expect(model.generate(request('two'))).rejects.toMatchObject({
    kind: 'fatal',
    message: /call 2 is not in the script/,
  });
});

it('the scripted model throws a scripted error, waits for a scripted promise, and rejects with the reason of an abort', async () => {
  const gate = Promise.withResolvers<{ content: string }>();
  const busy = new ModelError('retry', 'busy', { retryAt: 5 });
  const model = scriptedModel({
    steps: [{ answer: busy }, { answer: gate.promise }, { answer: new Promise<never>(() => {}) }],
  });
  await expect(model.generate(request('one'))).rejects.toBe(busy);
  const gated = model.generate(request('two'));
  gate.resolve({ content: 'through' });
  expect(await gated).toMatchObject({ content: 'through' });
  const work = new AbortController();
  const aborted = model.generate(request('three', work.signal));
  const reason = new Error('the turn ended');
  work.abort(reason);
  await expect(aborted).rejects.toBe(reason);
  await expect(model.generate(request('four', work.signal))).rejects.toBe(reason);
});

it('the scripted model streams its text word by word, or in scripted pieces', async () => {
  async function* bring(): AsyncGenerator<string> {
    yield* ['It ', 'is ', 'blue.'];
  }
  const model = scriptedModel({
    steps: [{ answer: { content: ' It  is\nblue. ' } }, { answer: { content: bring() } }, { answer: {} }],
  });
  const told: string[] = [];
  const ask = () => model.generate({ ...request('x'), onText: (piece) => told.push(piece) });
  expect(await ask()).toMatchObject({ content: ' It  is\nblue. ' });
  expect(told.splice(0)).toEqual([' It', '  is', '\nblue.', ' ']);
  expect(await ask()).toMatchObject({ content: 'It is blue.' });
  expect(told.splice(0)).toEqual(['It ', 'is ', 'blue.']);
  expect(await ask()).toMatchObject({ content: 'done' });
  expect(told).toEqual(['done']);
});

it('the scripted model can compute each answer from its request, for any number of requests', async () => {
  const model = scriptedModel({
    profile: { id: 'small', windowTokens: 100 },
    decide: ({ messages }) => ({ content: messages.at(-1)?.content ?? '' }),
  });
  expect(model.profile).toEqual({
    id: 'small',
    encoding: 'o200k_base',
    windowTokens: 100,
    outputCapTokens: 4_096,
    upperBoundFactor: 1,
  });
  for (const text of ['a', 'b', 'a']) expect(await model.generate(request(text))).toMatchObject({ content: text });
  model.assertDone();
});
