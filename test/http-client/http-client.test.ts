import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { HttpProblem, type Scope } from '../../src/api/http/index.ts';
import { HTTP_CODES } from '../../src/api/http/problem.ts';
import { type HttpClient, openHttpClient } from '../../src/api/http-client/index.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { serveClient } from '../client/over-http.ts';

const agent = 'talker';
const SCOPES: readonly Scope[] = ['read', 'enqueue', 'answer', 'admin'];
const KEYS: Readonly<Record<string, { readonly tenant: string; readonly scopes: readonly Scope[] }>> = {
  'acme-key': { tenant: 'acme', scopes: SCOPES },
  'acme-reader': { tenant: 'acme', scopes: ['read'] },
  'acme-producer': { tenant: 'acme', scopes: ['enqueue'] },
};

let fixture: Fixture;
let url: string;
beforeAll(async () => {
  fixture = await openFixture();
  const server = await serveClient(fixture.client, {
    authenticate: async ({ headers }) => {
      const caller = KEYS[headers.get('authorization')?.replace('Bearer ', '') ?? ''];
      if (caller === undefined) throw new HttpProblem('unauthorized', 'the key is unknown', { field: 'authorization' });
      return caller;
    },
  });
  url = server.url;
  closers.push(server.stop);
});
const closers: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closers) await close();
  await fixture.close();
});

function connect(key?: string): HttpClient {
  const client = openHttpClient({ url, ...(key !== undefined && { key }), deadlineMs: 200 });
  onTestFinished(() => client.close());
  return client;
}

describe('the tenant of a client over HTTP', () => {
  test('answers name the tenant of the key, and a request may name this tenant', async () => {
    const client = connect('acme-key');
    const turn = { conversation: 'c1', agent, input: 'x', turn: 't1' };
    expect(await client.enqueueTurn(turn)).toMatchObject({ tenant: 'acme', state: 'queued', isNew: true });
    expect(await client.enqueueTurn({ ...turn, tenant: 'acme' })).toMatchObject({ tenant: 'acme', isNew: false });
    await client.append({ conversation: 'c2', agent, messages: [{ role: 'user', content: 'a' }] });
    expect(await client.context('c2')).toMatchObject({ tenant: 'acme', conversation: 'c2', head: 1 });
    expect(await client.fork('c2', 'c3')).toEqual({ tenant: 'acme', conversation: 'c3', head: 1 });
    const { conversations } = await client.conversations();
    for (const listed of conversations) expect(await client.describe(listed)).toMatchObject({ agent });
    expect(conversations.map(({ tenant }) => tenant)).toEqual(['acme', 'acme', 'acme']);
    await expect(fixture.client.describe('c1')).rejects.toMatchObject({ code: 'not_found' });
  });

  test.each<[string, string, (client: HttpClient) => Promise<unknown>]>([
    ['a write', 'tenant', (client) => client.enqueueTurn({ tenant: '_', conversation: 'c9', agent, input: 'x' })],
    ['a read', 'tenant', (client) => client.describe({ tenant: 'other', conversation: 'c1' })],
    ['a list', 'tenant', (client) => client.conversations({ tenant: 'other' })],
    [
      'a stream',
      'tenant',
      (client) => client.events({ tenant: 'other', conversation: 'c1' })[Symbol.asyncIterator]().next(),
    ],
    [
      'a copy',
      'to.tenant',
      (client) => client.fork({ tenant: 'acme', conversation: 'c1' }, { tenant: 'other', conversation: 'x' }),
    ],
  ])('%s that names another tenant than that of the key is refused with access_denied', async (_, field, call) => {
    await expect(call(connect('acme-key'))).rejects.toMatchObject({ code: 'access_denied', field });
  });
});

describe('the key of a client over HTTP', () => {
  test('an unknown key, no key, and a key without the right scope are refused with access_denied', async () => {
    for (const key of ['other', undefined]) {
      await expect(connect(key).describe('c1')).rejects.toMatchObject({ code: 'access_denied', field: 'key' });
    }
    const turn = { conversation: 'c1', agent, input: 'x' };
    await expect(connect('acme-reader').enqueueTurn(turn)).rejects.toMatchObject({ code: 'access_denied' });
  });

  test('a producer whose key cannot read gets the state of a turn that it enqueues again', async () => {
    const producer = connect('acme-producer');
    const turn = { conversation: 'p1', agent, input: 'x', turn: 't1', delayMs: 3_600_000 };
    expect(await producer.enqueueTurn(turn)).toMatchObject({ state: 'scheduled', isNew: true });
    expect(await producer.enqueueTurn(turn)).toMatchObject({ state: 'scheduled', isNew: false });
  });
});

