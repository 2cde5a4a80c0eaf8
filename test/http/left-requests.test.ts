import { OpenAI } from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHttpApp, createProtocols } from '../../src/api/http/index.ts';
import { LeftRequests } from '../../src/api/http/responses/left-requests.ts';
import { serveHttp } from '../../src/api/http/serve-http.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createSupport, gates } from './openai-fixture.ts';

interface Attempted {
  readonly print?: string;
  readonly isRepeated?: boolean;
  readonly isErased?: boolean;
  /** The client leaves before the answer. */
  readonly leaves?: boolean;
  readonly fails?: boolean;
}

/** Runs an attempt to its end. @returns key of its turn */
async function attempt(left: LeftRequests, given: Attempted): Promise<string> {
  const { print = 'a', isRepeated = false, isErased = false, leaves = false, fails = false } = given;
  const leaving = new AbortController();
  let key = '';
  const work = left.run({ print, isRepeated, isErased, left: leaving.signal }, async (taken) => {
    key = taken;
    if (leaves) leaving.abort();
    if (fails) throw new Error('the reply was lost');
  });
  if (fails) await expect(work).rejects.toThrow('the reply was lost');
  else await work;
  return key;
}

const repeat = (left: LeftRequests, print = 'a') => attempt(left, { print, isRepeated: true });

test.for([{ leaves: true }, { fails: true }, { fails: true, leaves: true }, { fails: true, isErased: true }])(
  'a repeated request takes the turn of an attempt with %o, once and of an equal request only',
  async (first) => {
    const left = new LeftRequests();
    const key = await attempt(left, first);
    expect(await repeat(left, 'b')).not.toBe(key);
    expect(await attempt(left, {}), 'a new request is another one').not.toBe(key);
    expect(await repeat(left)).toBe(key);
    expect(await repeat(left)).not.toBe(key);
  },
);

test.for([{}, { leaves: true, isErased: true }])('an attempt with %o leaves no turn for others', async (first) => {
  const left = new LeftRequests();
  const key = await attempt(left, first);
  expect(await repeat(left)).not.toBe(key);
});

test('the last one of two equal requests that failed is repeated first', async () => {
  const left = new LeftRequests();
  const keys = [await attempt(left, { fails: true }), await attempt(left, { fails: true })];
  expect([await repeat(left), await repeat(left)]).toEqual(keys.toReversed());
});

test('a request keeps its turn through any number of failed attempts', async () => {
  const left = new LeftRequests();
  const key = await attempt(left, { fails: true });
  for (let count = 0; count < 3; count += 1) {
    expect(await attempt(left, { isRepeated: true, fails: true })).toBe(key);
  }
  expect(await repeat(left)).toBe(key);
});

test('a repeated request waits for the end of the attempt that its client left, and shares no other one', async () => {
  const left = new LeftRequests();
  const answering = Promise.withResolvers<void>();
  const leaving = new AbortController();
  const order: string[] = [];
  const run = (name: string, isRepeated: boolean, signal: AbortSignal) =>
    left.run({ print: 'a', isRepeated, isErased: false, left: signal }, async (key) => {
      if (name !== 'third') await answering.promise;
      order.push(name);
      return key;
    });
  const first = run('first', false, leaving.signal);
  const other = run('other', true, new AbortController().signal);
  leaving.abort();
  const second = run('second', true, new AbortController().signal);
  const third = await run('third', true, new AbortController().signal);
  answering.resolve();
  const keys = await Promise.all([first, second, other]);
  expect(keys[1]).toBe(keys[0]);
  expect(new Set([keys[0], keys[2], third]).size).toBe(3);
  expect(order.indexOf('first')).toBeLessThan(order.indexOf('second'));
});

test('a request that was left ten minutes ago is found by no request', async () => {
  let now = 0;
  const left = new LeftRequests(() => now);
  const key = await attempt(left, { leaves: true });
  now = 600_000;
  expect(await repeat(left)).not.toBe(key);
});

test('requests that were left are kept up to a number, and the oldest ones go first', async () => {
  const left = new LeftRequests();
  const keys: string[] = [];
  for (let count = 0; count <= 10_000; count += 1) {
    keys.push(await attempt(left, { print: `request ${count}`, leaves: true }));
  }
  expect(await repeat(left, 'request 1')).toBe(keys[1]);
  expect(await repeat(left, 'request 0')).not.toBe(keys[0]);
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
