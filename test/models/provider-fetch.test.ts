import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import type { ModelAnswer } from '../../src/domain/model.ts';
import { ask, connect } from './fixture.ts';
import { failureOf } from './raw-server.ts';

const user = { role: 'user', content: 'Which files?' } as const;
const WORDS = `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content: 'Zwei Dateien: ä' } }] })}`;

/** Sends a stream in the given pieces of bytes, and asks a Chat Completions model for it. */
async function hear(pieces: readonly (string | Uint8Array)[], type = 'text/event-stream'): Promise<ModelAnswer> {
  const server = createServer((request, response) => {
    void (async () => {
      await readAll(request);
      response.writeHead(200, { 'content-type': type });
      for (const piece of pieces) await new Promise((sent) => response.write(piece, sent));
      response.end();
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return await connect('openai-chat', { url }).generate(ask([user]));
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

it.each([
  ['with line feeds', [`${WORDS}\n\ndata: [DONE]\n\n`]],
  ['with carriage returns', [`${WORDS}\r\n\r\ndata: [DONE]\r\n\r\n`]],
  ['without a space', [`${WORDS}\n\ndata:[DONE]\n\n`]],
  ['cut in the middle of its end mark', [`${WORDS}\n\ndata: [DO`, 'NE]\n\n']],
  [
    'cut inside a character',
    [Buffer.from(WORDS).subarray(0, -5), Buffer.from(WORDS).subarray(-5), '\n\ndata: [DONE]\n\n'],
  ],
])(
  'a Chat Completions answer without a finish reason is complete at the end mark `[DONE]` %s',
  async (_name, pieces) => {
    expect((await hear(pieces)).content).toBe('Zwei Dateien: ä');
  },
);

it('a Chat Completions answer that quotes the end mark `[DONE]` in its text is not complete', async () => {
  const quoted = { id: 'c', choices: [{ index: 0, delta: { content: '\ndata: [DONE]\n' } }] };
  expect(await failureOf(hear([`data: ${JSON.stringify(quoted)}\n\n`]))).toMatchObject({ kind: 'retry' });
});

it('a stream that its server labels as JSON is still read as a stream', async () => {
  const answer = await hear([`${WORDS}\n\n`, 'data: [DONE]\n\n'], 'application/json');
  expect(answer.content).toBe('Zwei Dateien: ä');
});

it('a model call reads only the start of an error body that never ends', async () => {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(400, { 'content-type': 'text/plain' });
    const send = (): void => void (response.destroyed || response.write('x'.repeat(65_536), send));
    send();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect(await failureOf(connect('openai-chat', { url }).generate(ask([user])))).toMatchObject({ kind: 'invalid' });
  } finally {
    server.close();
    server.closeAllConnections();
  }
});
