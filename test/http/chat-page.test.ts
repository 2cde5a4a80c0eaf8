import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { aiSdkApp } from '../../src/api/http/ai-sdk/ai-sdk-app.ts';
import { openSession, type SessionSdk, textsOf } from '../chat/open-session.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createFrontEndAgent, gates } from './front-end-agent.ts';

const SDKS: readonly SessionSdk[] = [5, 6, 7];

let fixture: Fixture;
let serve: (request: Request) => Promise<Response>;

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createFrontEndAgent()]);
  const app = aiSdkApp({ authenticate: 'none', clientFor: () => fixture.client, agent: 'guide' });
  serve = async (request) => await app.fetch(request);
});
afterAll(() => fixture.close());

type Change = (url: URL, method: string) => Response | undefined | Promise<void>;

/** A `fetch` of the served app. A test may answer a request itself, delay it, or change its address. */
function createFetch(change: Change = () => undefined): typeof fetch {
  return async (target, init) => {
    const url = new URL(target instanceof Request ? target.url : target, 'http://127.0.0.1');
    const answer = await change(url, init?.method ?? 'GET');
    return answer ?? (await serve(new Request(url, { ...init, headers: [...new Headers(init?.headers), HOST] })));
  };
}
const HOST: [string, string] = ['host', '127.0.0.1'];

function holdGate(name: string): PromiseWithResolvers<void> {
  const gate = Promise.withResolvers<void>();
  gates.set(name, gate);
  onTestFinished(() => {
    gate.resolve();
    gates.delete(name);
  });
  return gate;
}

function openWithTools(id: string, sdkVersion: SessionSdk = 7) {
  const calls: { readonly toolCallId: string; readonly toolName: string; readonly input: unknown }[] = [];
  const onToolCall = ({ toolCall }: { readonly toolCall: (typeof calls)[number] }) => calls.push(toolCall);
  return { calls, ...openSession(id, { sdkVersion, fetch: createFetch(), onToolCall }) };
}

describe('calls that run in a page', () => {
  test.each(SDKS)('each page gets a call once while it has no answer, with AI SDK %i', async (sdkVersion) => {
    const id = `calls-${sdkVersion}`;
    const chat = openWithTools(id, sdkVersion);
    await chat.actions.send({ text: 'call locate' });
    await expect.poll(() => chat.calls).toMatchObject([{ toolName: 'locate', input: { place: 'here' } }]);
    const tab = openWithTools(id, sdkVersion);
    await expect.poll(() => tab.calls).toEqual(chat.calls);
    await chat.actions.answer(chat.calls[0]?.toolCallId ?? '', { output: { city: 'Oslo' } });
    for (const { actions: _, ...one } of [chat, tab]) {
      await expect.poll(() => textsOf(one).at(-1)).toBe('assistant: So: {"city":"Oslo"}');
      await expect.poll(() => one.view().status).toBe('ready');
    }
    const late = openWithTools(id, sdkVersion);
    await expect.poll(() => textsOf(late)).toEqual(textsOf(chat));
    expect([chat, tab, late].map(({ calls }) => calls.length)).toEqual([1, 1, 0]);
  });

  test('a page does not run the call of a tool that a worker runs', async () => {
    const chat = openWithTools('worker-calls');
    await chat.actions.send({ text: 'call look' });
    await expect.poll(() => textsOf(chat).at(-1)).toBe('assistant: So: {"sky":"blue"}');
    await expect.poll(() => chat.view().status).toBe('ready');
    expect(chat.calls).toEqual([]);
  });

  test('a page that fails to run a call shows the error, and can still answer the call', async () => {
    const onToolCall = async () => await Promise.reject(new Error('no position'));
    const chat = openSession('failing-call', { fetch: createFetch(), onToolCall });
    await chat.actions.send({ text: 'call locate' });
    await expect.poll(() => chat.view().error?.message).toBe('no position');
    const [call] = chat.view().waiting?.calls ?? [];
    await chat.actions.answer(call?.toolCallId ?? '', { errorText: 'no position' });
    await expect.poll(() => textsOf(chat).at(-1)).toContain('no position');
  });
});

