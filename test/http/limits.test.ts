import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Caller, HttpProblem } from '../../src/api/http/index.ts';
import { type HttpFixture, openHttpFixture, outline, send } from './fixture.ts';

let http: HttpFixture;
beforeAll(async () => {
  http = await openHttpFixture({ limits: { maxBodyBytes: 4_000, maxDepth: 20 } });
});
afterAll(() => http.close());

const TURNS = '/v1/conversations/c1/turns';
const hello = { agent: 'talker', input: 'hello' };
const json = { 'content-type': 'application/json' };

test('a request body above the limit gets 413, with and without a declared length', async () => {
  const body = JSON.stringify({ ...hello, input: 'x'.repeat(5_000) });
  const known = await http.call('POST', TURNS, { raw: body, headers: json });
  expect(outline(known)).toEqual({ status: 413, code: 'body_too_large' });
  const size = body.length.toString(16);
  const head = `POST ${TURNS} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n`;
  const chunked = await sendRaw(`${head}connection: close\r\n\r\n`, `${size}\r\n${body}\r\n0\r\n\r\n`);
  expect(chunked).toMatch(/^HTTP\/1\.1 413 [^]*"code":"body_too_large"/);
});

test.each([
  ['not JSON', '{"agent":', { status: 422, code: 'invalid_input', field: 'body' }],
  ['nested too deeply', '['.repeat(21), { status: 422, code: 'invalid_input', field: 'body' }],
  ['without a required field', '{"agent":"a"}', { status: 422, code: 'invalid_input', field: 'input' }],
  ['with an unknown field', '{"agent":"a","input":"x","no":1}', { status: 422, code: 'invalid_input', field: 'no' }],
  ['of the wrong kind', '[]', { status: 422, code: 'invalid_input' }],
])('a request body that is %s is refused with its field', async (_, raw, expected) => {
  expect(outline(await http.call('POST', TURNS, { raw, headers: json }))).toEqual(expected);
});

test('the depth limit of JSON ignores brackets inside strings', async () => {
  const request = { body: { ...hello, input: `\\"${'['.repeat(500)}`, turn: 't9' } };
  expect((await http.call('POST', TURNS, request)).status).toBe(202);
});

test('a request body with another media type gets 415, and a missing body 422', async () => {
  const form = await http.call('POST', TURNS, {
    raw: JSON.stringify(hello),
    headers: { 'content-type': 'text/plain' },
  });
  expect(outline(form)).toEqual({ status: 415, code: 'unsupported_media_type', field: 'content-type' });
  expect(outline(await http.call('POST', TURNS))).toEqual({ status: 422, code: 'invalid_input' });
});

test('a message above 1 MiB gets 413 by the limit of messages', async () => {
  const { url, stop } = await http.serve();
  const large = await send(url + TURNS, 'POST', { body: { ...hello, input: 'x'.repeat(1_100_000) } });
  expect(outline(large)).toEqual({ status: 413, code: 'message_too_large', field: 'input' });
  await stop();
});

test('an unknown path gets 404, and another method 405 with Allow', async () => {
  expect(outline(await http.call('GET', '/v1/nothing'))).toMatchObject({ status: 404, code: 'no_route' });
  const wrong = await http.call('PUT', TURNS);
  expect(outline(wrong)).toEqual({ status: 405, code: 'method_not_allowed' });
  expect(wrong.headers.get('allow')).toBe('POST, GET');
});

test.each([
  ['/v1/conversations/a%2Fb', 'conversation'],
  ['/v1/conversations?limit=0', 'limit'],
  ['/v1/conversations?limit=x', 'limit'],
  ['/v1/conversations?after=nonsense', 'after'],
  ['/v1/conversations?other=1', 'other'],
  ['/v1/conversations/c1/versions/x', 'version'],
  ['/v1/conversations/%E0%A4%A', 'conversation'],
])('GET %s is refused with the field %s', async (path, field) => {
  expect(outline(await http.call('GET', path))).toEqual({ status: 422, code: 'invalid_input', field });
});

/** Sends bytes as they are, and returns the answer as text. */
async function sendRaw(...pieces: readonly string[]): Promise<string> {
  return await sendRawTo(http.baseUrl, pieces);
}

async function sendRawTo(url: string, pieces: readonly string[]): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  for (const piece of pieces) socket.write(piece);
  return await text(socket);
}

