import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TurnfoldClient } from '../../src/api/client/index.ts';
import { type Authorize, ConversationGuard } from '../../src/api/http/guarded-client.ts';
import type { Caller } from '../../src/api/http/index.ts';
import { createProtocols } from '../../src/api/http/protocols.ts';
import { arbitraryRequest, type OpenApi, type RandomRequest } from './arbitrary-requests.ts';
import { type HttpFixture, openHttpFixture, outline, send } from './fixture.ts';
import { withProtocols } from './random-requests.ts';

const SECRET = 'only ann knows this';
const agent = 'talker';
const AS_BOB: Caller = { tenant: '_', scopes: ['admin'], owner: 'bob' };

let http: HttpFixture;
beforeAll(async () => {
  http = await openHttpFixture();
  const message = { role: 'user', content: SECRET } as const;
  const name = { conversation: 'a', agent, owner: 'ann', title: SECRET };
  await http.client.append({ ...name, messages: [message, { role: 'assistant', content: SECRET }] });
  await http.client.enqueueTurn({ ...name, turn: 't1', input: SECRET });
});
afterAll(() => http.close());

/** Records which conversations the calls of a client name. `describe` is how the server finds an owner. */
function recordNames(client: TurnfoldClient): { readonly recorded: TurnfoldClient; readonly names: Set<string> } {
  const names = new Set<string>();
  const methods = Object.entries(client).map(([name, method]: [string, unknown]) => {
    if (typeof method !== 'function' || name === 'describe') return [name, method];
    const call = (...input: unknown[]): unknown => {
      const targets = name === 'enqueueTurns' ? (input[0] as unknown[]) : input.slice(0, name === 'fork' ? 2 : 1);
      for (const target of targets)
        names.add(`${name} ${(target as { conversation?: string } | undefined)?.conversation ?? String(target)}`);
      return (method as (...given: unknown[]) => unknown)(...input);
    };
    return [name, call];
  });
  return { recorded: Object.fromEntries(methods) as TurnfoldClient, names };
}

async function readStart(response: Response): Promise<string> {
  if (response.headers.get('content-type') !== 'text/event-stream') return await response.text();
  let text = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    if (text.split('\n\n').length > 2) break;
  }
  return text;
}

async function readOfAnn(): Promise<unknown> {
  const { client } = http;
  return [
    await client.describe('a'),
    await client.log('a'),
    (await client.openTurns('a')).turns,
    await client.versions('a'),
  ];
}

const AT_ONCE = 200;

const CALLERS: readonly (readonly [string, Caller, Authorize | undefined])[] = [
  ['of another owner', AS_BOB, undefined],
  [
    'with a token of another conversation',
    { tenant: '_', scopes: ['read', 'enqueue', 'answer'], conversation: 'b' },
    undefined,
  ],
  ['that authorize refuses', { tenant: '_', scopes: ['admin'] }, (_, { conversation }) => conversation !== 'a'],
];

test.each(CALLERS)(
  'no route and no protocol lets a caller %s reach a conversation, whatever it names',
  {
    timeout: 300_000,
  },
  async (_, caller, authorize) => {
    const { recorded, names } = recordNames(http.client);
    const options = { authenticate: async () => caller, authorize, client: recorded, ...withProtocols(recorded) };
    const { url, stop } = await http.serve(options);
    const { body: document } = await send<OpenApi>(`${url}/v1/openapi.json`, 'GET');
    const before = await readOfAnn();
    const operations = new Set<string>();
    const refused = new Set<string>();
    const sendAsCaller = async ({ operation, method, path, headers, body }: RandomRequest): Promise<void> => {
      const leaving = new AbortController();
      const response = await fetch(url + path, {
        method,
        headers,
        signal: leaving.signal,
        ...(body !== undefined && body !== '' && { body }),
      });
      operations.add(operation);
      if (response.status === 403) refused.add(operation);
      expect(await readStart(response), `${method} ${path}`).not.toContain(SECRET);
      leaving.abort();
    };
    const requests = fc.array(arbitraryRequest(document), { minLength: AT_ONCE, maxLength: AT_ONCE });
    await fc.assert(
      fc.asyncProperty(requests, async (all) => {
        await Promise.all(all.map(sendAsCaller));
      }),
      { numRuns: 5, endOnFailure: true },
    );
    const all = Object.values(document.paths).flatMap((methods) => Object.values(methods));
    expect(operations, 'every route was asked').toEqual(new Set(all.map(({ operationId }) => operationId)));
    expect(refused.size, 'most routes met the conversation of ann').toBeGreaterThan(25);
    expect(
      [...names].filter((name) => /^\S+ a$/.test(name)),
      'calls that passed the guard',
    ).toEqual([]);
    expect(await readOfAnn()).toEqual(before);
    await stop();
  },
);

