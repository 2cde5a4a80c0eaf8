import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import type { WireFormat } from '../../src/domain/raw-items.ts';
import { ask, connect } from './fixture.ts';
import { failureOf } from './raw-server.ts';

const user = { role: 'user', content: 'Which files?' } as const;
const SAID = `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content: 'Two.' } }] })}\n\n`;
const DONE = 'data: [DONE]\n\n';
const MESSAGE = [
  { type: 'message_start', message: { usage: { input_tokens: 7, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Two.' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
]
  .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  .join('');
const OUTPUT = [
  {
    type: 'message',
    id: 'm',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'Two.' }],
  },
];
const RESPONSE = `data: ${JSON.stringify({ type: 'response.completed', response: { id: 'r', output: OUTPUT } })}\n\n`;
const STREAM = { 'content-type': 'text/event-stream' };

interface Served extends AsyncDisposable {
  readonly url: string;
  /** Number of connections that clients opened. */
  readonly connections: () => number;
}

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<Served> {
  let connections = 0;
  const server = createServer((request, response) => {
    void readAll(request).then(() => answer(request, response));
  });
  server.on('connection', () => (connections += 1));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

it('a compressed event stream is read like an uncompressed one', async () => {
  await using server = await serve((_, response) => {
    response.writeHead(200, { ...STREAM, 'content-encoding': 'gzip' }).end(gzipSync(SAID + DONE));
  });
  expect(await connect('openai-chat', server).generate(ask([user]))).toMatchObject({ content: 'Two.' });
});

it.each<[string, (response: ServerResponse) => void]>([
  ['has ended', (response) => response.end()],
  ['is still open', (response) => response.write('Moved.')],
])(
  'a redirect whose response %s is followed with the same request, and the new stream is read to its end',
  async (_, leave) => {
    const paths: (string | undefined)[] = [];
    const begun = Promise.withResolvers<void>();
    await using server = await serve(({ url, method }, response) => {
      paths.push(`${method} ${url}`);
      if (paths.length === 1) {
        leave(response.writeHead(307, { location: '/elsewhere' }));
        return;
      }
      response.writeHead(200, STREAM).write(SAID);
      void begun.promise.then(() => response.end(SAID + DONE));
    });
    const asked = connect('openai-chat', server).generate(ask([user], { onText: () => begun.resolve() }));
    expect(await asked).toMatchObject({ content: 'Two.Two.' });
    expect(paths).toEqual(['POST /v1/chat/completions', 'POST /elsewhere']);
  },
);

it('requests that follow complete answers reuse the same connections', async () => {
  await using server = await serve((_, response) => {
    response.writeHead(200, { ...STREAM, 'content-length': Buffer.byteLength(SAID + DONE) }).end(SAID + DONE);
  });
  const model = connect('openai-chat', server);
  for (let call = 0; call < 10; call += 1) expect(await model.generate(ask([user]))).toMatchObject({ content: 'Two.' });
  // undici may open a second connection, because it learns of a free one only at the next tick.
  expect(server.connections()).toBeLessThanOrEqual(2);
});

it.each<[WireFormat, string]>([
  ['anthropic', MESSAGE],
  ['openai-chat', SAID + DONE],
  ['openai-responses', RESPONSE],
])(
  'an %s answer is complete at its end mark, and the connection is closed if the server does not end its response',
  async (format, stream) => {
    const closed = Promise.withResolvers<void>();
    await using server = await serve((_, response) => {
      response.on('close', () => closed.resolve());
      response.writeHead(200, STREAM).write(stream);
    });
    expect(await connect(format, server).generate(ask([user]))).toMatchObject({ content: 'Two.', end: 'complete' });
    await closed.promise;
  },
);

it('after a redirect, the connection is closed if the server sends the whole answer but does not end the response', async () => {
  const closed = Promise.withResolvers<void>();
  await using server = await serve(({ url }, response) => {
    if (url !== '/elsewhere') {
      response.writeHead(307, { location: '/elsewhere' }).end();
      return;
    }
    response.on('close', () => closed.resolve());
    response.writeHead(200, STREAM).write(SAID + DONE);
  });
  expect(await connect('openai-chat', server).generate(ask([user]))).toMatchObject({ content: 'Two.' });
  await closed.promise;
});

it.each<[string, string]>([
  ['reports an error', `data: ${JSON.stringify({ error: { code: 429, message: 'Slow down.' } })}\n\n`],
  ['sends data that is not JSON', 'data: {"choices"\n\n'],
])('the connection is closed at once if a stream %s', async (_, event) => {
  const closed = Promise.withResolvers<void>();
  await using server = await serve((__, response) => {
    response.on('close', () => closed.resolve());
    response.writeHead(200, STREAM).write(SAID + event);
  });
  expect(await failureOf(connect('openai-chat', server).generate(ask([user])))).toMatchObject({ kind: 'retry' });
  await closed.promise;
});

it.each(['anthropic', 'openai-chat', 'openai-responses'] as const)(
  'a %s call that is aborted in the middle of its stream throws the reason and closes the connection',
  async (format) => {
    const closed = Promise.withResolvers<void>();
    const stop = new AbortController();
    await using server = await serve((_, response) => {
      response.on('close', () => closed.resolve());
      response.writeHead(200, STREAM).write(SAID);
      setImmediate(() => stop.abort(new Error('the lease is lost')));
    });
    const asked = connect(format, server).generate(ask([user], { signal: stop.signal }));
    await expect(asked).rejects.toThrow('the lease is lost');
    await closed.promise;
  },
);
