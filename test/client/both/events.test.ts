import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EventOptions, EventOrLoss } from '../../../src/api/client/index.ts';
import { Keyspace } from '../../../src/store/keys.ts';
import { type Fixture, openFixture, SHARDS } from '../fixture.ts';

const POLL = { timeout: 60_000, interval: 20 };

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

const newName = (): string => `c.${randomUUID()}`;
const keyOf = (id: string): string => new Keyspace(SHARDS).key({ tenant: '_', id }, 'ev');

/** Makes one event per turn: the turn is canceled. */
async function settle(conversation: string, ...turns: string[]): Promise<void> {
  for (const turn of turns) {
    await fixture.client.enqueueTurn({ conversation, agent: 'talker', turn, input: 'hello' });
    await fixture.client.cancel(conversation, turn);
  }
}

async function readAll(conversation: string, options: EventOptions): Promise<EventOrLoss[]> {
  const received: EventOrLoss[] = [];
  for await (const event of fixture.client.events(conversation, { waitMs: 0, ...options })) received.push(event);
  return received;
}

function nameOf(event: EventOrLoss | undefined): string {
  return event?.type === 'turn_settled' ? event.turn : (event?.type ?? 'nothing');
}

function idOf(event: EventOrLoss | undefined): string {
  if (event === undefined || event.type === 'lost') throw new Error('no event');
  return event.id;
}

async function countChannels(conversation: string): Promise<number> {
  return ((await fixture.redis.pubsub('CHANNELS', `*:ev:${conversation}`)) as string[]).length;
}

/** Follows a conversation, and returns once the follower waits for its first event. */
async function follow(conversation: string, options?: EventOptions) {
  const events = fixture.client.events(conversation, options)[Symbol.asyncIterator]();
  const first = events.next();
  first.catch(() => undefined);
  await expect.poll(() => countChannels(conversation), POLL).toBe(1);
  const next = async (promise = events.next()): Promise<string> => nameOf((await promise).value ?? undefined);
  return { events, first, next };
}

describe('events', () => {
  test('events are returned in order and in pages, and end at once with waitMs 0', async () => {
    const conversation = newName();
    await settle(conversation, 't1', 't2');
    const adding = fixture.redis.pipeline();
    const turns = Array.from({ length: 550 }, (_, index) => `x${index}`);
    for (const turn of turns)
      adding.xadd(keyOf(conversation), '*', 'type', 'turn_settled', 'turn', turn, 'state', 'failed');
    await adding.exec();
    const received = await readAll(conversation, { after: '0' });
    expect(received.map(nameOf)).toEqual(['t1', 't2', ...turns]);
    expect(received[0]).toEqual({
      id: expect.stringMatching(/^\d+-\d+$/),
      at: Number(idOf(received[0]).split('-')[0]),
      type: 'turn_settled',
      turn: 't1',
      state: 'canceled',
    });
  });

  test('events continues after the event whose id is passed as `after`', async () => {
    const conversation = newName();
    await settle(conversation, 't1', 't2', 't3');
    const [first, , last] = await readAll(conversation, { after: '0' });
    expect((await readAll(conversation, { after: idOf(first) })).map(nameOf)).toEqual(['t2', 't3']);
    expect(await readAll(conversation, { after: idOf(last) })).toEqual([]);
    await settle(conversation, 't4');
    expect((await readAll(conversation, { after: idOf(last) })).map(nameOf)).toEqual(['t4']);
  });

  test('every caller of events receives each event when it happens', async () => {
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

  test('events waits up to waitMs for new events', async () => {
    const conversation = newName();
    await settle(conversation, 't1');
    const { first, next } = await follow(conversation, { waitMs: 60_000 });
    await settle(conversation, 't2');
    expect(await next(first)).toBe('t2');
    expect(await readAll(conversation, { waitMs: 50 })).toEqual([]);
  });

  test('events of a type that only a newer turnfold knows are returned with their fields', async () => {
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

describe('a `lost` entry', () => {
  test('events yields a `lost` entry where events may be missing, but not if the caller starts with the oldest kept event', async () => {
    const conversation = newName();
    await settle(conversation, 't1', 't2', 't3');
    const [first] = await readAll(conversation, { after: '0' });
    await fixture.redis.xtrim(keyOf(conversation), 'MAXLEN', 1);
    expect((await readAll(conversation, { after: idOf(first) })).map(nameOf)).toEqual(['lost', 't3']);
    expect((await readAll(conversation, { after: '0' })).map(nameOf)).toEqual(['t3']);
  });

  test('events yields one `lost` entry when the conversation is erased and created again', async () => {
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
    expect((await readAll(conversation, { after: idOf(first) })).map(nameOf)).toEqual(['lost', 'new']);
  });
});

describe('a follower of events that ends', () => {
  test('a follower of events that is aborted throws the reason and unsubscribes', async () => {
    const work = new AbortController();
    const conversation = newName();
    await settle(conversation, 't1');
    const { first, events } = await follow(conversation, { signal: work.signal });
    const reason = new Error('enough');
    work.abort(reason);
    await expect(first).rejects.toBe(reason);
    expect(await events.next()).toEqual({ done: true, value: undefined });
    await expect.poll(() => countChannels(conversation), POLL).toBe(0);
    const late = fixture.client.events(conversation, { after: '0', signal: work.signal })[Symbol.asyncIterator]();
    await expect(late.next()).rejects.toBe(reason);
  });

  test('a follower of events that leaves the loop unsubscribes', async () => {
    const conversation = newName();
    await settle(conversation, 't1');
    const { first, events } = await follow(conversation);
    await settle(conversation, 't2');
    await first;
    await events.return?.();
    await expect.poll(() => countChannels(conversation), POLL).toBe(0);
  });
});

test.each<[string, string, EventOptions]>([
  ['not_found', 'conversation', {}],
  ['not_found', 'conversation', { after: '0' }],
  ['invalid_input', 'after', { after: 'x' }],
  ['invalid_input', 'after', { after: '' }],
  ['invalid_input', 'after', { after: '99999999999999999999-0' }],
  ['invalid_input', 'waitMs', { waitMs: -1 }],
])('events fails with %s and the error names the field %s: %j', async (code, field, options) => {
  await expect(readAll('nobody', options)).rejects.toMatchObject({ code, field });
});
