import type { ChatNews, DurableTransport } from '../transport-types.ts';

/** A page in the background keeps its connection for this long. */
const HIDDEN_MS = 5_000;

interface ShownDocument extends Pick<EventTarget, 'addEventListener' | 'removeEventListener'> {
  readonly hidden: boolean;
}

interface Followed {
  readonly chatId: string;
  readonly after: string;
  readonly left: AbortSignal;
}

/**
 * Follows a chat while the page is visible. A browser opens six connections to a host over HTTP/1.1, and each page that
 * follows holds one.
 */
export async function* followVisible(
  transport: Pick<DurableTransport, 'follow'>,
  { chatId, after: first, left }: Followed,
): AsyncGenerator<ChatNews, void, void> {
  const { document: shown } = globalThis as { readonly document?: ShownDocument };
  let after = first;
  while (!left.aborted) {
    const hidden = new AbortController();
    const stop = shown && watchVisibility(shown, () => hidden.abort());
    try {
      for await (const news of transport.follow({ chatId, after, signal: AbortSignal.any([left, hidden.signal]) })) {
        if (news.type === 'event') after = news.event.id;
        yield news;
      }
      return;
    } catch (error) {
      if (left.aborted) return;
      if (!hidden.signal.aborted) throw error;
    } finally {
      stop?.();
    }
    if (shown !== undefined) await untilVisible(shown, left);
  }
}

function watchVisibility(shown: ShownDocument, onHidden: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = (): void => {
    clearTimeout(timer);
    if (shown.hidden) timer = setTimeout(onHidden, HIDDEN_MS);
  };
  look();
  shown.addEventListener('visibilitychange', look);
  return () => {
    clearTimeout(timer);
    shown.removeEventListener('visibilitychange', look);
  };
}

async function untilVisible(shown: ShownDocument, left: AbortSignal): Promise<void> {
  if (!shown.hidden || left.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = (): void => {
    if (!shown.hidden || left.aborted) resolve();
  };
  shown.addEventListener('visibilitychange', look);
  left.addEventListener('abort', look);
  await promise;
  shown.removeEventListener('visibilitychange', look);
  left.removeEventListener('abort', look);
}
