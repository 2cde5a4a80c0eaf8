import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { aiSdkApp } from '../../src/api/http/ai-sdk/ai-sdk-app.ts';
import { createDurableTransport } from '../../src/chat/index.ts';
import { openSession, type SessionSdk, textsOf } from '../chat/open-session.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createFrontEndAgent, gates } from './front-end-agent.ts';

const SDKS: readonly SessionSdk[] = [5, 6, 7];

let fixture: Fixture;
let serve: (request: Request) => Promise<Response>;
/** Streams that the server writes, by the end of their path. */
const open = new Map<string, number>();

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createFrontEndAgent()]);
  const app = aiSdkApp({
    authenticate: 'none',
    clientFor: () => fixture.client,
    agent: 'guide',
    whileWaiting: 'steer',
  });
  serve = async (request) => await app.fetch(request);
});
afterAll(() => fixture.close());

/** A `fetch` of the served app that a test may disturb. */
function createFetch(disturb: (path: string, method: string) => Response | undefined = () => undefined): typeof fetch {
  return async (target, init) => {
    const path = pathOf(target);
    const disturbed = disturb(path, init?.method ?? 'GET');
    if (disturbed !== undefined) return disturbed;
    const request = new Request(new URL(path, 'http://127.0.0.1'), init);
    request.headers.set('host', '127.0.0.1');
    const response = await serve(request);
    return path.includes('/stream') || path.includes('/live') ? countOpen(path, response) : response;
  };
}

function pathOf(target: Parameters<typeof fetch>[0]): string {
  return target instanceof Request ? target.url : target.toString();
}

function countOpen(path: string, { body, status, headers }: Response): Response {
  if (body === null) return new Response(null, { status, headers });
  const change = (by: number): void => void open.set(path, (open.get(path) ?? 0) + by);
  change(1);
  const reader = body.getReader();
  const counted = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { value, done } = await reader.read().catch(() => ({ value: undefined, done: true }) as const);
      if (value !== undefined) return controller.enqueue(value);
      if (done) change(-1);
      controller.close();
    },
    async cancel() {
      change(-1);
      await reader.cancel();
    },
  });
  return new Response(counted, { status, headers });
}

function holdGate(name: string): PromiseWithResolvers<void> {
  const gate = Promise.withResolvers<void>();
  gates.set(name, gate);
  onTestFinished(() => {
    gate.resolve();
    gates.delete(name);
  });
  return gate;
}

const openStreams = (id: string): number => {
  return [...open].reduce((sum, [path, count]) => sum + (path.includes(`/${id}/`) ? count : 0), 0);
};

describe.each(SDKS)('a chat with AI SDK %i', (sdkVersion) => {
  test('a page that leaves a chat while an answer streams keeps no stream of it', async () => {
    const id = `left-${sdkVersion}`;
    holdGate(id);
    const chat = openSession(id, { sdkVersion, fetch: createFetch() });
    await chat.actions.send({ text: `hold ${id}` });
    await expect.poll(() => textsOf(chat)).toContain('assistant: One ');
    await expect.poll(() => openStreams(id)).toBe(2);
    chat.leave();
    await expect.poll(() => openStreams(id)).toBe(0);
  });

  test('a page that comes back to a chat shows the answer that streams, once', async () => {
    const id = `back-${sdkVersion}`;
    const gate = holdGate(id);
    const chat = openSession(id, { sdkVersion, fetch: createFetch() });
    await chat.actions.send({ text: `hold ${id}` });
    await expect.poll(() => textsOf(chat)).toContain('assistant: One ');
    chat.leave();
    onTestFinished(chat.session.open());
    gate.resolve();
    await expect.poll(() => textsOf(chat)).toEqual([`user: hold ${id}`, 'assistant: One two.']);
    await expect.poll(() => chat.view().status).toBe('ready');
  });

  test('a message that joined a turn which then failed is shown in the failed answer, also after a reload', async () => {
    const id = `joined-${sdkVersion}`;
    const chat = openSession(id, { sdkVersion, fetch: createFetch() });
    await chat.actions.send({ text: 'call book' });
    await expect.poll(() => chat.view().status).toBe('waiting');
    await chat.actions.send({ text: 'fail', onBusy: 'steer' });
    const [call] = chat.view().waiting?.calls ?? [];
    await chat.actions.decide(call?.approvalId ?? '', true);
    await expect.poll(() => chat.view().messages.at(-1)?.metadata).toMatchObject({ failed: { code: 'model_failed' } });
    await expect.poll(() => chat.view().status).toBe('ready');
    const shown = textsOf(chat);
    expect(shown).toEqual(['user: call book', 'assistant: One moment.', '+ fail']);
    const reloaded = openSession(id, { sdkVersion, fetch: createFetch() });
    await expect.poll(() => textsOf(reloaded)).toEqual(shown);
    expect(reloaded.view().messages.map((message) => message.id)).toEqual(
      chat.view().messages.map(({ id: name }) => name),
    );
  });
});

