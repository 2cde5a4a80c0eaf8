import { expect, test } from 'vitest';
import { eventMethods } from '../../src/api/client/events.ts';
import type { ClientPorts } from '../../src/api/client/ports.ts';
import { turnFor } from '../store/samples.ts';
import { TestDatabase } from '../store/test-database.ts';

const HOUR_MS = 3_600_000;
const OVER = new Error('over');
const ref = { tenant: '_', id: 'c1' };

/** Changes the store. */
type Step = (db: TestDatabase) => Promise<unknown>;

/**
 * Follows a conversation with one event. Each step changes the store while the follower waits, and the follower ends
 * after the last step.
 */
async function follow(steps: readonly Step[], slowMs = 0): Promise<string[]> {
  const db = await TestDatabase.open({ now: () => 1_000_000_000_000 });
  await settle('t1')(db);
  const left = [...steps];
  const over = new AbortController();
  const wait = async (): Promise<void> => {
    const step = left.shift();
    if (step === undefined) over.abort(OVER);
    else await step(db);
  };
  const ports = { now: () => db.now(), events: db.store, notifications: { wait } };
  const received: string[] = [];
  const events = eventMethods.events(ports as unknown as ClientPorts, ref.id, { after: '0', signal: over.signal });
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

const settle =
  (turn: string): Step =>
  async ({ store }) => {
    await store.accept(turnFor(ref, turn));
    await store.cancel(ref, turn, `wake of ${turn}`);
  };
/** Events expire a day after the last one. */
const pass =
  (hours: number): Step =>
  async (db) =>
    db.advance(hours * HOUR_MS);
const lose: Step = async (db) => db.run('DEL', db.keyspace.key(ref, 'ev'));
const erase: Step = ({ store }) => store.erase(ref);

test('a follower of events that has read all events gets no `lost` entry when the last event expires after a day', async () => {
  expect(await follow([pass(23), pass(1.5), settle('t2')])).toEqual(['t1', 't2']);
});

test('a follower of events that has not read for a day gets a `lost` entry (events are missing)', async () => {
  expect(await follow([pass(0), settle('t2')], 25 * HOUR_MS)).toEqual(['t1', 'lost', 't2']);
  expect(await follow([pass(25), settle('t2')])).toEqual(['t1', 'lost', 't2']);
});

test('a follower of events gets a `lost` entry if Redis trimmed a burst of events before the follower read them', async () => {
  const burst =
    (count: number): Step =>
    async (db) => {
      for (let nth = 1; nth <= count; nth += 1) await settle(`burst-${nth}`)(db);
    };
  expect((await follow([lose, burst(499)])).filter((type) => type === 'lost')).toEqual(['lost']);
  expect((await follow([lose, pass(0), burst(500)])).filter((type) => type === 'lost')).toEqual(['lost', 'lost']);
});

test('a follower of events gets a `lost` entry when its conversation is erased and created again after the events expired', async () => {
  const wasErased = [pass(23), pass(1.5), pass(0), erase, pass(0), settle('t2')];
  expect(await follow(wasErased)).toEqual(['t1', 'lost', 't2']);
});

test('a follower of events gets a `lost` entry if events disappear before they are a day old', async () => {
  expect(await follow([pass(23), lose, settle('t2')])).toEqual(['t1', 'lost', 't2']);
  expect(await follow([pass(12), pass(1), erase, settle('t2')])).toEqual(['t1', 'lost', 't2']);
});
