import type { OpenClient } from '../src/api/client/index.ts';
import type { Message } from '../src/domain/message.ts';

const BATCH = 1_000;
/** Longest time that a compaction of a benchmark may take, in ms. */
const COMPACTION_MS = 300_000;

/**
 * Appends many messages to a conversation. A batch ends where all calls have results, because an append closes the calls
 * that its messages have passed.
 */
export async function fill(
  client: OpenClient,
  { conversation, agent }: { readonly conversation: string; readonly agent: string },
  messages: readonly Message[],
): Promise<void> {
  const open = new Set<string>();
  let start = 0;
  for (const [index, { toolCalls = [], toolCallId }] of messages.entries()) {
    for (const { id } of toolCalls) open.add(id);
    if (toolCallId !== undefined) open.delete(toolCallId);
    const end = index + 1;
    if (end < messages.length && (end - start < BATCH || open.size > 0)) continue;
    await client.append({ conversation, agent, messages: messages.slice(start, end) });
    start = end;
  }
}

/** Compacts a conversation, and waits for the end. @throws Error if the compaction takes too long */
export async function compact(client: OpenClient, conversation: string): Promise<void> {
  await client.compact(conversation);
  const until = Date.now() + COMPACTION_MS;
  while ((await client.describe(conversation)).passId !== undefined) {
    if (Date.now() > until) throw new Error(`${conversation} was not compacted within ${COMPACTION_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
