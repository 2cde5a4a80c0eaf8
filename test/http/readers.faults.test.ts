import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { createTalker, type Fixture, openFixture, SHARDS } from '../client/fixture.ts';
import { hasEnd, readEvents, type SentEvent } from './fixture.ts';
import { readMetric, startServe } from './serve-process.ts';

const READERS = 1_000;
const SILENT = 200;
const CHARACTERS = 50_000;
/** How often each reader is cut off. */
const CUTS = 3;
/** Bytes that a reader may add to the memory of the server. Measured: 0.3 MB, with the garbage of four connections. */
const MAX_BYTES_EACH = 500_000;

let fixture: Fixture;
const gate = Promise.withResolvers<void>();
beforeAll(async () => {
  fixture = await openFixture();
  const text = 'word '.repeat(CHARACTERS / 5);
  const model = scriptedModel({ decide: () => gate.promise.then(() => ({ content: text })) });
  await fixture.startWorkers([{ ...createTalker(), model }]);
});
afterAll(() => fixture.close());

/** A restart takes back the text of the only step: on a busy machine the worker may lose its lease, and call the model again. */
const textOf = (events: readonly SentEvent[]): string =>
  events.reduce((text, { type, data }) => {
    if (type === 'restart') return '';
    return type === 'text' ? `${text}${String(data['piece'])}` : text;
  }, '');

/** A busy server may reset a connection before its headers. A browser then connects again. */
function connectAgain(error: unknown): SentEvent[] {
  if (error instanceof TypeError) return [];
  throw error;
}

/** Reads a stream to its end. The first connections are cut after a few events. */
async function readWithCuts(url: string, count: number): Promise<string> {
  const events: SentEvent[] = [];
  for (let cuts = 0; !hasEnd(events); cuts += 1) {
    const isEnough = (read: SentEvent[]) => hasEnd(read) || (cuts < CUTS && read.length >= count);
    const read = await readEvents(url, { after: events.at(-1)?.id, isEnough }).catch(connectAgain);
    events.push(...read);
  }
  return textOf(events);
}

/** Opens a stream and never reads from it. */
function openSilent(url: URL): Socket {
  const socket = connect(Number(url.port), url.hostname);
  socket.pause().write(`GET ${url.pathname} HTTP/1.1\r\nhost: ${url.host}\r\n\r\n`);
  socket.on('error', () => undefined);
  return socket;
}

test('1,000 readers that are cut off get the whole text, beside 200 stalled readers', async () => {
  const env = { REDIS_URL: fixture.url, TURNFOLD_SHARDS: String(SHARDS) };
  const server = await startServe(env, '--max-readers', '5000');
  const { turn } = await fixture.client.enqueueTurn({ conversation: 'c1', agent: 'talker', input: 'x' });
  const url = `${server.url}/v1/conversations/c1/turns/${turn}/events`;
  const before = await readMetric(server.metrics, 'turnfold_process_resident_memory_bytes');
  const silent = Array.from({ length: SILENT }, () => openSilent(new URL(url)));
  const texts = Array.from({ length: READERS }, (_, index) => readWithCuts(url, 1 + (index % 5)));
  await expect.poll(() => readMetric(server.metrics, 'turnfold_http_readers')).toBeGreaterThan(SILENT);
  gate.resolve();
  const read = await Promise.all(texts);
  const view = await fixture.client.result('c1', turn, { waitMs: 60_000 });
  expect(new Set(read)).toEqual(new Set([view.answer?.content]));
  const after = await readMetric(server.metrics, 'turnfold_process_resident_memory_bytes');
  expect(after - before).toBeLessThan(MAX_BYTES_EACH * (READERS + SILENT));
  for (const socket of silent) socket.destroy();
});
