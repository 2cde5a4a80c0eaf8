import { afterAll, beforeAll, expect, test } from 'vitest';
import { listChatMessages } from '../../src/http/ai-sdk/chat-history.ts';
import type { Backend } from '../../src/http/front-end/backend.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createFrontEndAgent } from './front-end-agent.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createFrontEndAgent()]);
});
afterAll(() => fixture.close());

test('leaves out the answer of a turn that ends while its log is read', async () => {
  const { client } = fixture;
  const conversation = 'ends-meanwhile';
  const { turn } = await client.enqueueTurn({ conversation, agent: 'guide', input: 'call locate' });
  await expect.poll(() => client.result(conversation, turn)).toMatchObject({ state: 'waiting' });
  const backend: Backend = {
    agent: 'guide',
    tenant: undefined,
    nameOf: (id) => id,
    client: {
      ...client,
      log: async (name) => {
        const read = await client.log(name);
        const { waiting } = await client.result(conversation, turn);
        await client.answer(conversation, turn, { [waiting?.calls?.[0]?.id ?? '']: { content: 'at home' } });
        await client.result(conversation, turn, { waitMs: 60_000 });
        return read;
      },
    },
  };
  const messages = await listChatMessages(backend, conversation);
  expect(messages.map(({ role }) => role)).toEqual(['user']);
});
