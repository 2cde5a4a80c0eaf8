import { OpenAI } from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHttpApp, createProtocols } from '../../src/api/http/index.ts';
import { LeftRequests } from '../../src/api/http/responses/left-requests.ts';
import { serveHttp } from '../../src/api/http/serve-http.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createSupport, gates } from './openai-fixture.ts';

const name = (turn: string) => ({ conversation: 'c', turn });

test('a request that was left is found once by an equal request, the last one first', () => {
  const left = new LeftRequests();
  left.add('a', name('t1'));
  left.add('a', name('t2'));
  expect([left.take('b'), left.take('a'), left.take('a'), left.take('a')]).toEqual([
    undefined,
    name('t2'),
    name('t1'),
    undefined,
  ]);
});

test('a request that was left ten minutes ago is found by no request', () => {
  let now = 0;
  const left = new LeftRequests(() => now);
  left.add('a', name('t1'));
  now = 600_000;
  expect(left.take('a')).toBeUndefined();
});

test('requests that were left are kept up to a number, and the oldest ones go first', () => {
  const left = new LeftRequests();
  for (let count = 0; count <= 10_000; count += 1) left.add(`request ${count}`, name(`t${count}`));
  expect([left.take('request 0'), left.take('request 1')]).toEqual([undefined, name('t1')]);
});

let fixture: Fixture;
let app: ReturnType<typeof createHttpApp>;
let server: Awaited<ReturnType<typeof serveHttp>>;
beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createSupport()]);
  const { client } = fixture;
  app = createHttpApp({ client, authenticate: 'none', protocols: createProtocols({ client, agent: 'support' }) });
  server = await serveHttp({ app, host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await server.close(1_000);
  await fixture.close();
});

/** Leaves the first attempt of a request while it waits for its turn. The second attempt waits until the server knows. */
function openHasty(onSecond: () => void): OpenAI {
  const leaveFirst: typeof fetch = async (url, init) => {
    const retries = Number(new Headers(init?.headers).get('x-stainless-retry-count'));
    if (init?.method === 'POST' && retries === 0) {
      const leaving = new AbortController();
      const request = fetch(url, { ...init, signal: leaving.signal });
      await expect.poll(() => app.readers).toBe(1);
      leaving.abort();
      return await request;
    }
    await expect.poll(() => app.readers).toBe(0);
    onSecond();
    return await fetch(url, init ?? {});
  };
  return new OpenAI({ baseURL: `${server.url}/openai/v1`, apiKey: 'none', maxRetries: 1, fetch: leaveFirst });
}

async function listTurns(): Promise<string[]> {
  const { conversations } = await fixture.client.conversations();
  const logs = await Promise.all(conversations.map(({ conversation }) => fixture.client.log(conversation)));
  return logs.flat().flatMap(({ message: { role, content } }) => (role === 'user' ? [content] : []));
}

test.for(['in a new conversation', 'in a conversation', 'in a new conversation that is not stored'])(
  'a request that the SDK of OpenAI repeats %s gets one response, and its agent one message',
  async (place) => {
    const gate = place.replaceAll(' ', '-');
    gates.set(gate, Promise.withResolvers());
    const input = `hold ${gate}`;
    const isStored = !place.endsWith('not stored');
    const own = { ...(place === 'in a conversation' && { conversation: 'talk' }), ...(!isStored && { store: false }) };
    const openai = openHasty(() => gates.get(gate)?.resolve());
    const { output_text: text, id } = await openai.responses.create({ input, ...own });
    expect(text).toBe('One two.');
    const asked = await listTurns();
    expect(asked.filter((one) => one === input)).toEqual(isStored ? [input] : []);
    if (!isStored)
      await expect(fixture.client.describe(id.slice(5).split('~')[0] ?? '')).rejects.toMatchObject({
        code: 'not_found',
      });
  },
);

test('items that the SDK of OpenAI appends again without a key are in the conversation once', async () => {
  const openai = new OpenAI({ baseURL: `${server.url}/openai/v1`, apiKey: 'none', maxRetries: 0 });
  const items = [
    { role: 'user', content: 'one' },
    { type: 'function_call', call_id: 'call_1', name: 'find', arguments: '{}' },
    { type: 'function_call_output', call_id: 'call_1', output: 'found' },
    { role: 'assistant', content: 'two' },
  ] as const;
  const { id } = await openai.conversations.create();
  const append = (headers: Record<string, string> = {}) =>
    openai.conversations.items.create(id, { items: [...items] }, { headers });
  const first = await append();
  expect(await append({ 'x-stainless-retry-count': '1' })).toEqual(first);
  expect((await fixture.client.log(id)).length).toBe(4);
  await append();
  expect((await fixture.client.log(id)).length, 'a request that is no repeated one appends').toBe(8);
  const keyed = await append({ 'idempotency-key': 'k1' });
  expect(await append({ 'idempotency-key': 'k1' })).toEqual(keyed);
  expect((await fixture.client.log(id)).length).toBe(12);
  const other = openai.conversations.items.create(
    id,
    { items: [{ role: 'user', content: 'other' }] },
    { headers: { 'idempotency-key': 'k1' } },
  );
  await expect(other).rejects.toMatchObject({ status: 409, param: 'idempotency-key' });
});
