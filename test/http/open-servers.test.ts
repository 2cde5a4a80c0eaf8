import { once } from 'node:events';
import { request as ask, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { AccessOptions } from '../../src/api/http/access.ts';
import {
  type Authenticate,
  agUiApp,
  aiSdkApp,
  compactApp,
  createHttpApp,
  HttpProblem,
  responsesApp,
} from '../../src/api/http/index.ts';
import { BOARD_PATH, withQueueBoard } from '../../src/api/http/queue-board.ts';
import { type HttpFixture, openHttpFixture, outline, send } from './fixture.ts';
import { serveApp } from './served-app.ts';

let http: HttpFixture;
beforeAll(async () => {
  http = await openHttpFixture();
  await http.client.append({ conversation: 'c1', agent: 'guide', messages: [{ role: 'user', content: 'secret' }] });
  await http.startWorkers();
});
afterAll(() => http.close());

type Fetch = (request: Request) => Response | Promise<Response>;
interface Factory {
  readonly name: string;
  readonly open: (access: AccessOptions) => { readonly fetch: Fetch };
  /** A route that reads or changes something. */
  readonly path: string;
  readonly body?: object;
}

const protocol = { clientFor: () => http.client, agent: 'guide' };
const chat = { id: 'c1', messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'hello' }] }] };
const factories: readonly Factory[] = [
  {
    name: 'createHttpApp',
    open: (access) => createHttpApp({ client: http.client, ...access }),
    path: '/v1/conversations',
  },
  { name: 'aiSdkApp', open: (access) => aiSdkApp({ ...protocol, ...access }), path: '/v1/chat/c1' },
  { name: 'agUiApp', open: (access) => agUiApp({ ...protocol, ...access }), path: '/v1/ag-ui', body: {} },
  { name: 'responsesApp', open: (access) => responsesApp({ ...protocol, ...access }), path: '/v1/responses', body: {} },
  { name: 'compactApp', open: (access) => compactApp(access), path: '/v1/responses/compact', body: {} },
  {
    name: 'withQueueBoard',
    open: (access) => ({
      fetch: withQueueBoard(async () => new Response(), {
        queues: [],
        allowsChanges: true,
        onError: () => undefined,
        ...access,
      }),
    }),
    path: BOARD_PATH,
  },
];

const keyed: Authenticate = async ({ headers }) => {
  if (headers.get('authorization') !== 'Bearer right') throw new HttpProblem('unauthorized', 'send a key');
  return { tenant: '_', scopes: ['admin'] };
};

async function statusAt(fetch: Fetch, { path, body }: Factory, headers: Record<string, string>): Promise<string> {
  const content = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const sent = { 'content-type': 'application/json', authorization: 'Bearer right', ...headers };
  const response = await fetch(new Request(`http://127.0.0.1${path}`, { ...content, headers: sent }));
  if (response.status !== 403) return 'passed';
  const { code, field } = (await response.json()) as { readonly code: string; readonly field?: string };
  return `${code} ${field}`;
}

describe.for(factories)('$name', (factory) => {
  test('a server cannot be created without a setting for who may call it', () => {
    const wrong = [{}, { authenticate: undefined }, { authenticate: 'any' }, { authenticate: true }];
    for (const access of wrong) {
      expect(() => factory.open(access as unknown as AccessOptions)).toThrow(
        expect.objectContaining({ code: 'invalid_config', field: 'authenticate' }),
      );
    }
  });

  test.for([
    [{ cors: ['*'] }, 'cors'],
    [{ cors: ['https://shop.example', 'null'] }, 'cors'],
    [{ allowedHosts: ['*'] }, 'allowedHosts'],
    [{ allowedHosts: ['https://shop.example'] }, 'allowedHosts'],
    [{ allowedHosts: ['shop.example:443'] }, 'allowedHosts'],
  ] as const)('a server without access control refuses %j', ([options, field]) => {
    expect(() => factory.open({ authenticate: 'none', ...options })).toThrow(
      expect.objectContaining({ code: 'invalid_config', field }),
    );
  });

  test.for(['none', keyed] as const)(
    'a server checks the host name of each request, with and without keys',
    async (authenticate) => {
      const allowedHosts = ['api.example.com', '*.preview.example.com'];
      const { fetch } = factory.open({ authenticate, allowedHosts });
      const allowed = ['localhost', 'LOCALHOST:8700', '127.0.0.1:8700', '10.1.2.3', '[::1]:8700', '[::ffff:7f00:1]'];
      for (const host of [...allowed, 'api.example.com', 'API.example.com:443', 'a.b.preview.example.com']) {
        expect([host, await statusAt(fetch, factory, { host })]).toEqual([host, 'passed']);
      }
      const foreign = ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', 'xapi.example.com'];
      for (const host of [
        ...foreign,
        'preview.example.com',
        'user@localhost',
        'localhost:x',
        '[evil]',
        'localhost.',
        '',
      ]) {
        expect([host, await statusAt(fetch, factory, { host })]).toEqual([host, 'forbidden host']);
      }
    },
  );

  test('a server without access control refuses web pages of other origins', async () => {
    const { fetch } = factory.open({ authenticate: 'none' });
    const pages = ['https://evil.example', 'http://127.0.0.1:3000', 'null'];
    for (const origin of pages) {
      expect(await statusAt(fetch, factory, { host: '127.0.0.1', origin })).toBe('forbidden origin');
    }
    expect(await statusAt(fetch, factory, { host: '127.0.0.1', origin: 'http://127.0.0.1' })).toBe('passed');
  });
});

