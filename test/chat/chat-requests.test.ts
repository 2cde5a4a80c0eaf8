import { afterEach, describe, expect, test, vi } from 'vitest';
import { createDurableTransport } from '../../src/chat/index.ts';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

const accepted = { turn: 'm1.1' };
const ask = (text = 'hi') => {
  return { chatId: 'c1', message: { id: 'm1', role: 'user' as const, parts: [{ type: 'text', text }] } };
};

/** A connection that the network has lost without an error: nothing comes, until the page cuts it. */
async function fallSilent(init: RequestInit | undefined): Promise<Response> {
  return await new Promise((_, reject) => {
    init?.signal?.addEventListener('abort', () => reject(new DOMException('cut', 'AbortError')));
  });
}

/** Falls silent a number of times, then answers. */
function createSilentFetch(times: number) {
  const sent: RequestInit[] = [];
  const fetch: typeof globalThis.fetch = async (_, init) => {
    sent.push(init ?? {});
    return sent.length <= times ? await fallSilent(init) : Response.json(accepted);
  };
  return { sent, fetch };
}

describe('a request without an answer', () => {
  test('a request is repeated once its connection was silent for too long', async () => {
    vi.useFakeTimers();
    const { sent, fetch } = createSilentFetch(1);
    const answer = createDurableTransport({ fetch }).acceptMessage(ask());
    await vi.advanceTimersByTimeAsync(39_000);
    expect(sent.length).toBe(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await answer).toEqual(accepted);
    expect(sent.length).toBe(2);
  });

  test('a large request has the time for a slow upload, and more at each attempt', async () => {
    vi.useFakeTimers();
    const { sent, fetch } = createSilentFetch(2);
    const answer = createDurableTransport({ fetch }).acceptMessage(ask('x'.repeat(1_600_000)));
    await vi.advanceTimersByTimeAsync(139_000);
    expect(sent.length).toBe(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(sent.length).toBe(2);
    await vi.advanceTimersByTimeAsync(237_000);
    expect(sent.length).toBe(2);
    await vi.advanceTimersByTimeAsync(4_000);
    expect(await answer).toEqual(accepted);
  });

  test('an answer that arrives slowly is not cut', async () => {
    vi.useFakeTimers();
    let requests = 0;
    const fetch: typeof globalThis.fetch = async () => {
      requests += 1;
      const pieces = ['{"turn"', ':', '"m1.1"', '}'];
      const body = new ReadableStream<Uint8Array>({
        async pull(controller) {
          const piece = pieces.shift();
          if (piece === undefined) return controller.close();
          await new Promise((resolve) => setTimeout(resolve, 30_000));
          controller.enqueue(new TextEncoder().encode(piece));
        },
      });
      return new Response(body);
    };
    const answer = createDurableTransport({ fetch }).acceptMessage(ask());
    await vi.advanceTimersByTimeAsync(125_000);
    expect(await answer).toEqual(accepted);
    expect(requests).toBe(1);
  });

  test('a request is repeated at once when the browser has a network again', async () => {
    const page = new EventTarget();
    vi.stubGlobal('addEventListener', page.addEventListener.bind(page));
    vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page));
    const { sent, fetch } = createSilentFetch(1);
    const answer = createDurableTransport({ fetch, maxPauseMs: 1 }).acceptMessage(ask());
    await expect.poll(() => sent.length).toBe(1);
    page.dispatchEvent(new Event('online'));
    expect(await answer).toEqual(accepted);
  });
});

describe('errors of the page', () => {
  const broken = {
    'a function for headers that throws': {
      options: { headers: async () => await Promise.reject(new Error('no token')) },
      message: 'no token',
    },
    'a token with a line break': { options: { headers: { authorization: 'a\nb' } }, message: /header value/ },
    'an address that cannot be parsed': { options: { api: 'http://[' }, message: /URL/ },
  };

  test.each(Object.entries(broken))(
    '%s ends a request and a stream with its error',
    async (_, { options, message }) => {
      let requests = 0;
      const fetch: typeof globalThis.fetch = async () => {
        requests += 1;
        return Response.json(accepted);
      };
      const transport = createDurableTransport({ fetch, ...options });
      await expect(transport.acceptMessage(ask())).rejects.toThrow(message);
      await expect(transport.reconnectToStream({ chatId: 'c1' })).rejects.toThrow(message);
      await expect(transport.follow({ chatId: 'c1' })[Symbol.asyncIterator]().next()).rejects.toThrow(message);
      expect(requests).toBe(0);
      expect(transport.isConnected).toBe(true);
    },
  );

  test('an output that is no JSON ends the answer to a call with its error', async () => {
    const transport = createDurableTransport({ fetch: async () => Response.json({ status: 'answered' }) });
    await expect(transport.answerCalls({ chatId: 'c1', answers: { c: { output: 1n } } })).rejects.toThrow(/BigInt/);
  });

  test('an error of the page after a lost attempt says that the server may have the message', async () => {
    const tokens = ['one'];
    const headers = async () => {
      const token = tokens.shift();
      if (token === undefined) throw new Error('no token');
      return { authorization: token };
    };
    const fetch = async () => await Promise.reject<Response>(new TypeError('fetch failed'));
    const answer = createDurableTransport({ fetch, headers, maxPauseMs: 1 }).acceptMessage(ask());
    await expect(answer).rejects.toMatchObject({ message: 'no token', mayBeDone: true, status: 0 });
  });

  test('a token that cannot be fetched without a connection is fetched again', async () => {
    let attempts = 0;
    const headers = async () => {
      attempts += 1;
      if (attempts === 1) throw new TypeError('Failed to fetch');
      return { authorization: 'token' };
    };
    const { sent, fetch } = createSilentFetch(0);
    expect(await createDurableTransport({ fetch, headers, maxPauseMs: 1 }).acceptMessage(ask())).toEqual(accepted);
    expect(new Headers(sent[0]?.headers).get('authorization')).toBe('token');
  });
});

test.each(['cancels', 'aborts'])('a reader that %s a stream between two chunks leaves no listener', async (how) => {
  const listeners = new Set<unknown>();
  vi.stubGlobal('addEventListener', (name: string) => listeners.add(name));
  vi.stubGlobal('removeEventListener', (name: string) => listeners.delete(name));
  const chunk = new TextEncoder().encode('id: 1\ndata: {"type":"start"}\n\n');
  const body = new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(chunk) });
  const transport = createDurableTransport({ fetch: async () => new Response(body) });
  const left = new AbortController();
  const stream = await transport.reconnectToStream({ chatId: 'c1', abortSignal: left.signal });
  const reader = stream?.getReader();
  await reader?.read();
  expect(listeners.size).toBeGreaterThan(0);
  if (how === 'cancels') await reader?.cancel();
  else left.abort();
  expect(listeners.size).toBe(0);
});