test('a transport ends the streams of one chat, and keeps those of another', async () => {
  const transport = createDurableTransport({ fetch: createFetch() });
  const ids = ['closed-one', 'kept-one'];
  for (const id of ids) {
    holdGate(id);
    const message = { id: 'm1', role: 'user' as const, parts: [{ type: 'text', text: `hold ${id}` }] };
    await transport.acceptMessage({ chatId: id, message });
    const stream = await transport.reconnectToStream({ chatId: id });
    void stream?.pipeTo(new WritableStream()).catch(() => undefined);
  }
  const counts = (): number[] => ids.map(openStreams);
  await expect.poll(counts).toEqual([1, 1]);
  transport.close('closed-one');
  await expect.poll(counts).toEqual([0, 1]);
  transport.close();
  await expect.poll(counts).toEqual([0, 0]);
});

describe('messages that may not have arrived', () => {
  test('a message whose first request was lost is unsure if the second request is refused', async () => {
    let posts = 0;
    const fetch = createFetch((path, method) => {
      if (method !== 'POST' || !path.endsWith('/messages')) return undefined;
      posts += 1;
      if (posts === 1) throw new TypeError('the answer was lost');
      return posts === 2
        ? Response.json({ code: 'unauthorized', detail: 'the key has expired' }, { status: 401 })
        : undefined;
    });
    const chat = openSession('unsure', { fetch });
    await chat.actions.send({ text: 'hi' });
    const [entry] = chat.view().queue;
    expect(entry).toMatchObject({ state: 'unsure', text: 'hi' });
    await chat.actions.resend(entry?.id ?? '');
    await expect.poll(() => textsOf(chat)).toEqual(['user: hi', 'assistant: heard hi after 0 messages']);
    expect(chat.view().queue).toEqual([]);
  });

  test('a page does not give the text of a message back that the server may have, and cancels its turn', async () => {
    const id = 'withdrawn';
    holdGate(id);
    let posts = 0;
    const app = createFetch();
    const fetch: typeof globalThis.fetch = async (target, init) => {
      const isSent = init?.method === 'POST' && pathOf(target).endsWith('/messages');
      if (!isSent) return await app(target, init);
      posts += 1;
      if (posts > 1) return Response.json({ code: 'unauthorized', detail: 'the key has expired' }, { status: 401 });
      await app(target, init);
      throw new TypeError('the answer was lost');
    };
    // The page does not see that the server has the message.
    const blind: typeof globalThis.fetch = async (target, init) => {
      if (/\/(?:live|stream)/.test(pathOf(target))) return await new Promise(() => undefined);
      return await fetch(target, init);
    };
    const chat = openSession(id, { fetch: blind });
    await expect.poll(() => chat.view().status).toBe('ready');
    await chat.actions.send({ text: `hold ${id}` });
    const [entry] = chat.view().queue;
    expect(entry).toMatchObject({ state: 'unsure' });
    expect(chat.actions.discard(entry?.id ?? '')).toBe('');
    await expect.poll(() => fixture.client.result(id, `${entry?.id}.1`)).toMatchObject({ state: 'canceled' });
    expect(chat.view().queue).toEqual([]);
  });

  test('a refused message gives its text back', async () => {
    const refusal = { code: 'access_denied', detail: 'this key may not enqueue' };
    const fetch = createFetch((path, method) => {
      return method === 'POST' && path.endsWith('/messages') ? Response.json(refusal, { status: 403 }) : undefined;
    });
    const chat = openSession('gives-back', { fetch });
    await chat.actions.send({ text: 'hi' });
    const [entry] = chat.view().queue;
    expect(entry).toMatchObject({ state: 'refused', error: { message: 'this key may not enqueue' } });
    expect(chat.actions.discard(entry?.id ?? '')).toBe('hi');
  });

  test('a message keeps its text while its files are read, and when one cannot be read', async () => {
    const reading = Promise.withResolvers<ArrayBuffer>();
    const file = Object.assign(new Blob(['x'], { type: 'image/png' }), {
      name: 'x.png',
      arrayBuffer: () => reading.promise,
    });
    const chat = openSession('unreadable', { fetch: createFetch() });
    await expect.poll(() => chat.view().status).toBe('ready');
    const sent = chat.actions.send({ text: 'look at this', files: [file] });
    expect(textsOf(chat)).toEqual(['user: look at this']);
    reading.reject(new Error('the file has changed'));
    await sent;
    const failed = {
      state: 'refused',
      text: 'look at this',
      files: ['x.png'],
      error: { message: 'the file has changed' },
    };
    expect(chat.view().queue).toMatchObject([failed]);
  });
});

