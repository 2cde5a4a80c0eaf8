import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { aiSdkApp } from '../../src/api/http/ai-sdk/ai-sdk-app.ts';
import { openSession, textsOf } from '../chat/open-session.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createFrontEndAgent, gates } from './front-end-agent.ts';

let fixture: Fixture;
let serve: typeof fetch;

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createFrontEndAgent()]);
  const app = aiSdkApp({ authenticate: 'none', clientFor: () => fixture.client, agent: 'guide' });
  serve = async (target, init) => {
    const request = new Request(new URL(pathOf(target), 'http://127.0.0.1'), init);
    request.headers.set('host', '127.0.0.1');
    return await app.fetch(request);
  };
});
afterAll(() => fixture.close());

function pathOf(target: Parameters<typeof fetch>[0]): string {
  return target instanceof Request ? target.url : target.toString();
}

/** Opens a chat whose first answer has begun, and does not end. */
async function openHeld(id: string, sdkVersion: 5 | 6 | 7, fetch = serve) {
  const gate = Promise.withResolvers<void>();
  gates.set(id, gate);
  onTestFinished(() => gate.resolve());
  const chat = openSession(id, { sdkVersion, fetch });
  await chat.actions.send({ text: `hold ${id}` });
  await expect.poll(() => textsOf(chat)).toContain('assistant: One ');
  const [question] = chat.view().messages;
  return { chat, gate, question: question?.id ?? '' };
}

function createRefusingFetch(isRefused: () => boolean): typeof fetch {
  const refusal = { code: 'forbidden', detail: 'this key may not edit' };
  return async (target, init) => {
    const isEdit = init?.method === 'POST' && pathOf(target).endsWith('/v1/chat');
    return isEdit && isRefused() ? Response.json(refusal, { status: 403 }) : await serve(target, init);
  };
}

describe.each([5, 6, 7] as const)('a chat with AI SDK %i', (sdk) => {
  test('an edit replaces an answer that streams at once, and does not wait for its end', async () => {
    const { chat, question } = await openHeld(`edited-${sdk}`, sdk);
    await chat.actions.edit(question, 'hi');
    await expect.poll(() => textsOf(chat)).toEqual(['user: hi', 'assistant: heard hi after 0 messages']);
    await expect.poll(() => chat.view().status).toBe('ready');
    expect(chat.view().queue).toEqual([]);
    expect(chat.view().error).toBeUndefined();
  });

  test('an edit that the server refuses keeps its text, and the answer goes on', async () => {
    const id = `refused-edit-${sdk}`;
    let isRefused = true;
    const { chat, gate, question } = await openHeld(
      id,
      sdk,
      createRefusingFetch(() => isRefused),
    );
    await chat.actions.edit(question, 'hi');
    const refused = { id: question, text: 'hi', state: 'refused', error: { message: 'this key may not edit' } };
    await expect.poll(() => chat.view().queue).toMatchObject([refused]);
    await expect.poll(() => textsOf(chat)).toEqual([`user: hold ${id}`, 'assistant: One ']);
    gate.resolve();
    await expect.poll(() => textsOf(chat)).toEqual([`user: hold ${id}`, 'assistant: One two.']);
    isRefused = false;
    await chat.actions.resend(question);
    await expect.poll(() => textsOf(chat)).toEqual(['user: hi', 'assistant: heard hi after 0 messages']);
    expect(chat.view().queue).toEqual([]);
  });
});

test('a refused edit that is discarded gives its text back', async () => {
  const { chat, question } = await openHeld(
    'discarded-edit',
    7,
    createRefusingFetch(() => true),
  );
  await chat.actions.edit(question, 'hi');
  await expect.poll(() => chat.view().queue).toMatchObject([{ state: 'refused' }]);
  expect(chat.actions.discard(question)).toBe('hi');
  expect(chat.view().queue).toEqual([]);
});

test('messages arrive in their order, although the first request is lost', async () => {
  let posts = 0;
  const fetch: typeof globalThis.fetch = async (target, init) => {
    const isSent = init?.method === 'POST' && pathOf(target).endsWith('/messages');
    posts += isSent ? 1 : 0;
    if (isSent && posts === 1) throw new TypeError('fetch failed');
    return await serve(target, init);
  };
  const chat = openSession('in-order', { fetch });
  await Promise.all([chat.actions.send({ text: 'one' }), chat.actions.send({ text: 'two' })]);
  await expect.poll(() => textsOf(chat).length).toBe(4);
  expect(textsOf(chat).filter((text) => text.startsWith('user'))).toEqual(['user: one', 'user: two']);
});

test('a message with a large file is accepted before the next message', async () => {
  const reading = Promise.withResolvers<ArrayBuffer>();
  const file = Object.assign(new Blob(['x'], { type: 'image/png' }), { arrayBuffer: () => reading.promise });
  const chat = openSession('large-first', { fetch: serve });
  const sent = [chat.actions.send({ text: 'one', files: [file] }), chat.actions.send({ text: 'two' })];
  await expect.poll(() => chat.view().status).toBe('queued');
  expect(textsOf(chat)).toEqual(['user: one']);
  expect(chat.view().queue).toMatchObject([{ text: 'two', state: 'sending' }]);
  const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  reading.resolve(new Uint8Array(Buffer.from(pixel, 'base64')).buffer);
  await Promise.all(sent);
  await expect.poll(() => textsOf(chat).filter((text) => text.startsWith('user'))).toEqual(['user: one', 'user: two']);
});
