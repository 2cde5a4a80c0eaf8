import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTalker } from '../client/fixture.ts';
import { type HttpFixture, hasEnd, openHttpFixture, outline, readEvents, type SentEvent, send } from './fixture.ts';

let http: HttpFixture;
const gate = Promise.withResolvers<void>();
beforeAll(async () => {
  http = await openHttpFixture({ limits: { heartbeatMs: 20 } });
  await http.startWorkers([createTalker(gate.promise)]);
});
afterAll(() => http.close());

async function enqueue(conversation: string, input: string): Promise<string> {
  await http.client.enqueueTurn({ conversation, agent: 'talker', input, turn: 't1' });
  return `/v1/conversations/${conversation}/turns/t1/events`;
}

const textOf = (events: readonly SentEvent[]): string =>
  events.flatMap(({ type, data }) => (type === 'text' ? [data['piece']] : [])).join('');

test('GET …/events streams the parts of a turn with ids, and ends with the settled turn', async () => {
  const path = await enqueue('s1', 'call echo');
  const events = await readEvents(http.baseUrl + path, { isEnough: hasEnd });
  expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(['tool-call', 'tool-result', 'text', 'end']));
  expect(events.every(({ id }) => id !== undefined)).toBe(true);
  expect(textOf(events)).toBe('echoed');
  expect(events.at(-1)?.data).toMatchObject({ view: { state: 'completed', answer: { content: 'echoed' } } });
});

test('a client that is cut off after each event and resumes with Last-Event-ID misses and repeats nothing', async () => {
  const path = await enqueue('s2', 'call echo,ask,echo');
  const whole = readEvents(http.baseUrl + path, { isEnough: hasEnd });
  const cut: SentEvent[] = [];
  while (!hasEnd(cut)) {
    const after = cut.at(-1)?.id;
    const [next] = await readEvents(http.baseUrl + path, { after, isEnough: (events) => events.length > 0 });
    if (next === undefined) continue;
    if (next.type === 'wait') {
      const { calls } = next.data['waiting'] as { calls: { id: string }[] };
      await http.client.answer('s2', 't1', Object.fromEntries(calls.map(({ id }) => [id, { content: 'told' }])));
      await http.client.result('s2', 't1', { waitMs: 30_000 });
    } else cut.push(next);
  }
  const parts = (events: readonly SentEvent[]) => events.filter(({ type }) => type !== 'wait');
  expect(hasEnd(cut)).toBe(true);
  expect(textOf(cut)).toBe((await http.client.result('s2', 't1')).answer?.content);
  expect(
    parts(cut)
      .filter(isRecorded)
      .map(({ data }) => data),
  ).toEqual(
    parts(await whole)
      .filter(isRecorded)
      .map(({ data }) => data),
  );
});

/** Parts that every reader gets in the same form. Texts may be split elsewhere. */
function isRecorded({ type }: SentEvent): boolean {
  return ['tool-call', 'tool-result', 'end'].includes(type);
}

test('a stream without events sends comments, so that proxies keep its connection', async () => {
  const path = await enqueue('s3', 'hold');
  const response = await fetch(http.baseUrl + path);
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  let text = '';
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  while (!/(: \n\n){2}/.test(text)) text += (await reader?.read())?.value ?? '';
  await reader?.cancel();
  gate.resolve();
});

test('a stream of a missing turn or with a wrong id is refused with a problem response', async () => {
  const path = await enqueue('s4', 'hello');
  const missing = await http.call('GET', path.replace('t1', 't2'));
  expect(outline(missing)).toEqual({ status: 404, code: 'not_found', field: 'turn' });
  const wrong = await http.call('GET', path, { headers: { 'last-event-id': 'nonsense' } });
  expect(outline(wrong)).toEqual({ status: 422, code: 'invalid_input', field: 'last-event-id' });
  const gone = await http.call('GET', '/v1/conversations/none/events');
  expect(outline(gone)).toEqual({ status: 404, code: 'not_found', field: 'conversation' });
  expect((await fetch(http.baseUrl + path, { method: 'HEAD' })).status).toBe(405);
});

test('the events of a conversation continue behind Last-Event-ID', async () => {
  await enqueue('s5', 'one');
  await http.client.result('s5', 't1', { waitMs: 30_000 });
  await http.client.enqueueTurn({ conversation: 's5', agent: 'talker', input: 'two', turn: 't2' });
  const url = `${http.baseUrl}/v1/conversations/s5/events`;
  const [first] = await readEvents(url, { after: '0', isEnough: (events) => events.length > 0 });
  expect(first).toMatchObject({ type: 'turn_settled', data: { turn: 't1', state: 'completed' } });
  const rest = await readEvents(url, { after: first?.id, isEnough: (events) => events.length > 0 });
  expect(rest[0]).toMatchObject({ type: 'turn_settled', data: { turn: 't2' } });
});

test('a reader above the limit gets 429 with Retry-After, and a place becomes free after a cut', async () => {
  const { url, stop } = await http.serve({ limits: { maxReaders: 1, heartbeatMs: 20 } });
  const path = '/v1/conversations/s5/events';
  const leaving = new AbortController();
  const open = await fetch(url + path, { signal: leaving.signal });
  expect(open.status).toBe(200);
  const refused = await send(url + path, 'GET');
  expect(outline(refused)).toEqual({ status: 429, code: 'too_many_readers' });
  expect(refused.headers.get('retry-after')).toBe('1');
  leaving.abort();
  await expect
    .poll(async () => {
      const again = new AbortController();
      const { status } = await fetch(url + path, { signal: again.signal });
      again.abort();
      return status;
    })
    .toBe(200);
  await stop();
});

test('a stopping server ends its streams and waiting requests at once', async () => {
  const { url, stop } = await http.serve();
  await http.client.enqueueTurn({ conversation: 's6', agent: 'talker', input: 'call ask', turn: 't1' });
  const stream = fetch(`${url}/v1/conversations/s6/turns/t1/events`).then((response) => response.text());
  const result = send(`${url}/v1/conversations/s6/turns/t1/result?waitMs=60000`, 'GET');
  await expect.poll(async () => (await http.client.result('s6', 't1')).state).toBe('waiting');
  await stop();
  expect(await stream).toContain('retry: ');
  expect(await result).toMatchObject({ status: 200, body: { state: 'waiting' } });
  await http.client.cancel('s6', 't1');
});
