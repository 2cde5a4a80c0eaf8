import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { authenticateByKey, type HttpAppOptions, HttpProblem } from '../../src/api/http/index.ts';
import { createProtocols } from '../../src/api/http/protocols.ts';
import { type HttpFixture, openHttpFixture } from './fixture.ts';
import { createFrontEndAgent, gates } from './front-end-agent.ts';

/** The promise of the documentation. */
const PROMISED_MS = 5_000;

let http: HttpFixture;
beforeAll(async () => {
  http = await openHttpFixture();
  await http.startWorkers([createFrontEndAgent()]);
});
afterAll(async () => {
  for (const { resolve } of gates.values()) resolve();
  await http.close();
});

interface OpenRequest {
  readonly name: string;
  readonly path: (id: string) => string;
  readonly body?: (id: string) => object;
  /** True for a stream of events, false for an answer that comes at the end. */
  readonly isStream: boolean;
}

const input = (id: string): string => `hold ${id}`;
const opened: readonly OpenRequest[] = [
  { name: 'a stream of a turn', path: (id) => `/v1/conversations/${id}/turns/t/events`, isStream: true },
  { name: 'a stream of events', path: (id) => `/v1/conversations/${id}/events`, isStream: true },
  { name: 'a wait for a result', path: (id) => `/v1/conversations/${id}/turns/t/result?waitMs=60000`, isStream: false },
  { name: 'the stream of a chat', path: (id) => `/v1/chat/${id}/stream`, isStream: true },
  {
    name: 'a new message of a chat',
    path: () => '/v1/chat',
    body: (id) => ({
      id: `new-${id}`,
      messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: input(id) }] }],
    }),
    isStream: true,
  },
  {
    name: 'a run of AG-UI',
    path: () => '/v1/ag-ui',
    body: (id) => ({
      threadId: `run-${id}`,
      runId: 'r1',
      messages: [{ id: 'm1', role: 'user', content: input(id) }],
    }),
    isStream: true,
  },
  {
    name: 'a streamed response',
    path: () => '/v1/responses',
    body: (id) => ({ input: input(id), stream: true }),
    isStream: true,
  },
  { name: 'a response', path: () => '/v1/responses', body: (id) => ({ input: input(id) }), isStream: false },
];

/** Two servers over one Redis, each with connections and a memory of keys of its own. */
async function serveTwice(options: (client: HttpFixture['client']) => Partial<HttpAppOptions>): Promise<string[]> {
  const servers = await Promise.all(
    [1, 2].map(async () => {
      const client = await http.openClient();
      const protocols = createProtocols({ client, agent: 'guide' });
      return await http.serve({ client, protocols, ...options(client) });
    }),
  );
  onTestFinished(async () => void (await Promise.all(servers.map(({ stop }) => stop()))));
  return servers.map(({ url }) => url);
}

let nextId = 0;

/** Sends a request that stays open. The turn behind it ends only with the test file. */
async function openRequest(url: string, { path, body, isStream }: OpenRequest, authorization: string) {
  nextId += 1;
  const id = `c${nextId}`;
  gates.set(id, Promise.withResolvers());
  await http.client.enqueueTurn({ conversation: id, agent: 'guide', turn: 't', input: input(id) });
  const content = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body(id)) };
  const headers = { authorization, 'content-type': 'application/json' };
  const answer = fetch(url + path(id), { ...content, headers });
  if (!isStream) return { ended: answer.then(({ status }) => String(status)) };
  const { status, body: stream } = await answer;
  expect(status).toBe(200);
  const reader = stream?.pipeThrough(new TextDecoderStream()).getReader();
  await reader?.read();
  return { ended: readRest(reader) };
}

async function readRest(reader: ReadableStreamDefaultReader<string> | undefined): Promise<string> {
  let text = '';
  try {
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done) return text;
      text += value;
    }
  } catch {
    return `${text}cut`;
  }
}

async function openAll(urls: readonly string[], authorization: string) {
  const requests = await Promise.all(
    urls.flatMap((url) =>
      opened.map(async (request) => ({
        name: `${request.name} at ${url === urls[0] ? 'one' : 'two'}`,
        ...(await openRequest(url, request, authorization)),
      })),
    ),
  );
  const open = new Set(requests.map(({ name }) => name));
  for (const { name, ended } of requests) void ended.then(() => open.delete(name));
  return { open, requests };
}

const keyed = ({ keys }: HttpFixture['client']) => ({ authenticate: authenticateByKey(keys) });

