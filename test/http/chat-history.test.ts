import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ConversationName, LogPart } from '../../src/api/client/index.ts';
import { openChatHistory, type UiMessage } from '../../src/api/http/ai-sdk/chat-history.ts';
import { defineAgent, ModelError, scriptedModel } from '../../src/index.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createFrontEndAgent } from './front-end-agent.ts';

/** An agent whose provider refuses each request with a message "bad". */
const picky = defineAgent({
  name: 'picky',
  system: '',
  tools: [],
  policy: {},
  model: scriptedModel({
    decide: ({ messages }) => {
      if (messages.every(({ content }) => content !== 'bad')) return { content: 'fine' };
      throw new ModelError('fatal', 'declined', { refusesContents: true });
    },
  }),
});

async function readMessages(...given: Parameters<typeof openChatHistory>): Promise<UiMessage[]> {
  const messages: UiMessage[] = [];
  for await (const message of await openChatHistory(...given)) messages.push(message);
  return messages;
}

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createFrontEndAgent(), picky]);
});
afterAll(() => fixture.close());

test('the history of a chat leaves out the answer of a turn that ends while its log is read', async () => {
  const { client } = fixture;
  const conversation = 'ends-meanwhile';
  const { turn } = await client.enqueueTurn({ conversation, agent: 'guide', input: 'call locate' });
  await expect.poll(() => client.result(conversation, turn)).toMatchObject({ state: 'waiting' });
  const backend = {
    nameOf: (id: string) => id,
    client: {
      ...client,
      log: async (name: ConversationName, part?: LogPart) => {
        const read = await client.log(name, part);
        const { waiting } = await client.result(conversation, turn);
        await client.answer(conversation, turn, { [waiting?.calls?.[0]?.id ?? '']: { content: 'at home' } });
        await client.result(conversation, turn, { waitMs: 60_000 });
        return read;
      },
    },
  };
  const messages = await readMessages(backend, conversation);
  expect(messages.map(({ role }) => role)).toEqual(['user']);
});

test('the history of a chat keeps a message that the provider refused, although the message left the context', async () => {
  const { client } = fixture;
  const conversation = 'refused';
  for (const [turn, input] of [
    ['m1.1', 'bad'],
    ['m2.1', 'good'],
  ] as const) {
    await client.enqueueTurn({ conversation, agent: 'picky', turn, input });
    await client.result(conversation, turn, { waitMs: 60_000 });
  }
  const shown = await readMessages({ nameOf: (id) => id, client }, conversation);
  expect(shown.map(({ id, parts }) => [id, parts.at(-1)?.['text']])).toEqual([
    ['m1', 'bad'],
    ['m1.1', undefined],
    ['m2', 'good'],
    ['m2.1', 'fine'],
  ]);
  expect(shown[1]?.metadata?.failed).toMatchObject({ code: 'model_failed' });
  expect((await client.context(conversation)).items.map(({ message }) => message.content)).toEqual(['good', 'fine']);
});

test('a message that joined a turn before its first model call is a part of the answer', async () => {
  const { client } = fixture;
  const conversation = 'joined-first';
  const agent = 'busy';
  const steered = Promise.withResolvers<void>();
  let calls = 0;
  const decide = async () => {
    calls += 1;
    if (calls > 1) return { content: 'done' };
    await steered.promise;
    return new ModelError('retry', 'busy', { retryAt: Date.now(), isLimit: false });
  };
  const model = scriptedModel({ decide });
  await fixture.startWorkers([defineAgent({ name: agent, system: '', tools: [], policy: {}, model })]);
  await client.enqueueTurn({ conversation, agent, turn: 'm1.1', input: 'write' });
  await expect.poll(() => calls).toBe(1);
  await client.enqueueTurn({ conversation, agent, turn: 's1.1', input: 'briefly', onBusy: 'steer' });
  steered.resolve();
  await client.result(conversation, 'm1.1', { waitMs: 60_000 });
  const shown = await readMessages({ nameOf: (id) => id, client }, conversation);
  expect(shown.map(({ id }) => id)).toEqual(['m1', 'm1.1']);
  expect(shown[1]?.parts.map(({ type, text }) => [type, text])).toEqual([
    ['data-steering', undefined],
    ['step-start', undefined],
    ['text', 'done'],
  ]);
});
