import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { type HttpClientOptions, openHttpClient } from '../../src/api/http-client/index.ts';

interface SeenRequest {
  readonly text: string;
  /** Number of the request, from 1. */
  readonly nth: number;
}

/** Starts a server that sends these bytes to a request, and then neither sends more nor closes the connection. */
async function serveSilent(reply: (request: SeenRequest) => string) {
  let count = 0;
  const bodies: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    let text = '';
    socket.on('data', (bytes) => {
      text += bytes.toString();
      const [head = '', body = ''] = text.split('\r\n\r\n', 2);
      const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
      if (!text.includes('\r\n\r\n') || body.length < length) return;
      count += 1;
      socket.write(reply({ text, nth: count }));
      text = '';
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  const open = (limits: Omit<HttpClientOptions, 'url'>) => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const send: typeof fetch = (target, request) => {
      bodies.push(typeof request?.body === 'string' ? request.body : '');
      return fetch(target, request);
    };
    const client = openHttpClient({ url, fetch: send, ...limits });
    onTestFinished(() => client.close());
    return client;
  };
  return { bodies, open };
}

const head = (type: string, status = '200 OK'): string => `HTTP/1.1 ${status}\r\ncontent-type: ${type}\r\n`;
const whole = (body: string): string => `${head('application/json')}content-length: ${body.length}\r\n\r\n${body}`;
const stream = (events: string): string => {
  const chunk = events === '' ? '' : `${events.length.toString(16)}\r\n${events}\r\n`;
  return `${head('text/event-stream')}transfer-encoding: chunked\r\n\r\n${chunk}`;
};
const turn = { conversation: 'c1', agent: 'talker', input: 'hello' };

test.each([
  ['never answers', ''],
  ['stops in the middle of the headers', head('application/json')],
  ['stops in the middle of a body', `${head('application/json')}content-length: 100\r\n\r\n{"turn":`],
  ['stops in the middle of an error', `${head('application/problem+json', '409 Conflict')}content-length: 9\r\n\r\n{`],
])(
  'the client over HTTP repeats a write to a server that %s under its id, and the final error names the id',
  async (_, reply) => {
    const { bodies, open } = await serveSilent(() => reply);
    const failure: unknown = await open({ answerMs: 50, deadlineMs: 100 })
      .enqueueTurn(turn)
      .catch((error: unknown) => error);
    const [first = ''] = bodies;
    expect(failure).toMatchObject({
      code: 'server_unavailable',
      message: expect.stringContaining('within 50 ms'),
      details: { turn: (JSON.parse(first) as { turn: string }).turn },
    });
    expect(bodies.length).toBeGreaterThan(1);
    expect(new Set(bodies)).toEqual(new Set([first]));
  },
);

test('a call of the client over HTTP succeeds if only the first answer stops in the middle', async () => {
  const body = JSON.stringify({ removedKeys: 3 });
  const cut = whole(body).slice(0, -4);
  const { open } = await serveSilent(({ nth }) => (nth === 1 ? cut : whole(body)));
  expect(await open({ answerMs: 2_000, deadlineMs: 60_000 }).erase('c1')).toEqual({ removedKeys: 3 });
});

test('a stream that stops in the middle continues after its last event on another connection', async () => {
  const text = 'event: text\nid: a1\ndata: {"type":"text","step":1,"piece":"so "}\n\n';
  const half = 'event: text\nid: a2\ndata: {"type":"text","step":1,';
  const end = 'event: end\nid: a2\ndata: {"type":"end","view":{"turn":"t1"}}\n\n';
  const { open } = await serveSilent((request) =>
    stream(/^last-event-id: a1\r$/im.test(request.text) ? end : text + half),
  );
  const parts: [type: string, id: string][] = [];
  for await (const { type, id } of open({ silentMs: 500, deadlineMs: 60_000 }).stream('c1', 't1'))
    parts.push([type, id]);
  expect(parts).toEqual([
    ['text', 'a1'],
    ['end', 'a2'],
  ]);
});

// The limit is longer than the time after which a connection counts as a sign of life.
test('a stream of a server that accepts connections and sends no byte fails after the deadline', async () => {
  const { bodies, open } = await serveSilent(() => stream(''));
  const events = open({ silentMs: 1_100, deadlineMs: 100 }).events('c1');
  await expect(events[Symbol.asyncIterator]().next()).rejects.toMatchObject({
    code: 'server_unavailable',
    message: expect.stringContaining('sent nothing for 1100 ms'),
  });
  expect(bodies).toHaveLength(2);
});

test('openHttpClient refuses a time limit that is not a positive number', () => {
  expect(() => openHttpClient({ url: 'http://127.0.0.1', answerMs: 0 })).toThrow(/answerMs/);
  expect(() => openHttpClient({ url: 'http://127.0.0.1', silentMs: -1 })).toThrow(/silentMs/);
});

test('enqueueTurns reports turns as perhaps accepted if the server answers fewer turns than it was sent', async () => {
  const { open } = await serveSilent(() => whole('{"turns":[]}'));
  const answers = await open({}).enqueueTurns([
    { ...turn, turn: 't1' },
    { ...turn, turn: 't2' },
  ]);
  expect(answers).toMatchObject([
    { status: 'refused', error: { code: 'server_unavailable', details: { turn: 't1' } } },
    { status: 'refused', error: { code: 'server_unavailable', details: { turn: 't2' } } },
  ]);
});

test('enqueueTurns does not report turns as perhaps accepted if the server refused the whole request', async () => {
  const problem = '{"code":"access_denied","detail":"this key may not enqueue"}';
  const { open } = await serveSilent(
    () => `${head('application/problem+json', '403 Forbidden')}content-length: ${problem.length}\r\n\r\n${problem}`,
  );
  const [answer] = await open({}).enqueueTurns([{ ...turn, turn: 't1' }]);
  expect(answer).toMatchObject({ status: 'refused', error: { code: 'access_denied' } });
  expect(answer?.status === 'refused' && answer.error.message).not.toContain('t1');
});
