import { describe, expect, test, vi } from 'vitest';
import { openSuiteStore } from './open-redis.ts';
import { newConversation, turnFor } from './samples.ts';

const { redis, keyspace, store } = openSuiteStore();

describe('unsettled turns in Redis', () => {
  test('listOpen lists a scheduled turn once if the turn becomes due while listOpen reads', async () => {
    const conversation = newConversation();
    for (const turn of ['due', 'later']) await store.accept(turnFor(conversation, turn, { delayMs: 60_000 }));
    await store.accept(turnFor(conversation, 'first'));
    const scan = redis.zscan.bind(redis) as (...args: unknown[]) => Promise<[string, string[]]>;
    const spied = vi.spyOn(redis, 'zscan').mockImplementationOnce(async (...args: unknown[]) => {
      const page = await scan(...args);
      await redis.hset(keyspace.turn(conversation, 'due'), 'dueAt', 1);
      await store.promoteScheduled(conversation, 'due', 'w');
      return page;
    });
    const open = await store.listOpen(conversation, 100);
    expect(spied).toHaveBeenCalledOnce();
    expect(open?.turns.map(({ turn, state }) => `${turn} ${state}`)).toEqual([
      'first queued',
      'due queued',
      'later scheduled',
    ]);
    expect(open).toMatchObject({ mailbox: 2, scheduled: 1 });
    expect(open?.turns[1]).not.toHaveProperty('dueAt');
  });

  test('listOpen finds a conversation’s scheduled turns among 3,000 entries of other conversations', async () => {
    const conversation = newConversation();
    const ready = keyspace.ready(keyspace.shardOf(conversation));
    const others = Array.from({ length: 3_000 }, (_, index) => [Date.now() + index, `d|_|other|t${index}`]).flat();
    await redis.zadd(ready, ...others);
    const turns = ['a', 'b', 'c'];
    for (const [at, turn] of turns.entries()) {
      await store.accept(turnFor(conversation, turn, { delayMs: 60_000 * (turns.length - at) }));
    }
    const open = await store.listOpen(conversation, 100);
    expect(open?.turns.map(({ turn }) => turn)).toEqual(['c', 'b', 'a']);
    await redis.unlink(ready);
  });
});
