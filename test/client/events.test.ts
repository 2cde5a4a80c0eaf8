import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EventOptions, EventOrLoss } from '../../src/client/index.ts';
import { Keyspace } from '../../src/store/keys.ts';
import { type Fixture, openFixture, SHARDS } from './fixture.ts';

const LOOK = { timeout: 60_000, interval: 20 };

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

const newName = (): string => `c.${randomUUID()}`;
const keyOf = (id: string): string => new Keyspace(SHARDS).key({ tenant: '_', id }, 'ev');

/** One event for each turn. */
async function settle(conversation: string, ...turns: string[]): Promise<void> {
  for (const turn of turns) {
    await fixture.client.enqueueTurn({ conversation, agent: 'talker', turn, input: 'hello' });
    await fixture.client.cancel(conversation, turn);
  }
}

async function readAll(conversation: string, options: EventOptions): Promise<EventOrLoss[]> {
  const told: EventOrLoss[] = [];
  for await (const event of fixture.client.events(conversation, { waitMs: 0, ...options })) told.push(event);
  return told;
}

function tell(event: EventOrLoss | undefined): string {
  return event?.type === 'turn_settled' ? event.turn : (event?.type ?? 'nothing');
}

function idOf(event: EventOrLoss | undefined): string {
  if (event === undefined || event.type === 'lost') throw new Error('no event');
  return event.id;
}

async function countChannels(conversation: string): Promise<number> {
  return ((await fixture.redis.pubsub('CHANNELS', `*:ev:${conversation}`)) as string[]).length;
}

/** Follows, and has had its first look: its first event is not there yet. */
async function follow(conversation: string, options?: EventOptions) {
  const events = fixture.client.events(conversation, options)[Symbol.asyncIterator]();
  const first = events.next();
  first.catch(() => undefined);
  await expect.poll(() => countChannels(conversation), LOOK).toBe(1);
  const next = async (promise = events.next()): Promise<string> => tell((await promise).value ?? undefined);
  return { events, first, next };
}

describe('events', () => {
  test('are told in order, in pages, without a loss where all that is kept was asked for, and end where nothing is waited for', async () => {
    const conversation = newName();
    await settle(conversation, 't1', 't2');
    const adding = fixture.redis.pipeline();
    const turns = Array.from({ length: 550 }, (_, index) => `x${index}`);
    for (const turn of turns)
      adding.xadd(keyOf(conversation), '*', 'type', 'turn_settled', 'turn', turn, 'state', 'failed');
    await adding.exec();
    const told = await readAll(conversation, { after: '0' });
    expect(told.map(tell)).toEqual(['t1', 't2', ...turns]);
    expect(told[0]).toEqual({
      id: expect.stringMatching(/^\d+-\d+$/),
      at: Number(idOf(told[0]).split('-')[0]),
      type: 'turn_settled',
      turn: 't1',
      state: 'canceled',
    });
  });

  test('go on behind the one that was handled', async () => {
    const conversation = newName();
    await settle(conversation, 't1', 't2', 't3');
    const [first, , last] = await readAll(conversation, { after: '0' });
    expect((await readAll(conversation, { after: idOf(first) })).map(tell)).toEqual(['t2', 't3']);
    expect(await readAll(conversation, { after: idOf(last) })).toEqual([]);
    await settle(conversation, 't4');
    expect((await readAll(conversation, { after: idOf(last) })).map(tell)).toEqual(['t4']);
  });

  test('come as they are made, only new ones without a place, to all who follow', async () => {
    const conversation = newName();
    await settle(conversation, 'old');
    const [one, other] = [await follow(conversation), await follow(conversation)];
    await settle(conversation, 't1', 't2');
    for (const { first, next } of [one, other]) {
      expect(await next(first)).toBe('t1');
      expect(await next()).toBe('t2');
    }
    const third = one.next();
    await settle(conversation, 't3');
    expect(await third).toBe('t3');
  });

  test('are waited for as long as is said', async () => {
    const conversation = newName();
    await settle(conversation, 't1');
    const told = readAll(conversation, { waitMs: 1_500 });
    await expect.poll(() => countChannels(conversation), LOOK).toBe(1);
    await settle(conversation, 't2');
    expect((await told).map(tell)).toEqual(['t2']);
  });

  test('of a newer program are told with what they hold', async () => {
    const conversation = newName();
    await settle(conversation, 't1');
    await fixture.redis.xadd(keyOf(conversation), '*', 'type', 'moon_rose', 'over', 'the sea');
    expect((await readAll(conversation, { after: '0' })).at(-1)).toMatchObject({
      type: 'unknown',
      name: 'moon_rose',
      fields: { over: 'the sea' },
    });
  });
});

describe('a loss', () => {
  test('is told where events behind a place may be gone, not where all that is kept was asked for', async () => {
    const conversation = newName();
    await settle(conversation, 't1', 't2', 't3');
    const [first] = await readAll(conversation, { after: '0' });
    await fixture.redis.xtrim(keyOf(conversation), 'MAXLEN', 1);
    expect((await readAll(conversation, { after: idOf(first) })).map(tell)).toEqual(['lost', 't3']);
    expect((await readAll(conversation, { after: '0' })).map(tell)).toEqual(['t3']);
  });

  test('is told once to who follows while the conversation is erased and made anew', async () => {
    const conversation = newName();
    await settle(conversation, 't1', 't2');
    const [first] = await readAll(conversation, { after: '0' });
    const { first: second, next } = await follow(conversation);
    await settle(conversation, 't3');
    expect(await next(second)).toBe('t3');
    const third = next();
    await fixture.client.erase(conversation);
    expect(await third).toBe('lost');
    const fourth = next();
    await settle(conversation, 'new');
    expect(await fourth).toBe('new');
    expect((await readAll(conversation, { after: idOf(first) })).map(tell)).toEqual(['lost', 'new']);
  });
});

describe('who no longer follows', () => {
  test('by a signal gets its reason, and is listened for no more', async () => {
    const work = new AbortController();
    const conversation = newName();
    await settle(conversation, 't1');
    const { first, events } = await follow(conversation, { signal: work.signal });
    const reason = new Error('enough');
    work.abort(reason);
    await expect(first).rejects.toBe(reason);
    expect(await events.next()).toEqual({ done: true, value: undefined });
    await expect.poll(() => countChannels(conversation), LOOK).toBe(0);
    const late = fixture.client.events(conversation, { after: '0', signal: work.signal })[Symbol.asyncIterator]();
    await expect(late.next()).rejects.toBe(reason);
  });

  test('by leaving the loop is listened for no more', async () => {
    const conversation = newName();
    await settle(conversation, 't1');
    const { first, events } = await follow(conversation);
    await settle(conversation, 't2');
    await first;
    await events.return?.();
    await expect.poll(() => countChannels(conversation), LOOK).toBe(0);
  });
});

test.each<[string, string, EventOptions]>([
  ['not_found', 'conversation', {}],
  ['not_found', 'conversation', { after: '0' }],
  ['invalid_input', 'after', { after: 'x' }],
  ['invalid_input', 'after', { after: '' }],
  ['invalid_input', 'after', { after: '99999999999999999999-0' }],
  ['invalid_input', 'waitMs', { waitMs: -1 }],
])('%s names %s of %j', async (code, field, options) => {
  await expect(readAll('nobody', options)).rejects.toMatchObject({ code, field });
});
