import { expect, test } from 'vitest';
import { searchLog } from '../../src/cli/mcp/search-log.ts';
import type { LogEntry, Message } from '../../src/domain/message.ts';

const size = { tokens: 1, bytes: 1 };
const entryOf = (message: Message, index: number): LogEntry => ({
  seq: index + 1,
  message,
  ...size,
  total: size,
  at: 1,
});

/** A log whose even messages are archived. It is read in pages of two. */
function logOf(...messages: readonly Message[]) {
  const entries = messages.map(entryOf);
  const page = (after: number, limit: number): LogEntry[] => entries.slice(after, after + Math.min(limit, 2));
  return {
    log: async (_: unknown, { after = 0, limit = 2 } = {}) => page(after, limit),
    outline: async (_: unknown, { after = 0 } = {}) => ({
      version: 1,
      head: entries.length,
      entries: [
        {
          ...size,
          seq: after + 1,
          role: 'user' as const,
          at: 1,
          start: '',
          ...(after % 2 === 0 ? { state: 'live' as const } : { state: 'archived' as const, by: 1 }),
        },
      ],
    }),
    context: async () => {
      const items = entries.flatMap(({ seq, message, tokens }) =>
        seq % 2 === 0 ? [] : [{ from: seq, to: seq, tokens, message }],
      );
      return { tenant: '_', conversation: 'c1', version: 1, head: entries.length, tokens: 1, items };
    },
  };
}

test('a search of the log finds messages and tool calls with all words, the newest first, with their states', async () => {
  const call = { id: 'c3_0', name: 'look_up', arguments: '{"order":"O-93"}' };
  const client = logOf(
    { role: 'user', content: 'nothing' },
    { role: 'user', content: `${'long '.repeat(100)}the order O-93 is late` },
    { role: 'assistant', content: '', toolCalls: [call] },
    { role: 'user', content: 'order' },
  );
  const { signal } = new AbortController();
  const asked = { conversation: 'c1', text: 'order o-93', most: 10, signal };
  const { matches, ...found } = await searchLog(client, asked);
  expect(found).toEqual({ searched: 4, hasMore: false, modelReads: [{ from: 3, to: 3 }] });
  expect(matches).toMatchObject([
    { seq: 3, role: 'assistant', state: 'live', text: expect.stringContaining('look_up') as string },
    {
      seq: 2,
      role: 'user',
      state: 'archived',
      by: 1,
      text: expect.stringMatching(/^ ?long .*O-93 is late$/s) as string,
    },
  ]);
  expect(await searchLog(client, { ...asked, text: 'o', most: 1 })).toMatchObject({
    matches: [{ seq: 4 }],
    hasMore: true,
  });
});

test('a search of the log ends when its client no longer wants the answer', async () => {
  const signal = AbortSignal.abort(new Error('canceled'));
  const search = searchLog(logOf({ role: 'user', content: 'a' }), { conversation: 'c1', text: 'a', most: 1, signal });
  await expect(search).rejects.toThrow('canceled');
});
