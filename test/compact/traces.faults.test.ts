import { describe, expect, test } from 'vitest';
import { type CompactState, compactMessages, type MessageFormat } from '../../src/compact.ts';
import { WRITERS } from '../../src/wire/histories/writers/index.ts';
import { takeShare } from '../setup/count-runs.ts';
import { hasTraces, readConversationFiles } from '../wire/traces.ts';

const WINDOW = 12_000;
/** Calls for one conversation: each reads all messages so far. */
const CALLS = 20;
const CONVERSATIONS = 3;

function listOf(written: unknown): unknown[] {
  if (Array.isArray(written)) return written;
  const { messages, input } = written as { readonly messages?: unknown[]; readonly input?: unknown[] };
  return messages ?? input ?? [];
}

/** Grows one conversation, and counts the calls that broke a promise. */
async function growConversation(messages: readonly unknown[], format: MessageFormat) {
  const counts = { over: 0, startChanged: 0, unpaired: 0, compactions: 0 };
  const step = Math.max(2, Math.ceil(messages.length / CALLS));
  let state: CompactState | undefined;
  let before: string[] = [];
  for (let end = step; end <= messages.length; end += step) {
    const given = messages.slice(0, end);
    const compacted = await compactMessages({ messages: given, format, window: WINDOW, ...(state && { state }) });
    state = compacted.state;
    const { kind, tokensAfter } = compacted.report;
    const now = compacted.messages.map((message) => JSON.stringify(message));
    const isKept = before.every((message, index) => now[index] === message);
    if (kind !== 'none') counts.compactions += 1;
    if (kind === 'none' && !isKept) counts.startChanged += 1;
    if (tokensAfter > WINDOW) counts.over += 1;
    const again = await compactMessages({ messages: compacted.messages, format, window: 2 * WINDOW });
    if (again.report.notes.some((note) => note.kind === 'repaired')) counts.unpaired += 1;
    before = now;
  }
  return counts;
}

describe.skipIf(!hasTraces)('recorded conversations (skipped without ../shared/traces)', () => {
  const formats = WRITERS.map(({ name, write }) => ({ format: name as MessageFormat, write }));

  test.each(formats)(
    'compactMessages fits recorded requests in the format $format into the window, and keeps calls paired with results and the start stable',
    async ({ format, write }) => {
      let compactions = 0;
      for (const { name, conversations } of readConversationFiles()) {
        for (const { id, messages } of takeShare(conversations.slice(0, CONVERSATIONS))) {
          const counts = await growConversation(listOf(write(messages)), format);
          compactions += counts.compactions;
          expect({ name, id, ...counts }).toMatchObject({ name, id, over: 0, startChanged: 0, unpaired: 0 });
        }
      }
      expect(compactions).toBeGreaterThan(10);
    },
  );
});
