import { expect, test } from 'vitest';
import { followEvents } from '../../src/client/events.ts';
import type { ClientPorts } from '../../src/client/ports.ts';
import { MemoryDatabase } from '../../src/memory-store/database.ts';
import { openMemoryEventStore } from '../../src/memory-store/event-store.ts';
import { emit } from '../../src/memory-store/mailbox.ts';

const HOUR_MS = 3_600_000;
const OVER = new Error('over');
const ref = { tenant: '_', id: 'c1' };

/**
 * Follows a conversation with one event, in a world in which each step is what happens while the follower waits for the
 * next; where there is none, it ends. @param slowMs how long the follower takes over an event
 */
async function follow(steps: readonly ((db: MemoryDatabase) => void)[], slowMs = 0): Promise<string[]> {
  const db = new MemoryDatabase(() => 1_000_000_000_000);
  settle('t1')(db);
  const left = [...steps];
  const over = new AbortController();
  const wait = async (): Promise<void> => {
    const step = left.shift();
    if (step === undefined) over.abort(OVER);
    else step(db);
  };
  const ports = { now: () => db.now(), events: openMemoryEventStore(db), notices: { wait } };
  const told: string[] = [];
  const events = followEvents(ports as unknown as ClientPorts, ref.id, { after: '0', signal: over.signal });
  await expect(
    (async () => {
      for await (const event of events) {
        told.push(event.type === 'turn_settled' ? event.turn : event.type);
        db.advance(slowMs);
      }
    })(),
  ).rejects.toBe(OVER);
  return told;
}

const settle = (turn: string) => (db: MemoryDatabase) =>
  emit(db, db.open(ref, 'agent'), 'turn_settled', { turn, state: 'completed' });
const pass = (hours: number) => (db: MemoryDatabase) => db.advance(hours * HOUR_MS);
const expire = (db: MemoryDatabase): void => {
  db.find(ref)?.events.splice(0);
};
const erase = (db: MemoryDatabase): void => db.remove(ref);

test('who has read all misses nothing where a day without an event takes the last one away', async () => {
  expect(await follow([pass(23), pass(1.5), expire, settle('t2')])).toEqual(['t1', 't2']);
});

test('who has not looked for a day cannot know', async () => {
  expect(await follow([expire, settle('t2')], 25 * HOUR_MS)).toEqual(['t1', 'lost', 't2']);
  const later = (db: MemoryDatabase): void => {
    pass(25)(db);
    expire(db);
  };
  expect(await follow([later, settle('t2')])).toEqual(['t1', 'lost', 't2']);
});

test('who began before the first event is told where so many came at once that some were trimmed', async () => {
  const burst = (count: number) => (db: MemoryDatabase) => {
    for (let nth = 1; nth <= count; nth += 1) settle('t')(db);
  };
  const begin = (db: MemoryDatabase): void => expire(db);
  expect((await follow([begin, burst(499)])).filter((told) => told === 'lost')).toEqual(['lost']);
  expect((await follow([begin, pass(0), burst(500)])).filter((told) => told === 'lost')).toEqual(['lost', 'lost']);
});

/** A world in which nothing happens. @returns `waits` resolves once the follower waits */
function openLongWait(): { ports: ClientPorts; waits: Promise<void> } {
  const { promise: waits, resolve: tell } = Promise.withResolvers<void>();
  const wait = (_: unknown, _ms: number, signal?: AbortSignal): Promise<void> => {
    tell();
    return new Promise((resolve) => signal?.addEventListener('abort', () => resolve()));
  };
  const db = new MemoryDatabase();
  settle('t1')(db);
  const ports = { now: () => db.now(), events: openMemoryEventStore(db), notices: { wait } };
  return { ports: ports as unknown as ClientPorts, waits };
}

test('an abort ends the wait under way, however long that is', async () => {
  const work = new AbortController();
  const { ports, waits } = openLongWait();
  const next = followEvents(ports, ref.id, { signal: work.signal }).next();
  await waits;
  work.abort(OVER);
  await expect(next).rejects.toBe(OVER);
});

test('who leaves while nothing happens is let go at once', async () => {
  const { ports, waits } = openLongWait();
  const events = followEvents(ports, ref.id);
  const next = events.next();
  await waits;
  await events.return();
  expect(await next).toEqual({ done: true, value: undefined });
});

test('what was made anew is told of, though nothing had been there to be missed', async () => {
  const wasErased = [pass(23), pass(1.5), expire, pass(0), erase, pass(0), settle('t2')];
  expect(await follow(wasErased)).toEqual(['t1', 'lost', 't2']);
});

test('what goes before its time was not taken by time', async () => {
  expect(await follow([pass(23), expire, settle('t2')])).toEqual(['t1', 'lost', 't2']);
  expect(await follow([pass(25), pass(1), erase, settle('t2')])).toEqual(['t1', 'lost', 't2']);
});