describe('open requests', () => {
  test('open requests of a revoked key end within 5 s on every server, and requests of another key continue', async () => {
    const urls = await serveTwice(keyed);
    const { keys } = http.client;
    const [lost, kept] = [
      await keys.create({ tenant: '_', scopes: ['admin'] }),
      await keys.create({ tenant: '_', scopes: ['admin'] }),
    ];
    const { open, requests } = await openAll(urls, `Bearer ${lost.token}`);
    const other = await openRequest(urls[0] ?? '', opened[0] as OpenRequest, `Bearer ${kept.token}`);
    let hasOtherEnded = false;
    void other.ended.then(() => (hasOtherEnded = true));
    expect(open.size).toBe(2 * opened.length);
    await keys.revoke(lost.key.id);
    await expect.poll(() => [...open], { timeout: PROMISED_MS, interval: 50 }).toEqual([]);
    for (const { name, ended } of requests) {
      if (name.startsWith('a wait') || name.startsWith('a response'))
        expect([name, await ended]).toEqual([name, '401']);
      if (name.startsWith('a run')) expect(await ended).toContain('"unauthorized"');
      if (name.startsWith('a streamed response')) expect(await ended).toContain('unauthorized');
      if (name.includes('chat')) expect(await ended).toMatch(/cut$/);
    }
    expect(hasOtherEnded).toBe(false);
  });

  test('open requests end after their key has expired', async () => {
    const urls = await serveTwice(keyed);
    const { token } = await http.client.keys.create({ tenant: '_', scopes: ['admin'], expiresInMs: 3_000 });
    const { open } = await openAll(urls, `Bearer ${token}`);
    await expect.poll(() => [...open], { timeout: 3_000 + PROMISED_MS, interval: 50 }).toEqual([]);
  });

  test('open requests end after a rotation of their key without grace, and the stream of the new secret continues', async () => {
    const urls = await serveTwice(keyed);
    const { key, token } = await http.client.keys.create({ tenant: '_', scopes: ['admin'] });
    const { open } = await openAll(urls, `Bearer ${token}`);
    await http.client.keys.rotate(key.id, { graceMs: 0 });
    await expect.poll(() => [...open], { timeout: PROMISED_MS, interval: 50 }).toEqual([]);
  });

  test('open requests end once the function authenticate refuses the caller, removes a scope or names another tenant', async () => {
    const callers = new Map([
      ['one', { tenant: '_', scopes: ['admin'] as const }],
      ['two', { tenant: '_', scopes: ['admin'] as const }],
      ['three', { tenant: '_', scopes: ['admin'] as const }],
    ]);
    const urls = await serveTwice(() => ({
      limits: { accessCheckMs: 100 },
      authenticate: async ({ headers }) => {
        const caller = callers.get(headers.get('authorization') ?? '');
        if (caller === undefined) throw new HttpProblem('unauthorized', 'log in');
        return caller;
      },
    }));
    const all = await Promise.all([...callers.keys()].map((name) => openAll(urls, name)));
    callers.delete('one');
    callers.set('two', { tenant: '_', scopes: [] as never });
    callers.set('three', { tenant: 'other', scopes: ['admin'] });
    await expect.poll(() => all.flatMap(({ open }) => [...open]), { timeout: PROMISED_MS, interval: 50 }).toEqual([]);
  });

  test('open requests continue while authenticate fails for another reason, and end if it fails for good', async () => {
    const url = (
      await http.serve({
        limits: { accessCheckMs: 50 },
        onError: () => undefined,
        authenticate: async () => {
          if (isBroken) throw new Error('the directory of users is away');
          return { tenant: '_', scopes: ['admin'] };
        },
      })
    ).url;
    let isBroken = false;
    const { ended } = await openRequest(url, opened[0] as OpenRequest, 'any');
    isBroken = true;
    expect(await ended).toBe('');
  });

  test('an export that a client reads slowly ends when the access of the client ends', async () => {
    const content = 'and so on '.repeat(90_000);
    const messages = Array.from({ length: 30 }, () => ({ role: 'user' as const, content }));
    await http.client.append({ conversation: 'large', agent: 'guide', messages });
    let isRefused = false;
    let refusals = 0;
    const { url } = await http.serve({
      limits: { accessCheckMs: 50 },
      authenticate: async () => {
        if (!isRefused) return { tenant: '_', scopes: ['admin'] };
        refusals += 1;
        throw new HttpProblem('unauthorized', 'log in');
      },
    });
    const { body } = await fetch(`${url}/v1/conversations/large/export`);
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
    await reader?.read();
    isRefused = true;
    await expect.poll(() => refusals).toBeGreaterThan(0);
    const rest = await readRest(reader);
    expect(rest).toMatch(/cut$/);
    expect(rest.length).toBeLessThan(20_000_000);
  });

  test('open requests continue without a further check if the server checks no open requests', async () => {
    let count = 0;
    const { url } = await http.serve({
      limits: { accessCheckMs: 0 },
      authenticate: async () => {
        count += 1;
        if (count > 1) throw new HttpProblem('unauthorized', 'a ticket is valid once');
        return { tenant: '_', scopes: ['admin'] };
      },
    });
    const { ended } = await openRequest(url, opened[2] as OpenRequest, 'ticket');
    await http.client.cancel(`c${nextId}`, 't');
    expect(await ended).toBe('200');
    expect(count).toBe(1);
  });
});
