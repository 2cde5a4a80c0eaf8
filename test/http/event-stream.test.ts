import { expect, test } from 'vitest';
import { answerEvents, type ServerSentEvent } from '../../src/api/http/event-stream.ts';
import { ServerReaders } from '../../src/api/http/readers.ts';

const event: ServerSentEvent = { id: '1', type: 'text', data: { piece: 'a\nb' } };
const request = new Request('http://127.0.0.1/');

async function* endless(signal: AbortSignal, sent: { count: number; isAborted: boolean }) {
  signal.addEventListener('abort', () => (sent.isAborted = true));
  for (; !signal.aborted; sent.count += 1) yield event;
}

function open(stalledMs: number) {
  const server = new ServerReaders({ maxReaders: 1, accessCheckMs: 0, onError: () => undefined });
  const readers = server.forRequest(async () => undefined);
  const sent = { count: 0, isAborted: false };
  const limits = { heartbeatMs: 60_000, stalledMs };
  const response = answerEvents({ request, readers, limits, follow: (signal) => endless(signal, sent) });
  const body = response.body?.getReader();
  if (body === undefined) throw new Error('the response has no body');
  return { server, sent, body };
}

test('an event stream writes each event as one frame whose data has no line break, whatever its text contains', async () => {
  const { body } = open(60_000);
  const decode = async () => new TextDecoder().decode((await body.read()).value);
  expect(await decode()).toBe('retry: 1000\n\n');
  expect(await decode()).toBe('id: 1\nevent: text\ndata: {"piece":"a\\nb"}\n\n');
  await body.cancel();
});

test('an event stream reads events from its source only as fast as the client accepts them', async () => {
  const { body, sent } = open(60_000);
  for (let count = 0; count < 4; count += 1) await body.read();
  expect(sent.count).toBeLessThanOrEqual(3);
  await body.cancel();
  expect(sent.isAborted).toBe(true);
});

test('a client that accepts no event in time is disconnected, and its place becomes free for another client', async () => {
  const { body, server, sent } = open(20);
  await body.read();
  await body.read();
  expect(server.open).toBe(1);
  await expect.poll(() => server.open).toBe(0);
  expect(sent.isAborted).toBe(true);
  await expect(body.read()).rejects.toThrow('accepted no event in time');
});

test('a client that leaves an event stream frees its place only once', async () => {
  const { body, server } = open(60_000);
  await body.read();
  await body.cancel();
  expect(server.open).toBe(0);
  server.enter();
  expect(() => server.enter()).toThrow('the limit of this server');
});