test('headers above the limit get 431 as a problem, and bytes that are not HTTP get 400', async () => {
  const large = await sendRaw(
    `GET /v1/conversations HTTP/1.1\r\nhost: localhost\r\nlarge: ${'x'.repeat(20_000)}\r\n\r\n`,
  );
  expect(large).toMatch(/^HTTP\/1\.1 431 [^]*application\/problem\+json[^]*"code":"headers_too_large"/);
  expect(await sendRaw('nonsense\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 [^]*"code":"invalid_input"/);
  const hostless = await sendRaw('GET /v1/conversations HTTP/1.1\r\nhost: a b\r\nconnection: close\r\n\r\n');
  expect(hostless).toMatch(/^HTTP\/1\.1 400 [^]*application\/problem\+json/);
});

test('a request body that does not arrive in time gets 408', async () => {
  const head = `POST ${TURNS} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n`;
  const { url, stop } = await http.serve({ limits: { bodyTimeoutMs: 200 } });
  const answer = await sendRawTo(url, [`${head}connection: close\r\n\r\n`, '{"agent"']);
  expect(answer).toMatch(/^HTTP\/1\.1 408 [^]*request_timeout/);
  await stop();
});

test('web pages of other origins are refused, unless CORS allows their origin', async () => {
  const origin = 'https://shop.example';
  const foreign = await http.call('GET', '/v1/conversations', { headers: { origin } });
  expect(outline(foreign)).toEqual({ status: 403, code: 'forbidden', field: 'origin' });
  const same = await http.call('GET', '/v1/conversations', { headers: { origin: http.baseUrl } });
  expect(same.status).toBe(200);
  const { url, stop } = await http.serve({ cors: [origin] });
  const allowed = await send(`${url}/v1/conversations`, 'GET', { headers: { origin } });
  expect([allowed.status, allowed.headers.get('access-control-allow-origin')]).toEqual([200, origin]);
  const preflight = await fetch(url + TURNS, {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': 'POST' },
  });
  expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([
    204,
    expect.stringContaining('idempotency-key'),
  ]);
  await stop();
});

test('a caller reaches only its own tenant, and only the routes of its scopes', async () => {
  const callers: Record<string, Caller> = {
    one: { tenant: 'one', scopes: ['read', 'enqueue'] },
    two: { tenant: 'two', scopes: ['read'] },
  };
  const { url, stop } = await http.serve({
    authenticate: async ({ headers }) => {
      const caller = callers[headers.get('authorization') ?? ''];
      if (caller === undefined) throw new HttpProblem('unauthorized', 'send a key', { field: 'authorization' });
      return caller;
    },
    protocols: [
      {
        routes: [
          { operation: 'echo', method: 'post', path: '/v1/echo', scopes: ['enqueue'], summary: 'Echo.', results: {} },
        ],
        fetch: (_, { caller }) => Response.json({ tenant: caller.tenant }),
      },
    ],
  });
  const as = (authorization: string) => ({ headers: { authorization } });
  expect((await send(url + TURNS, 'POST', { body: hello, ...as('one') })).status).toBe(202);
  expect((await send(`${url}/v1/conversations/c1`, 'GET', as('one'))).status).toBe(200);
  expect(outline(await send(`${url}/v1/conversations/c1`, 'GET', as('two')))).toMatchObject({ status: 404 });
  expect((await send(`${url}/v1/conversations`, 'GET', as('two'))).body).toEqual({ conversations: [] });
  const foreign = await send(url + TURNS, 'POST', { body: hello, ...as('two') });
  expect(outline(foreign)).toEqual({ status: 403, code: 'forbidden', field: 'authorization' });
  expect(outline(await send(`${url}/v1/conversations`, 'GET'))).toMatchObject({ status: 401, code: 'unauthorized' });
  expect((await send(`${url}/v1/echo`, 'POST', as('one'))).body).toEqual({ tenant: 'one' });
  expect(outline(await send(`${url}/v1/echo`, 'GET', as('one')))).toEqual({ status: 405, code: 'method_not_allowed' });
  expect((await send(`${url}/v1/echo`, 'POST', as('two'))).status).toBe(403);
  await stop();
});

test('an unexpected error gets 500 without its text, and onError receives it', async () => {
  const errors: unknown[] = [];
  const broken = { ...http.client, describe: () => Promise.reject(new Error('s3cret')) };
  const { url, stop } = await http.serve({ client: broken, onError: (error) => errors.push(error) });
  const failed = await send(`${url}/v1/conversations/c1`, 'GET');
  expect(outline(failed)).toEqual({ status: 500, code: 'defect' });
  expect(JSON.stringify(failed.body)).not.toContain('s3cret');
  expect(errors).toHaveLength(1);
  await stop();
});

test('routes under a base path name this path in Location and in the OpenAPI document', async () => {
  const { url, stop } = await http.serve({ basePath: '/api' });
  const accepted = await send(`${url}/api${TURNS}`, 'POST', { body: { ...hello, turn: 'b1' } });
  expect(accepted.headers.get('location')).toBe(`/api${TURNS}/b1`);
  const { body } = await send<{ servers: unknown }>(`${url}/api/v1/openapi.json`, 'GET');
  expect(body.servers).toEqual([{ url: '/api' }]);
  await stop();
});
