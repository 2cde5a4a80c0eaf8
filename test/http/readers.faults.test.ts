import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { scriptedModel } from '../../src/models/scripted.ts';
import { createTalker } from '../client/fixture.ts';
import { type HttpFixture, hasEnd, openHttpFixture, readEvents, type SentEvent } from './fixture.ts';

const READERS = 1_000;
const SILENT = 200;
const CHARACTERS = 200_000;
const STALLED_MS = 1_000;
/** Bytes of memory that all silent readers together may cost. Without backpressure they would hold their whole streams. */
const MAX_GROWTH = 100_000_000;

let http: HttpFixture;
const gate = Promise.withResolvers<void>();
beforeAll(async () => {
  http = await openHttpFixture({ limits: { maxReaders: READERS + SILENT, stalledMs: STALLED_MS } });
  const text = 'word '.repeat(CHARACTERS / 5);
  const model = scriptedModel({ decide: () => gate.promise.then(() => ({ content: text })) });
  await http.startWorkers([{ ...createTalker(), model }]);
});
afterAll(() => http.close());

const textOf = (events: readonly SentEvent[]): string =>
  events.flatMap(({ type, data }) => (type === 'text' ? [data['piece']] : [])).join('');

/** Reads a stream to its end, and cuts the connection after each few events. */
async function readWithCuts(url: string, every: number): Promise<string> {
  const events: SentEvent[] = [];
  while (!hasEnd(events)) {
    const isEnough = (read: SentEvent[]) => hasEnd(read) || read.length >= every;
    events.push(...(await readEvents(url, { after: events.at(-1)?.id, isEnough })));
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

test('1,000 readers that are cut off get the whole text, beside 200 readers that never read', async () => {
  const { turn } = await http.client.enqueueTurn({ conversation: 'c1', agent: 'talker', input: 'x' });
  const url = `${http.baseUrl}/v1/conversations/c1/turns/${turn}/events`;
  const before = process.memoryUsage().rss;
  const silent = Array.from({ length: SILENT }, () => openSilent(new URL(url)));
  const texts = Array.from({ length: READERS }, (_, index) => readWithCuts(url, 1 + (index % 5)));
  await expect.poll(async () => (await http.client.result('c1', turn)).state).toBe('running');
  gate.resolve();
  const read = await Promise.all(texts);
  const view = await http.client.result('c1', turn, { waitMs: 60_000 });
  expect(new Set(read)).toEqual(new Set([view.answer?.content]));
  expect(process.memoryUsage().rss - before).toBeLessThan(MAX_GROWTH + READERS * CHARACTERS * 2);
  for (const socket of silent) socket.destroy();
  expect(http.defects).toEqual([]);
});