test('an app reads the host from the URL of a request without a Host header, as over HTTP/2', async () => {
  const { fetch } = aiSdkApp({ ...protocol, authenticate: 'none' });
  expect((await fetch(new Request('https://evil.example/v1/chat/c1'))).status).toBe(403);
  expect((await fetch(new Request('https://127.0.0.1/v1/chat/c1'))).status).toBe(200);
});

test('a request whose URL and Host header name different hosts is refused', async () => {
  const { hostname, port } = new URL(http.baseUrl);
  const absolute = ask({
    hostname,
    port,
    path: 'http://evil.example/v1/conversations',
    headers: { host: 'localhost' },
  });
  const [response] = (await once(absolute.end(), 'response')) as [import('node:http').IncomingMessage];
  response.resume();
  expect([400, 403]).toContain(response.statusCode);
});

test('a server with a listed host name answers behind a proxy that passes this name on', async () => {
  const { url, stop } = await http.serve({ authenticate: keyed, allowedHosts: ['api.example.com'] });
  const proxy = createServer((incoming, outgoing) => {
    const { port } = new URL(url);
    ask({ host: '127.0.0.1', port, path: incoming.url, headers: incoming.headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 0);
      answer.pipe(outgoing);
    }).end();
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(async () => {
    proxy.close();
    await stop();
  });
  const through = async (host: string): Promise<number | undefined> => {
    const { port } = proxy.address() as AddressInfo;
    const headers = { host, authorization: 'Bearer right', connection: 'close' };
    const [answer] = (await once(
      ask({ host: '127.0.0.1', port, path: '/v1/conversations', headers }).end(),
      'response',
    )) as [import('node:http').IncomingMessage];
    answer.resume();
    return answer.statusCode;
  };
  expect(await through('api.example.com')).toBe(200);
  expect(await through('evil.example')).toBe(403);
});

test('an app inside another kind of server limits a caller to its tenant and its scopes', async () => {
  const authenticate: Authenticate = async ({ headers }) => {
    const tenant = headers.get('authorization');
    if (tenant === null) throw new HttpProblem('unauthorized', 'send a key', { field: 'authorization' });
    return { tenant, scopes: ['read'] };
  };
  const app = await serveApp(aiSdkApp({ ...protocol, authenticate }));
  onTestFinished(() => app.close());
  expect((await send(`${app.url}/v1/chat/c1`, 'GET')).status).toBe(401);
  const own = await send(`${app.url}/v1/chat/c1`, 'GET', { headers: { authorization: '_' } });
  expect(JSON.stringify(own.body)).toContain('secret');
  const foreign = await send(`${app.url}/v1/chat/c1`, 'GET', { headers: { authorization: 'two' } });
  expect(JSON.stringify(foreign.body)).not.toContain('secret');
  const write = await send(`${app.url}/v1/chat`, 'POST', { body: chat, headers: { authorization: '_' } });
  expect(outline(write)).toEqual({ status: 403, code: 'forbidden', field: 'authorization' });
});

test('an app inside another kind of server answers pages of a listed origin', async () => {
  const origin = 'https://shop.example';
  const app = await serveApp(aiSdkApp({ ...protocol, authenticate: 'none', cors: [origin] }));
  onTestFinished(() => app.close());
  const allowed = await send(`${app.url}/v1/chat/c1`, 'GET', { headers: { origin } });
  expect([allowed.status, allowed.headers.get('access-control-allow-origin')]).toEqual([200, origin]);
  const headers = { origin, 'access-control-request-method': 'POST' };
  const preflight = await fetch(`${app.url}/v1/chat`, { method: 'OPTIONS', headers });
  expect(preflight.headers.get('access-control-allow-headers')).toContain('x-ai-sdk-version');
});
