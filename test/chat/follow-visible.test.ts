import { afterEach, expect, test, vi } from 'vitest';
import { followVisible } from '../../src/chat/react/follow-visible.ts';
import type { ChatNews, DurableTransport } from '../../src/chat/transport-types.ts';

class Page extends EventTarget {
  hidden = false;

  show(isShown: boolean): void {
    this.hidden = !isShown;
    this.dispatchEvent(new Event('visibilitychange'));
  }
}

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

function eventAt(id: string): ChatNews {
  return { type: 'event', event: { id, type: 'version', data: {} } } as unknown as ChatNews;
}

/** Sends one event on each connection, and then stays silent. */
function openTransport(): { readonly positions: (string | undefined)[]; readonly follow: DurableTransport['follow'] } {
  const positions: (string | undefined)[] = [];
  const follow = async function* follow({ after, signal }: Parameters<DurableTransport['follow']>[0]) {
    positions.push(after);
    yield eventAt(`${positions.length}`);
    await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('cut'))));
  } as DurableTransport['follow'];
  return { positions, follow };
}

function openPage(): Page {
  vi.useFakeTimers();
  const page = new Page();
  vi.stubGlobal('document', page);
  return page;
}

test('a page that stays hidden gives its connection back, and follows on behind the last event once it is shown', async () => {
  const page = openPage();
  const transport = openTransport();
  const left = new AbortController();
  const news = followVisible(transport, { chatId: 'c1', after: '0', left: left.signal });
  expect((await news.next()).value).toMatchObject({ event: { id: '1' } });
  const next = news.next();
  page.show(false);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(transport.positions).toEqual(['0']);
  page.show(true);
  expect((await next).value).toMatchObject({ event: { id: '2' } });
  expect(transport.positions).toEqual(['0', '1']);
});

test('a page that is hidden for a moment keeps its connection', async () => {
  const page = openPage();
  const transport = openTransport();
  const left = new AbortController();
  const news = followVisible(transport, { chatId: 'c1', after: '0', left: left.signal });
  await news.next();
  const next = news.next();
  page.show(false);
  await vi.advanceTimersByTimeAsync(1_000);
  page.show(true);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(transport.positions).toEqual(['0']);
  left.abort();
  expect((await next).done).toBe(true);
});

test('a page that is left while it is hidden follows no more', async () => {
  const page = openPage();
  const transport = openTransport();
  const left = new AbortController();
  const news = followVisible(transport, { chatId: 'c1', after: '0', left: left.signal });
  await news.next();
  const next = news.next();
  page.show(false);
  await vi.advanceTimersByTimeAsync(60_000);
  left.abort();
  expect((await next).done).toBe(true);
  expect(transport.positions).toEqual(['0']);
});