describe('the answer that a page reads', () => {
  test('each answer ends under its question although an earlier server streams the first open turn only', async () => {
    const id = 'unnamed';
    const [first, second] = [holdGate(`${id}-a`), holdGate(`${id}-b`)];
    const isLate = Promise.withResolvers<void>();
    const change: Change = async (url) => {
      if (!url.pathname.endsWith('/stream')) return;
      url.searchParams.delete('turn');
      await isLate.promise;
    };
    const chat = openSession(id, { fetch: createFetch(change) });
    await chat.actions.send({ text: `hold ${id}-a` });
    await chat.actions.send({ text: `hold ${id}-b` });
    first.resolve();
    // The first turn ends before the request for its stream arrives.
    await expect
      .poll(async () => (await fixture.client.openTurns(id)).turns.map(({ state }) => state))
      .toEqual(['running']);
    isLate.resolve();
    // An earlier server streams the second answer instead of the first.
    await expect.poll(() => textsOf(chat)).toContain('assistant: One ');
    second.resolve();
    const answer = 'assistant: One two.';
    const shown = [`user: hold ${id}-a`, answer, `user: hold ${id}-b`, answer];
    await expect.poll(() => [chat.view().status, textsOf(chat)]).toEqual(['ready', shown]);
  });

  test('a page reads the answer to its question although a later answer streams', async () => {
    const id = 'named';
    const first = holdGate(`${id}-a`);
    holdGate(`${id}-b`);
    const isLate = Promise.withResolvers<void>();
    const change: Change = async (url) => {
      if (url.pathname.endsWith('/stream')) await isLate.promise;
    };
    const chat = openSession(id, { fetch: createFetch(change) });
    await chat.actions.send({ text: `hold ${id}-a` });
    await chat.actions.send({ text: `hold ${id}-b` });
    first.resolve();
    await expect
      .poll(async () => (await fixture.client.openTurns(id)).turns.map(({ state }) => state))
      .toEqual(['running']);
    isLate.resolve();
    const shown = [`user: hold ${id}-a`, 'assistant: One two.', `user: hold ${id}-b`, 'assistant: One '];
    await expect.poll(() => textsOf(chat)).toEqual(shown);
  });

  test('the later messages stay when a message is saved without a change', async () => {
    const chat = openSession('unchanged', { fetch: createFetch() });
    for (const text of ['one', 'two']) {
      await chat.actions.send({ text });
      await expect.poll(() => textsOf(chat).at(-1)).toContain(`heard ${text}`);
      await expect.poll(() => chat.view().status).toBe('ready');
    }
    const shown = textsOf(chat);
    expect(shown).toHaveLength(4);
    await chat.actions.edit(chat.view().messages[0]?.id ?? '', 'one');
    await expect.poll(() => [chat.view().status, textsOf(chat)]).toEqual(['ready', shown]);
  });
});

describe('a page whose stream of news was refused', () => {
  const refusal = { code: 'unauthorized', detail: 'the token has expired' };
  const isLive = ({ pathname }: URL): boolean => pathname.endsWith('/live');

  test('approvals appear although the first request for news was refused', async () => {
    let count = 0;
    const fetch = createFetch((url) => {
      if (!isLive(url)) return undefined;
      count += 1;
      return count === 1 ? Response.json(refusal, { status: 401 }) : undefined;
    });
    const chat = openSession('refused-news', { fetch });
    await expect.poll(() => chat.view().error?.message).toBe('the token has expired');
    await chat.actions.send({ text: 'call book' });
    await expect.poll(() => chat.view().waiting?.calls).toMatchObject([{ toolName: 'book' }]);
    await expect.poll(() => chat.view().error).toBeUndefined();
  });

  test('a page that sends a message follows its chat again, also while an answer streams', async () => {
    const id = 'sends-again';
    holdGate(id);
    let isRefused = true;
    const fetch = createFetch((url) => {
      return isRefused && isLive(url) ? Response.json(refusal, { status: 401 }) : undefined;
    });
    const chat = openSession(id, { fetch });
    await expect.poll(() => chat.view().error?.message).toBe('the token has expired');
    await chat.actions.send({ text: `hold ${id}` });
    await expect.poll(() => textsOf(chat)).toContain('assistant: One ');
    isRefused = false;
    await chat.actions.send({ text: 'next' });
    await expect.poll(() => chat.view().error).toBeUndefined();
    await fixture.client.enqueueTurn({ conversation: id, agent: 'guide', turn: 'm9.1', input: 'from elsewhere' });
    await expect.poll(() => chat.view().queue).toMatchObject([{ text: 'next' }, { text: 'from elsewhere' }]);
  });

  test('a page follows its chat again once the browser shows it or is online again', async () => {
    const browser = new EventTarget();
    vi.stubGlobal('addEventListener', browser.addEventListener.bind(browser));
    vi.stubGlobal('removeEventListener', browser.removeEventListener.bind(browser));
    onTestFinished(() => void vi.unstubAllGlobals());
    let isRefused = true;
    const fetch = createFetch((url) => {
      return isRefused && isLive(url) ? Response.json(refusal, { status: 401 }) : undefined;
    });
    const chat = openSession('wakes-up', { fetch });
    await expect.poll(() => chat.view().error?.message).toBe('the token has expired');
    isRefused = false;
    browser.dispatchEvent(new Event('online'));
    await expect.poll(() => chat.view().error).toBeUndefined();
    await fixture.client.enqueueTurn({ conversation: 'wakes-up', agent: 'guide', turn: 'm1.1', input: 'hello' });
    await expect.poll(() => textsOf(chat)).toContain('assistant: heard hello after 0 messages');
  });
});
