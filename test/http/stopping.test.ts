import { OpenAI } from 'openai';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createProtocols } from '../../src/api/http/protocols.ts';
import { openPage, textsOf } from './chat-page.ts';
import { type HttpFixture, openHttpFixture, send } from './fixture.ts';
import { createFrontEndAgent, gates } from './front-end-agent.ts';

let http: HttpFixture;
beforeAll(async () => {
  http = await openHttpFixture();
  await http.startWorkers([createFrontEndAgent()]);
});
afterAll(() => http.close());

const serve = () => http.serve({ protocols: createProtocols({ client: http.client, agent: 'guide' }) });
const RUN = { threadId: 'thread', runId: 'r1', messages: [{ id: 'm1', role: 'user', content: 'hold stop' }] };

/** Reads a stream to its end. */
async function readAll(response: Response, onText: () => void): Promise<string> {
  let text = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    if (text.includes('One ')) onText();
  }
  return text;
}

const post = (url: string, body: object) =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

test('a stopping server ends each stream as its protocol says and prints nothing, and the next server continues the streams', async () => {
  const printed = [vi.spyOn(console, 'error'), vi.spyOn(console, 'info')];
  const gate = Promise.withResolvers<void>();
  gates.set('stop', gate);
  const { url, stop } = await serve();
  const streaming = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
  const [chatting, running, responding] = streaming.map(({ resolve }) => resolve);
  const chat = post(`${url}/v1/chat`, {
    id: 'chat',
    messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'hold stop' }] }],
  }).then((response) => readAll(response, () => chatting?.()));
  const run = post(`${url}/v1/ag-ui`, RUN).then((response) => readAll(response, () => running?.()));
  const created = post(`${url}/v1/responses`, { input: 'hold stop', stream: true }).then((response) =>
    readAll(response, () => responding?.()),
  );
  const waiting = post(`${url}/v1/responses`, { input: 'hold stop' }).then((response) => response.json());
  await Promise.all(streaming.map(({ promise }) => promise));
  await expect.poll(async () => (await http.client.conversations({ state: 'running' })).conversations.length).toBe(4);
  const ended = Promise.allSettled([chat, run, created, waiting]);
  await stop();
  const [cut, failed, error, state] = await ended;
  expect(cut, 'the AI SDK takes a cut connection for one to resume').toMatchObject({ status: 'rejected' });
  const lastFrame = (text: string) =>
    text
      .trimEnd()
      .split('\n\n')
      .at(-1)
      ?.replace(/^(event: .*\n)?data: /, '') ?? '';
  const last = (outcome: typeof failed) =>
    JSON.parse(outcome?.status === 'fulfilled' ? lastFrame(outcome.value) : '{}') as { sequence_number?: number };
  expect(last(failed)).toMatchObject({ type: 'RUN_ERROR', code: 'server_stopping' });
  expect(last(error)).toMatchObject({ type: 'error', code: 'server_stopping' });
  expect(state).toMatchObject({ status: 'fulfilled', value: { object: 'response', status: 'in_progress' } });
  for (const spy of printed) expect(spy).not.toHaveBeenCalled();

  const next = await serve();
  gate.resolve();
  const page = openPage({ sdk: 7, url: next.url, id: 'chat' });
  await page.chat.resumeStream();
  expect(textsOf(page.chat.lastMessage)).toEqual(['One two.']);
  expect(await readAll(await post(`${next.url}/v1/ag-ui`, RUN), () => undefined)).toContain('"delta":"One two."');
  const id = /"id":"(resp_[^"]+)"/.exec(error?.status === 'fulfilled' ? error.value : '')?.[1] ?? '';
  const openai = new OpenAI({ baseURL: `${next.url}/v1`, apiKey: 'none' });
  const after = last(error).sequence_number ?? 0;
  let rest = '';
  for await (const event of await openai.responses.retrieve(id, { stream: true, starting_after: after })) {
    if (event.type === 'response.output_text.delta') rest += event.delta;
  }
  expect(rest).toBe('two.');
});

test('a HEAD request gets no stream', async () => {
  const { url, stop } = await serve();
  await http.client.enqueueTurn({ conversation: 'head', agent: 'guide', input: 'hello' });
  const { status, headers } = await send(`${url}/v1/chat/head/stream`, 'HEAD');
  expect([status, headers.get('allow')]).toEqual([405, 'GET']);
  await stop();
});

test('the routes of all protocols are below the base path of the server', async () => {
  const protocols = createProtocols({ client: http.client, agent: 'guide' });
  const { url, stop } = await http.serve({ protocols, basePath: '/api' });
  expect((await send(`${url}/api/v1/chat/nobody`, 'GET')).body).toEqual({ id: 'nobody', messages: [] });
  await stop();
});
