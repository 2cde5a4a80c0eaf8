/** Random chats that share their beginnings, are edited, and are sent again: each answer has the history of its request. */
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readCompletionRequest } from '../../src/api/http/openai/chat-request.ts';
import { createChatTurn } from '../../src/api/http/openai/chat-turn.ts';
import { findChat } from '../../src/api/http/openai/find-chat.ts';
import { DEFAULT_TENANT } from '../../src/domain/ids.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createSupport } from './openai-fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createSupport()]);
});
afterAll(() => fixture.close());

interface ChatMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

const backendOf = () => ({
  client: fixture.client,
  source: fixture.client,
  agent: 'support',
  tenant: DEFAULT_TENANT,
  scopes: [],
  checkAccess: async () => undefined,
  nameOf: (conversation: string) => ({ tenant: DEFAULT_TENANT, conversation }),
});

const told = (messages: readonly ChatMessage[]) =>
  messages.map(({ role, content }) => `${role}: ${content}`).join(' / ');

/** Cuts a chat, changes its last message or leaves it, and asks again. */
const moveSchema = fc.record({
  from: fc.nat(20),
  keep: fc.nat(8),
  edit: fc.option(fc.constantFrom('one', 'two'), { nil: undefined }),
  isRepeat: fc.boolean(),
});

test('each request of a chat is answered from exactly the messages that it sent', async () => {
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(moveSchema, { minLength: 1, maxLength: 7 }), async (moves) => {
      run += 1;
      const chats: ChatMessage[][] = [[]];
      const asked = new Map<string, string>();
      for (const { from, keep, edit, isRepeat } of moves) {
        const base = (chats[from % chats.length] ?? []).slice(0, keep * 2);
        const history = edit === undefined || base.length === 0 ? base : [...base.slice(0, -1), assistant(edit)];
        const messages = [...history, { role: 'user', content: 'history' } as const];
        const headers = { 'x-stainless-retry-count': isRepeat ? '1' : '0' };
        const request = readCompletionRequest({ model: 'support', messages, user: `walk-${run}` }, headers);
        const { conversation, turn } = await createChatTurn(backendOf(), request);
        const view = await fixture.client.result(conversation, turn, { waitMs: 60_000 });
        expect(view.answer?.content).toBe(told(messages));
        const key = `${conversation}~${turn}`;
        if (!isRepeat) expect(asked.has(key), 'a new request has a new turn').toBe(false);
        else if (asked.has(told(messages))) expect(key).toBe(asked.get(told(messages)));
        asked.set(key, key);
        asked.set(told(messages), key);
        chats.push([...messages, assistant(view.answer?.content ?? '')]);
      }
    }),
    { numRuns: 25 },
  );
});

test('a chat that matches no conversation begins a new one', async () => {
  const wanted = { agent: 'support', history: [], chat: [], scope: 'nobody' };
  const found = await findChat(backendOf(), wanted, { turn: 't', takesAsked: false });
  expect(found).toMatchObject({ known: 0, head: 0, isAsked: false });
});

function assistant(content: string): ChatMessage {
  return { role: 'assistant', content };
}
