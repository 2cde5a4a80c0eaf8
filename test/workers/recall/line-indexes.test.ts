import { expect, it } from 'vitest';
import { readRecallQuery } from '../../../src/compaction/recall/recall-query.ts';
import type { ConversationRef } from '../../../src/domain/ids.ts';
import type { SeqRange } from '../../../src/domain/version.ts';
import { LineIndexes } from '../../../src/workers/recall/line-indexes.ts';
import { TestDatabase } from '../../store/test-database.ts';

const { signal } = new AbortController();

/** A store whose reads are recorded, and that writes each message a millisecond after the last. */
async function openLogs(maxBytes?: number) {
  let now = 0;
  const { store } = await TestDatabase.open({ now: () => now });
  const reads: string[] = [];
  const hooks: { onRead?: (read: string) => void } = {};
  const contexts = {
    ...store,
    readLog: async (conversation: ConversationRef, ranges: readonly SeqRange[]) => {
      for (const { from, to } of ranges) {
        const read = `${conversation.id} ${from}-${to}`;
        reads.push(read);
        hooks.onRead?.(read);
      }
      return await store.readLog(conversation, ranges);
    },
  };
  const indexes = new LineIndexes(maxBytes);
  const append = async (id: string, ...texts: string[]): Promise<void> => {
    now += 1;
    const conversation = { tenant: '_', id };
    const { head: expectedHead = 0 } = (await store.readConversation(conversation)) ?? {};
    const messages = texts.map((content) => ({ message: { role: 'user' as const, content }, tokens: 9, bytes: 36 }));
    const request = { operation: `o${now}`, agent: 'guide', expectedHead, opens: [], closes: [] };
    const { status } = await store.append({ ...request, conversation, messages });
    expect(status).toBe('appended');
  };
  const search = async (id: string, query: string, stop = signal): Promise<number[]> => {
    const conversation = { tenant: '_', id };
    const state = await store.readConversation(conversation);
    if (state === undefined) throw new Error('no conversation');
    const { index, segments } = await indexes.open({ contexts, conversation, state }, stop);
    const scope = { from: 1, to: state.head, segments, most: 10 };
    return (await indexes.search(index, readRecallQuery(query), scope)).messages.map(({ seq }) => seq);
  };
  const erase = (id: string) => store.erase({ tenant: '_', id });
  return { append, search, erase, reads, hooks, indexes };
}

it('the recall index of a conversation is kept between searches, and reads only new messages', async () => {
  const { append, search, reads } = await openLogs();
  await append('a', 'heron', 'fox');
  expect(await search('a', 'heron')).toEqual([1]);
  await append('a', 'a heron');
  expect(await search('a', 'heron')).toEqual([3, 1]);
  expect(await search('a', 'fox')).toEqual([2]);
  expect(reads).toEqual(['a 1-2', 'a 2-3', 'a 3-3']);
});

it('the recall index of an erased conversation is not used for a conversation created again under its id', async () => {
  const { append, search, erase } = await openLogs();
  await append('a', 'heron', 'fox', 'owl');
  expect(await search('a', 'heron')).toEqual([1]);
  await erase('a');
  await append('a', 'owl', 'fox', 'heron');
  expect(await search('a', 'heron')).toEqual([3]);
  await erase('a');
  await append('a', 'fox');
  expect(await search('a', 'heron')).toEqual([]);
  expect(await search('a', 'fox')).toEqual([1]);
});

it('parallel recall searches of one conversation build its index once', async () => {
  const { append, search, reads } = await openLogs();
  await append('a', ...Array.from({ length: 40 }, (_, at) => `heron ${at}`));
  const found = await Promise.all(['heron 1', 'heron 2', 'heron 3'].map((query) => search('a', query)));
  expect(found.map(([best]) => best)).toEqual([2, 3, 4]);
  expect(reads.filter((read) => !read.endsWith(' 40-40'))).toEqual(['a 1-4', 'a 5-20', 'a 21-40']);
});

it('a recall search that is stopped leaves a partial index, and the next search completes it', async () => {
  const { append, search, reads, hooks } = await openLogs();
  await append('a', ...Array.from({ length: 40 }, (_, at) => `heron ${at}`));
  const stop = new AbortController();
  hooks.onRead = (read) => read === 'a 5-20' && stop.abort(new Error('lost'));
  const stopped = search('a', 'heron', stop.signal);
  const next = search('a', 'heron 39');
  await expect(stopped).rejects.toThrow('lost');
  expect((await next)[0]).toBe(40);
  expect(reads).toEqual(['a 1-4', 'a 5-20', 'a 20-23', 'a 24-39', 'a 40-40']);
});

it('the recall indexes that were unused for longest are dropped once all indexes together exceed their byte limit', async () => {
  const one = await openLogs();
  await one.append('a', 'heron');
  await one.search('a', 'heron');
  const { append, search, reads, indexes } = await openLogs(Math.ceil(2.5 * one.indexes.bytes));
  for (const id of ['a', 'b', 'c']) await append(id, 'heron');
  for (const id of ['a', 'b', 'a', 'c', 'a', 'b']) expect(await search(id, 'heron')).toEqual([1]);
  expect(reads).toEqual(['a 1-1', 'b 1-1', 'a 1-1', 'c 1-1', 'a 1-1', 'b 1-1']);
  expect(indexes.bytes).toBe(2 * one.indexes.bytes);
});

it('a log that is too large for a recall index is searched only from a later message on', async () => {
  const { append, search } = await openLogs(300_000);
  const words = (from: number) => Array.from({ length: 200 }, (_, at) => `word${from}x${at}`).join(' ');
  await append('a', ...Array.from({ length: 300 }, (_, at) => words(at + 1)));
  expect(await search('a', 'word2x7')).toEqual([]);
  expect(new Set(await search('a', 'word300x7'))).toEqual(new Set([300]));
});
