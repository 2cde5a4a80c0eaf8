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
 * Follows a conversation with one event. Each step changes the store while the follower waits, and the follower ends
 * after the last step.
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
  const ports = { now: () => db.now(), events: openMemoryEventStore(db), notifications: { wait } };
  const received: string[] = [];
  const events = followEvents(ports as unknown as ClientPorts, ref.id, { after: '0', signal: over.signal });
  await expect(
    (async () => {
      for await (const event of events) {
        received.push(event.type === 'turn_settled' ? event.turn : event.type);
        db.advance(slowMs);
      }
    })(),
  ).rejects.toBe(OVER);
  return received;
}

const settle = (turn: string) => (db: MemoryDatabase) =>
  emit(db, db.open(ref, 'agent'), 'turn_settled', { turn, state: 'completed' });
const pass = (hours: number) => (db: MemoryDatabase) => db.advance(hours * HOUR_MS);
const expire = (db: MemoryDatabase): void => {
  db.find(ref)?.events.splice(0);
};
const erase = (db: MemoryDatabase): void => db.remove(ref);

test('a follower of events that has read all events gets no `lost` entry when the last event expires after a day', async () => {
  expect(await follow([pass(23), pass(1.5), expire, settle('t2')])).toEqual(['t1', 't2']);
});

test('a follower of events that has not read for a day gets a `lost` entry (events are missing)', async () => {
  expect(await follow([expire, settle('t2')], 25 * HOUR_MS)).toEqual(['t1', 'lost', 't2']);
  const later = (db: MemoryDatabase): void => {
    pass(25)(db);
    expire(db);
  };
  expect(await follow([later, settle('t2')])).toEqual(['t1', 'lost', 't2']);
});

test('a follower of events gets a `lost` entry if Redis trimmed a burst of events before the follower read them', async () => {
  const burst = (count: number) => (db: MemoryDatabase) => {
    for (let nth = 1; nth <= count; nth += 1) settle('t')(db);
  };
  const begin = (db: MemoryDatabase): void => expire(db);
  expect((await follow([begin, burst(499)])).filter((type) => type === 'lost')).toEqual(['lost']);
  expect((await follow([begin, pass(0), burst(500)])).filter((type) => type === 'lost')).toEqual(['lost', 'lost']);
});

test('a follower of events gets a `lost` entry when its conversation is erased and created again after the events expired', async () => {
  const wasErased = [pass(23), pass(1.5), expire, pass(0), erase, pass(0), settle('t2')];
  expect(await follow(wasErased)).toEqual(['t1', 'lost', 't2']);
});

test('a follower of events gets a `lost` entry if events disappear before they are a day old', async () => {
  expect(await follow([pass(23), expire, settle('t2')])).toEqual(['t1', 'lost', 't2']);
  expect(await follow([pass(25), pass(1), erase, settle('t2')])).toEqual(['t1', 'lost', 't2']);
});