describe('an answer that is an error', () => {
  /** A client whose requests are answered with a status and a body. `sent` counts the requests. */
  function answering(status: number, body: string, headers: Record<string, string> = {}) {
    const sent: string[] = [];
    const client = openHttpClient({
      url: 'http://127.0.0.1:1/base/',
      deadlineMs: 300,
      fetch: async (target) => {
        sent.push(target instanceof Request ? target.url : target.toString());
        return new Response(body, { status, headers });
      },
    });
    return { client, sent };
  }

  test.each([
    [{ code: 'mailbox_full', detail: 'full', field: 'conversation', details: { queued: 2 } }, 429],
    [{ code: 'accepted_unsure', detail: 'late', field: 'turn', details: { turn: 't1' } }, 503],
    [{ code: 'redis_unavailable', detail: 'no disk', details: { takesNoWrites: true } }, 503],
    [{ code: 'corrupt_record', detail: 'bad', details: { key: 'k' } }, 500],
  ])(
    'the client over HTTP keeps code, field and details of the problem %j, and does not retry',
    async (problem, status) => {
      const { client, sent } = answering(status, JSON.stringify(problem), { 'retry-after': '0' });
      const { detail: message, ...facts } = problem;
      await expect(client.cancel('c', 't')).rejects.toMatchObject({ message, ...facts });
      expect(sent).toEqual(['http://127.0.0.1:1/base/v1/conversations/c/turns/t/cancel']);
    },
  );

  test.each([
    [503, '{"code":"redis_unavailable","detail":"away"}', 'redis_unavailable'],
    [429, '{"code":"too_many_readers","detail":"busy"}', 'server_unavailable'],
    [502, '<html>', 'server_unavailable'],
    [504, '', 'server_unavailable'],
  ])(
    'the client over HTTP retries an answer with status %i and body %j until the deadline',
    async (status, body, code) => {
      const { client, sent } = answering(status, body);
      await expect(client.cancel('c', 't')).rejects.toMatchObject({ code, details: { turn: 't' } });
      expect(sent.length).toBeGreaterThan(1);
    },
  );

  test('the client over HTTP names the id of a write that it does not retry because the server failed', async () => {
    const { client, sent } = answering(500, '{"code":"defect","detail":"a defect of turnfold"}');
    await expect(client.cancel('c', 't')).rejects.toMatchObject({ code: 'server_unavailable', details: { turn: 't' } });
    expect(sent.length).toBe(1);
  });

  test('the client over HTTP reports a wrong address if the server is not turnfold', async () => {
    for (const [status, body] of [
      [200, '<html>'],
      [404, 'Not Found'],
      [404, '{"code":"no_route","detail":"no route"}'],
    ] as const) {
      const { client } = answering(status, body);
      await expect(client.describe('c')).rejects.toMatchObject({ code: 'invalid_config', field: 'url' });
    }
  });

  test('the client over HTTP translates each code that only the server knows into a code of the client over Redis', async () => {
    for (const [given, status] of Object.entries(HTTP_CODES)) {
      const { client } = answering(status, JSON.stringify({ code: given, detail: 'why' }));
      const expected = /^(?:access_denied|invalid_config|invalid_input|conflict|message_too_large|server_unavailable)$/;
      await expect(client.describe('c'), given).rejects.toMatchObject({
        code: expect.stringMatching(expected) as string,
      });
    }
  });
});

test.each<[string, object]>([
  ['url', { url: 'turns.example.com' }],
  ['url', { url: 'redis://127.0.0.1' }],
  ['url', { url: 'http://user:secret@127.0.0.1' }],
  ['key', { url: 'http://127.0.0.1', key: 'a b' }],
  ['deadlineMs', { url: 'http://127.0.0.1', deadlineMs: -1 }],
  ['redisUrl', { url: 'http://127.0.0.1', redisUrl: 'redis://127.0.0.1' }],
])('openHttpClient refuses the option %s of %j', (field, options) => {
  expect(() => openHttpClient(options as { url: string })).toThrow(
    expect.objectContaining({ code: 'invalid_config', field }),
  );
});

test('the client over HTTP loads no module of Node, and no package but zod', () => {
  const seen = new Set<string>();
  const outside = new Set<string>();
  const visit = (path: string): void => {
    if (seen.has(path)) return;
    seen.add(path);
    const source = readFileSync(path, 'utf8').replaceAll(/^(?:import|export) type [^;]*;$/gm, '');
    for (const [, target = ''] of source.matchAll(/^(?:import|export) [^;]*?from '([^']+)';$/gm)) {
      if (target.startsWith('.')) visit(join(dirname(path), target));
      else outside.add(target);
    }
  };
  visit(join(import.meta.dirname, '../../src/api/http-client/index.ts'));
  expect([...outside].toSorted()).toEqual(['zod']);
  expect(seen.size).toBeGreaterThan(10);
});
