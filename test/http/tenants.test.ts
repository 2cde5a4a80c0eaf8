import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { authenticateByKey } from '../../src/api/http/caller.ts';
import { createProtocols } from '../../src/api/http/protocols.ts';
import { arbitraryRequest, type OpenApi, type RandomRequest } from './arbitrary-requests.ts';
import { type HttpFixture, openHttpFixture, send } from './fixture.ts';
import { withProtocols } from './random-requests.ts';

const SECRET = 'only tenant one knows this';
/** The random requests name this conversation, too. */
const NAME = { tenant: 'one', conversation: 'a' } as const;

/** Events of a stream that are read. More may not come, because no worker runs. */
const EVENTS = 2;

let http: HttpFixture;
beforeAll(async () => {
  http = await openHttpFixture();
  const message = { role: 'user', content: SECRET } as const;
  await http.client.append({ ...NAME, agent: 'talker', messages: [message, { role: 'assistant', content: SECRET }] });
  await http.client.enqueueTurn({ ...NAME, agent: 'talker', turn: 't1', input: SECRET });
});
afterAll(() => http.close());

/** Reads an answer, or the first events of a stream. */
async function readStart(response: Response): Promise<string> {
  if (response.headers.get('content-type') !== 'text/event-stream') return await response.text();
  let text = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    if (text.split('\n\n').length > EVENTS) break;
  }
  return text;
}

async function readTenantOne(): Promise<unknown> {
  const { client } = http;
  return [
    await client.describe(NAME),
    await client.log(NAME),
    (await client.openTurns(NAME)).turns,
    await client.versions(NAME),
  ];
}

// Some of the random requests wait for a result, or for the first events of a stream, so several run at once.
const AT_ONCE = 200;

test('a key of a second tenant with every scope sees and changes nothing of the first tenant on any route', {
  timeout: 300_000,
}, async () => {
  const { keys } = http.client;
  const { token } = await keys.create({ tenant: 'two', scopes: ['admin'] });
  const { url, stop } = await http.serve({ authenticate: authenticateByKey(keys), ...withProtocols(http.client) });
  const { body: document } = await send<OpenApi>(`${url}/v1/openapi.json`, 'GET');
  const before = await readTenantOne();
  const operations = new Set<string>();
  const statuses = new Set<number>();
  const requests = fc.array(arbitraryRequest(document), { minLength: AT_ONCE, maxLength: AT_ONCE });
  const sendAsTwo = async ({ operation, method, path, headers, body }: RandomRequest): Promise<void> => {
    // A conversation of the same id may appear in tenant two. The text of tenant one must not.
    const leaving = new AbortController();
    const response = await fetch(url + path, {
      method,
      headers: { ...headers, authorization: `Bearer ${token}` },
      signal: leaving.signal,
      ...(body !== undefined && body !== '' && { body }),
    });
    operations.add(operation);
    statuses.add(response.status);
    expect(await readStart(response), `${method} ${path}`).not.toContain(SECRET);
    leaving.abort();
  };
  await fc.assert(
    fc.asyncProperty(requests, async (all) => {
      await Promise.all(all.map(sendAsTwo));
    }),
    { numRuns: 5, endOnFailure: true },
  );
  expect(await readTenantOne()).toEqual(before);
  expect([...statuses]).toEqual(expect.arrayContaining([200, 404]));
  const all = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  expect(operations, 'every route was asked').toEqual(new Set(all.map(({ operationId }) => operationId)));
  await stop();
});

test('a cursor that names a third tenant shows nothing of the tenants between it and the caller', async () => {
  const { keys } = http.client;
  const { token } = await keys.create({ tenant: 'without-any', scopes: ['read'] });
  const { url, stop } = await http.serve({ authenticate: authenticateByKey(keys) });
  const headers = { authorization: `Bearer ${token}` };
  // The shard of the named conversation decides which rows such a cursor could show. 40 names reach every shard.
  for (let name = 0; name < 40; name += 1) {
    const response = await fetch(`${url}/v1/conversations?after=first/c${name}`, { headers });
    expect(await response.json()).toEqual({ conversations: [] });
  }
  await stop();
});

test('a chat page reaches only the tenant of its key, and needs a key that may also read and answer', async () => {
  const { client } = http;
  const { keys } = client;
  const protocols = createProtocols({ client, agent: 'talker' });
  const { url, stop } = await http.serve({ authenticate: authenticateByKey(keys), protocols });
  const ask = async (path: string, token: string, method = 'GET') =>
    await fetch(url + path, { method, headers: { authorization: `Bearer ${token}` } });
  const { token: two } = await keys.create({ tenant: 'two', scopes: ['read', 'enqueue', 'answer'] });
  expect(await (await ask('/v1/chat/none', two)).json()).toEqual({ id: 'none', messages: [] });
  expect(await (await ask('/v1/chat/a', two)).text()).not.toContain(SECRET);
  expect((await ask('/v1/chat/a/stop', two, 'POST')).status).not.toBe(200);
  const { token: producer } = await keys.create({ tenant: 'one', scopes: ['enqueue'] });
  expect((await ask('/v1/chat/a', producer)).status).toBe(403);
  const { token: one } = await keys.create({ tenant: 'one', scopes: ['read', 'enqueue', 'answer'] });
  expect(await (await ask('/v1/chat/a', one)).text()).toContain(SECRET);
  await stop();
});