test('a caller of one owner creates conversations of that owner, and lists only these', async () => {
  const { client } = http;
  const { url, stop } = await http.serve({ authenticate: async () => AS_BOB, ...withProtocols(client) });
  const enqueue = async (conversation: string, fields: object = {}) =>
    await send(`${url}/v1/conversations/${conversation}/turns`, 'POST', { body: { agent, input: 'hi', ...fields } });
  expect((await enqueue('of-bob')).status).toBe(202);
  expect(await client.describe('of-bob')).toMatchObject({ owner: 'bob' });
  expect(outline(await enqueue('a'))).toEqual({ status: 403, code: 'forbidden', field: 'conversation' });
  expect(outline(await enqueue('new', { owner: 'ann' }))).toEqual({ status: 403, code: 'forbidden', field: 'owner' });
  const messages = [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'hi' }] }];
  const chat = await fetch(`${url}/v1/chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id: 'chat-of-bob', messages }),
  });
  await chat.body?.cancel();
  expect(await client.describe('chat-of-bob')).toMatchObject({ owner: 'bob' });
  const { body } = await send<{ conversations: { conversation: string }[] }>(`${url}/v1/conversations?limit=1`, 'GET');
  expect(body.conversations.map(({ conversation }) => conversation)).toEqual(['chat-of-bob']);
  expect(outline(await send(`${url}/v1/conversations?owner=ann`, 'GET'))).toMatchObject({ status: 403 });
  expect(outline(await send(`${url}/v1/usage`, 'GET'))).toMatchObject({ status: 403, code: 'forbidden' });
  const turns = [
    { conversation: 'a', agent, input: 'x' },
    { conversation: 'of-bob', agent, input: 'x' },
  ];
  const many = await send<{ turns: object[] }>(`${url}/v1/turns`, 'POST', { body: { turns } });
  expect(many.body.turns).toMatchObject([{ problem: { status: 403, code: 'forbidden' } }, { conversation: 'of-bob' }]);
  await stop();
});

test('authorize decides by owner, metadata and novelty, and lists leave out what it refuses', async () => {
  const { client } = http;
  for (const id of ['team-1', 'team-2', 'team-3']) await client.enqueueTurn({ conversation: id, agent, input: 'x' });
  await client.updateConversation('team-2', { metadata: { team: 'red' } });
  const { url, stop } = await http.serve({
    authorize: (_, { conversation, metadata, isNew }) =>
      isNew || metadata?.['team'] === 'red' || conversation === 'team-3',
  });
  const status = async (id: string) => (await send(`${url}/v1/conversations/${id}`, 'GET')).status;
  expect([await status('team-1'), await status('team-2'), await status('team-3')]).toEqual([403, 200, 200]);
  expect(await status('not-yet')).toBe(404);
  for (const order of ['stable', 'newest']) {
    const found: string[] = [];
    let after = '';
    do {
      const path = `${url}/v1/conversations?limit=1&order=${order}${after && `&after=${encodeURIComponent(after)}`}`;
      const { body } = await send<{ conversations: { conversation: string }[]; next?: string }>(path, 'GET');
      found.push(...body.conversations.map(({ conversation }) => conversation));
      expect(body.next ?? 'team-2').toMatch(/team-[23]$/);
      after = body.next ?? '';
    } while (after !== '');
    expect(found.toSorted()).toEqual(['team-2', 'team-3']);
  }
  await stop();
});

test('a stream ends once authorize refuses its conversation', async () => {
  const { client } = http;
  await client.enqueueTurn({ conversation: 'watched', agent, input: 'x', turn: 't1' });
  let isAllowed = true;
  const protocols = createProtocols({ client, agent });
  const { url, stop } = await http.serve({ protocols, authorize: () => isAllowed, limits: { accessCheckMs: 10 } });
  const response = await fetch(`${url}/v1/conversations/watched/turns/t1/events`);
  expect(response.status).toBe(200);
  isAllowed = false;
  await response.text();
  expect((await fetch(`${url}/v1/conversations/watched/turns/t1/events`)).status).toBe(403);
  await stop();
});

test('a check that could not run leaves out no conversation of the next check', async () => {
  const { client } = http;
  for (const conversation of ['first', 'second']) await client.enqueueTurn({ conversation, agent, input: 'x' });
  let mode: 'allows' | 'breaks' | 'refuses' = 'allows';
  const guard = new ConversationGuard({ tenant: '_', scopes: ['read'] }, (_, { conversation }) => {
    if (mode === 'breaks') throw new Error('the service of rights is away');
    return mode === 'allows' || conversation === 'first';
  });
  const guarded = guard.guard(client);
  for (const conversation of ['first', 'second']) await guarded.describe(conversation);
  mode = 'breaks';
  await expect(guard.checkAgain()).rejects.toThrow('away');
  mode = 'refuses';
  await expect(guard.checkAgain()).rejects.toMatchObject({ code: 'access_denied' });
});
