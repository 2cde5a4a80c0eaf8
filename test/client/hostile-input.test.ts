import { expect, test } from 'vitest';
import type { CallAnswer } from '../../src/api/contract/call-answers.ts';
import type { TurnfoldClient } from '../../src/api/contract/client.ts';
import { isTurnfoldError, type TurnfoldError } from '../../src/domain/errors.ts';
import type { Message } from '../../src/domain/message.ts';
import { openEmbeddedStore } from '../../src/store/open-embedded-store.ts';
import { HOSTILE_JSON, hostileProxy } from '../fakes/hostile-values.ts';
import { createMemoryClient } from './memory-client.ts';

/** Error of a refused call. The store must stay empty. */
async function refusalOf(call: (client: TurnfoldClient) => Promise<unknown>): Promise<TurnfoldError> {
  const { store } = await openEmbeddedStore();
  const client = createMemoryClient(store);
  const error: unknown = await call(client).then(
    () => new Error('it was not refused'),
    (reason: unknown) => reason,
  );
  if (!isTurnfoldError(error)) throw error;
  expect(await store.readConversation({ tenant: '_', id: 'c1' }), 'nothing is written').toBeUndefined();
  expect(error.message.length).toBeLessThan(2_000);
  return error;
}

function appendTo(client: TurnfoldClient, ...messages: unknown[]): Promise<unknown> {
  return client.append({ conversation: 'c1', agent: 'a', messages: messages as Message[] });
}

const fine = { role: 'user', content: 'fine' };

test.each(HOSTILE_JSON)('the error of append names the field of a raw item that is %s', async (_, make) => {
  const message = { role: 'assistant', content: 'x', raw: { items: [make()] } };
  const { code, field } = await refusalOf((client) => appendTo(client, fine, message));
  expect(['invalid_input', 'message_too_large']).toContain(code);
  expect(field).toMatch(/^messages\[1\]\.raw/);
});

test.each(HOSTILE_JSON)('the error of append names the field of a message part that is %s', async (_, make) => {
  const message = { role: 'user', content: 'x', parts: [{ type: 'text', text: 'a' }, make()] };
  const { code, field } = await refusalOf((client) => appendTo(client, fine, message));
  expect(['invalid_input', 'message_too_large']).toContain(code);
  expect(field).toMatch(/^messages\[1\]\.parts/);
});

test('the error of append names a field whose getter throws', async () => {
  const error = await refusalOf((client) =>
    appendTo(client, fine, fine, fine, {
      role: 'user',
      get content(): string {
        throw new Error('a getter that throws');
      },
    }),
  );
  expect(error).toMatchObject({ code: 'invalid_input', field: 'messages[3].content' });
});

test.each<[string, (client: TurnfoldClient) => Promise<unknown>]>([
  ['an append', (client) => client.append(hostileProxy() as never)],
  ['append of a proxy', (client) => appendTo(client, hostileProxy())],
  ['enqueueTurn', (client) => client.enqueueTurn(hostileProxy() as never)],
  ['a conversation’s name', (client) => client.describe(hostileProxy() as never)],
  ['a conversation’s name that is a symbol', (client) => client.describe(Symbol('c1') as never)],
  ['fork', (client) => client.fork('c1', 'c2', hostileProxy())],
  ['answer', (client) => client.answer('c1', 't1', hostileProxy() as Readonly<Record<string, CallAnswer>>)],
  ['answer of one call', (client) => client.answer('c1', 't1', { c1_0: hostileProxy() as never })],
  ['approve', (client) => client.approve('c1', 'p', hostileProxy())],
  ['openTurns', (client) => client.openTurns('c1', hostileProxy())],
  ['failedTurns', (client) => client.failedTurns(hostileProxy())],
])('a client call refuses a value whose every access throws: %s', async (_, call) => {
  expect(await refusalOf(call)).toMatchObject({ code: 'invalid_input' });
});

test('a field name of 5 MB does not make an error message of 5 MB', async () => {
  const long = 'x'.repeat(5_000_000);
  const errors = [
    await refusalOf((client) => client.enqueueTurn({ conversation: 'c1', agent: 'a', input: 'x', [long]: 1 })),
    await refusalOf((client) => client.answer('c1', 't1', { [long]: { content: 5 as never } })),
    await refusalOf((client) => client.answer('c1', 't1', { [long]: { content: 'x'.repeat(2_000_000) } })),
  ];
  for (const { message, field = '' } of errors) expect(message.length + field.length).toBeLessThan(2_000);
});

test('the client refuses a text of 100 MB as too large', async () => {
  const input = 'x'.repeat(100_000_000);
  const error = await refusalOf((client) => client.enqueueTurn({ conversation: 'c1', agent: 'a', input }));
  expect(error).toMatchObject({ code: 'message_too_large', field: 'input' });
});
