import type { UIMessage } from 'ai';

const RETRY_MS = 500;

/**
 * Loads the messages of a conversation's log. Tries again while the server is away.
 * @throws Error with the server's answer if it refuses, the signal's reason
 */
export async function loadMessages(id: string, signal: AbortSignal): Promise<UIMessage[]> {
  for (;;) {
    const response = await fetch(`/v1/chat/${encodeURIComponent(id)}`, { signal }).catch(() => undefined);
    signal.throwIfAborted();
    if (response?.ok === true) {
      const body = await response.json().catch(() => undefined);
      if (body !== undefined) return (body as { messages: UIMessage[] }).messages;
    } else if (response !== undefined && response.status < 500) throw new Error(await response.text());
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}