describe('a chat after a refusal', () => {
  test('a page follows its chat again once it is loaded again after a refusal', async () => {
    let isRefused = true;
    const refusal = { code: 'unauthorized', detail: 'the token has expired' };
    const fetch = createFetch((path) => {
      return isRefused && path.includes('/live') ? Response.json(refusal, { status: 401 }) : undefined;
    });
    const chat = openSession('follows-again', { fetch });
    await expect.poll(() => chat.view().error?.message).toBe('the token has expired');
    isRefused = false;
    chat.actions.reload();
    await expect.poll(() => openStreams('follows-again')).toBe(1);
    await fixture.client.enqueueTurn({
      conversation: 'follows-again',
      agent: 'guide',
      turn: 'm1.1',
      input: 'from elsewhere',
    });
    await expect.poll(() => textsOf(chat)).toContain('assistant: heard from elsewhere after 0 messages');
  });

  test('a page reads an answer again whose stream the server refused', async () => {
    const id = 'reads-again';
    const gate = holdGate(id);
    let isRefused = true;
    const refusal = { code: 'unauthorized', detail: 'the token has expired' };
    const fetch = createFetch((path) => {
      return isRefused && path.includes('/stream') ? Response.json(refusal, { status: 401 }) : undefined;
    });
    const chat = openSession(id, { fetch });
    await chat.actions.send({ text: `hold ${id}` });
    await expect.poll(() => chat.view().error?.message).toBe('the token has expired');
    isRefused = false;
    chat.actions.reload();
    await expect.poll(() => textsOf(chat)).toContain('assistant: One ');
    gate.resolve();
    await expect.poll(() => textsOf(chat)).toContain('assistant: One two.');
  });

  test('a failed answer that is tried again is replaced in both tabs', async () => {
    const chat = openSession('tabs', { fetch: createFetch() });
    const tab = openSession('tabs', { fetch: createFetch() });
    await chat.actions.send({ text: 'fail' });
    const idsOf = ({ view }: typeof chat): string[] => view().messages.map(({ id }) => id);
    await expect.poll(() => tab.view().messages.at(-1)?.metadata).toMatchObject({ failed: { code: 'model_failed' } });
    await expect.poll(() => chat.view().status).toBe('ready');
    const [question = '', answer = ''] = idsOf(chat);
    expect(answer).toBe(`${question}.1`);
    await chat.actions.retry(answer);
    for (const one of [chat, tab]) {
      await expect.poll(() => [idsOf(one), one.view().status]).toEqual([[question, `${question}.2`], 'ready']);
      expect(one.view().messages.at(-1)?.metadata).toMatchObject({ failed: { code: 'model_failed' } });
    }
  });
});

