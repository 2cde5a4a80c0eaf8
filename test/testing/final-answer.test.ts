import { afterEach, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import type { ModelRequest } from '../../src/domain/model.ts';
import type { ScriptedAnswer } from '../../src/index.ts';
import { defineAgent, defineTool, scriptedModel } from '../../src/index.ts';
import { openTestWorkers, type TestWorkers } from '../../src/testing/index.ts';

const answer = z.object({ city: z.string(), degrees: z.number().max(60) });

let workers: Pick<TestWorkers, 'close'> | undefined;

afterEach(() => workers?.close());

/** Runs one turn of an agent with a schema for its answers. Returns its state, its log and the requests. */
async function ask(...answers: readonly ScriptedAnswer[]) {
  const requests: ModelRequest[] = [];
  const model = scriptedModel({
    decide: (request) => {
      requests.push(request);
      return answers[requests.length - 1] ?? { content: 'nothing more was scripted' };
    },
  });
  const read = defineTool({ name: 'read', description: '', input: z.object({}), run: async () => 'sunny' });
  const agents = [
    defineAgent({ name: 'weather', system: 'You know the weather.', model, tools: [read], policy: {}, answer }),
    defineAgent({ name: 'chat', system: '', model, tools: [], policy: {} }),
  ];
  const opened = await openTestWorkers({ agents });
  workers = opened;
  await opened.client.enqueueTurn({ conversation: 'c', agent: 'weather', turn: 't', input: 'How is it?' });
  const view = await opened.client.result('c', 't', { waitMs: 10_000 });
  const log = await opened.client.log('c');
  return { view, requests, roles: log.map(({ message }) => message.role) };
}

const GOOD = '{"city":"Oslo","degrees":3}';

test('a final answer that matches the schema of its agent becomes the value of the turn', async () => {
  const { view, requests } = await ask({ content: GOOD });
  expect(view).toMatchObject({ state: 'completed', answer: { content: GOOD, value: { city: 'Oslo', degrees: 3 } } });
  expect(requests[0]?.system).toContain('"degrees":{"type":"number","maximum":60}');
});

test('a final answer that is one code block with JSON is accepted', async () => {
  const { view } = await ask({ content: `\`\`\`json\n${GOOD}\n\`\`\`` });
  expect(view.answer?.value).toEqual({ city: 'Oslo', degrees: 3 });
});

test('a model whose answer does not match the schema is asked once for a correction, and may call tools before it answers', async () => {
  const { view, requests, roles } = await ask(
    { content: '{"city":"Oslo","degrees":300}' },
    { content: '', toolCalls: [{ name: 'read', arguments: {} }] },
    { content: GOOD },
  );
  expect(view).toMatchObject({ state: 'completed', answer: { value: { city: 'Oslo', degrees: 3 } } });
  expect(requests[1]?.messages.at(-1)).toMatchObject({ role: 'user', content: expect.stringContaining('degrees') });
  expect(roles).toEqual(['user', 'assistant', 'user', 'assistant', 'tool', 'assistant']);
});

test('a turn fails if the corrected answer does not match the schema, and the failure names the fields', async () => {
  const { view } = await ask({ content: 'It is cold.' }, { content: '{"city":"Oslo"}' }, { content: GOOD });
  expect(view).toMatchObject({
    state: 'failed',
    failure: { code: 'answer_invalid', details: { agent: 'weather', fields: ['degrees'] } },
  });
});

test('an incomplete final answer is not checked against the schema', async () => {
  const { view } = await ask({ content: '{"city":', end: 'cut_off' });
  expect(view).toMatchObject({ state: 'completed', answer: { end: 'cut_off' } });
  expect(view.answer).not.toHaveProperty('value');
});

test('the type of the value of a turn follows from the name of the agent', async () => {
  const { view } = await ask({ content: GOOD });
  if (view.state !== 'completed' || view.agent !== 'weather') throw new Error('the turn has not completed');
  expectTypeOf(view.answer.value).toEqualTypeOf<{ city: string; degrees: number } | undefined>();
});
