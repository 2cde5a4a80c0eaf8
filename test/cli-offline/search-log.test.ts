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
          state: after % 2 === 0 ? ('live' as const) : ('archived' as const),
        },
      ],
    }),
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
  const { matches, ...found } = await searchLog(client, 'c1', 'order o-93', 10);
  expect(found).toEqual({ searched: 4, hasMore: false });
  expect(matches).toMatchObject([
    { seq: 3, role: 'assistant', state: 'live', text: expect.stringContaining('look_up') as string },
    { seq: 2, role: 'user', state: 'archived', text: expect.stringMatching(/^ ?long .*O-93 is late$/s) as string },
  ]);
  expect(await searchLog(client, 'c1', 'o', 1)).toMatchObject({ matches: [{ seq: 4 }], hasMore: true });
});