describe('files of messages that wait', () => {
  const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  const picture = () => {
    return Object.assign(new Blob([Buffer.from(PIXEL, 'base64')], { type: 'image/png' }), { name: 'pixel.png' });
  };
  const file = { type: 'file', mediaType: 'image/png', url: `data:image/png;base64,${PIXEL}`, filename: 'pixel.png' };

  test('a picture of a message that no worker has begun is shown after a reload, and once its turn begins', async () => {
    const id = 'pictured';
    const gate = holdGate(id);
    const chat = openSession(id, { fetch: createFetch() });
    await chat.actions.send({ text: `hold ${id}` });
    await expect.poll(() => textsOf(chat)).toContain('assistant: One ');
    await chat.actions.send({ text: 'look at this', files: [picture()] });
    const reloaded = openSession(id, { fetch: createFetch() });
    await expect.poll(() => reloaded.view().queue).toMatchObject([{ text: 'look at this', files: ['pixel.png'] }]);
    gate.resolve();
    for (const one of [chat, reloaded]) {
      await expect.poll(() => one.view().messages.length).toBe(4);
      await expect.poll(() => one.view().status).toBe('ready');
      expect(one.view().messages[2]?.parts).toMatchObject([file, { type: 'text', text: 'look at this' }]);
    }
  });

  test('a message that waits joins the running turn with its picture, although the page was loaded again', async () => {
    const id = 'steered';
    const gate = holdGate(id);
    const chat = openSession(id, { fetch: createFetch() });
    await chat.actions.send({ text: `hold ${id}` });
    await expect.poll(() => textsOf(chat)).toContain('assistant: One ');
    await chat.actions.send({ text: 'look at this', files: [picture()] });
    const reloaded = openSession(id, { fetch: createFetch() });
    await expect.poll(() => reloaded.view().queue).toMatchObject([{ text: 'look at this' }]);
    const [waiting] = reloaded.view().queue;
    await reloaded.actions.steer(waiting?.id ?? '');
    await expect.poll(() => reloaded.view().queue).toMatchObject([{ text: 'look at this' }]);
    expect(await fixture.client.result(id, `${waiting?.id}.1`)).toMatchObject({ state: 'canceled' });
    gate.resolve();
    // The model writes no further step, so the message is the next turn.
    await expect.poll(() => reloaded.view().messages.length).toBe(4);
    await expect.poll(() => reloaded.view().status).toBe('ready');
    expect(reloaded.view().messages[2]?.parts).toMatchObject([file, { type: 'text', text: 'look at this' }]);
    expect(reloaded.view().queue).toEqual([]);
  });

  test('a message whose turn has begun cannot join another turn, and nothing of it is lost', async () => {
    const id = 'too-late';
    const gate = holdGate(id);
    const chat = openSession(id, { fetch: createFetch() });
    await chat.actions.send({ text: `hold ${id}` });
    await expect.poll(() => textsOf(chat)).toContain('assistant: One ');
    const [question] = chat.view().messages;
    const message = { id: 's1', role: 'user' as const, parts: [{ type: 'text' as const, text: 'again' }] };
    const sent = chat.session.transport.acceptMessage({ chatId: id, message, onBusy: 'steer', replaces: question?.id });
    await expect(sent).rejects.toMatchObject({ code: 'conflict', field: 'replaces' });
    gate.resolve();
    await expect.poll(() => textsOf(chat)).toEqual([`user: hold ${id}`, 'assistant: One two.']);
  });

  test('the history shows the picture of a first message that no worker has begun', async () => {
    const idle = await openFixture();
    onTestFinished(() => idle.close());
    const parts = [file, { type: 'text', text: 'look' }];
    const body = JSON.stringify({ message: { id: 'm1', role: 'user', parts } });
    const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    const app = aiSdkApp({ authenticate: 'none', clientFor: () => idle.client, agent: 'guide' });
    await app.request('http://127.0.0.1/v1/chat/first-file/messages', post);
    for (const path of ['/v1/chat/first-file/messages', '/v1/chat/first-file']) {
      const response = await app.request(`http://127.0.0.1${path}`);
      const { messages } = (await response.json()) as { messages: unknown[] };
      expect(messages).toMatchObject([{ id: 'm1', role: 'user', parts }]);
    }
  });
});
