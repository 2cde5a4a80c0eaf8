import { expect, it } from 'vitest';
import type { WorkerEvent } from '../../src/domain/events.ts';
import { LOST_AFTER_MS, type PresenceStore } from '../../src/domain/ports/presence-store.ts';
import { Presence } from '../../src/workers/presence.ts';
import { openMemoryPresenceStore } from '../store/memory-presence-store.ts';
import { ManualTimers } from './turn/manual-timers.ts';

function openCrew() {
  const timers = new ManualTimers();
  const events: WorkerEvent[] = [];
  const shared = openMemoryPresenceStore(timers);
  let isAway = false;
  const store: PresenceStore = {
    renewPresence: async (...call) => {
      if (isAway) throw new Error('away');
      return await shared.renewPresence(...call);
    },
    endPresence: async (presence) => await shared.endPresence(presence),
  };
  const hire = async (worker: string): Promise<Presence> => {
    const entry = { worker, roles: ['turn'], startedAt: timers.now() };
    const presence = new Presence(entry, { store, timers, clock: timers, onEvent: (event) => events.push(event) });
    await presence.start();
    return presence;
  };
  const lost = (): string[] => events.flatMap((event) => (event.type === 'worker_lost' ? [event.worker] : []));
  return { timers, store, hire, lost, events, setAway: (away: boolean) => (isAway = away) };
}

it('a worker reports another worker that died once, and states how long it ran', async () => {
  const { timers, store, hire, lost, events } = openCrew();
  await store.renewPresence({ worker: 'dead', roles: ['compaction'], startedAt: timers.now() - 40_000 });
  await hire('a');
  await hire('b');
  await timers.advance(3 * LOST_AFTER_MS);
  expect(lost()).toEqual(['dead']);
  expect(events).toEqual([{ type: 'worker_lost', worker: 'dead', roles: ['compaction'], livedMs: 40_000 }]);
});

it('a worker does not report another worker as lost after an ordinary stop', async () => {
  const { timers, hire, lost } = openCrew();
  const stopping = await hire('a');
  await hire('b');
  await timers.advance(LOST_AFTER_MS);
  await stopping.end();
  await timers.advance(3 * LOST_AFTER_MS);
  expect(lost()).toEqual([]);
});

it('a worker reports no other worker as lost after an outage of Redis that all workers survived', async () => {
  const { timers, hire, lost, setAway } = openCrew();
  await hire('a');
  await hire('b');
  await timers.advance(2 * LOST_AFTER_MS);
  setAway(true);
  await timers.advance(3 * LOST_AFTER_MS);
  setAway(false);
  await timers.advance(3 * LOST_AFTER_MS);
  expect(lost()).toEqual([]);
});

it('a worker reports another worker as lost if that worker died during an outage of Redis', async () => {
  const { timers, store, hire, lost, setAway } = openCrew();
  await hire('a');
  await store.renewPresence({ worker: 'b', roles: ['turn'], startedAt: timers.now() });
  setAway(true);
  await timers.advance(LOST_AFTER_MS);
  setAway(false);
  await timers.advance(2 * LOST_AFTER_MS);
  expect(lost()).toEqual(['b']);
});

it('a stopping worker waits at most a second for Redis to remove the worker’s entry', async () => {
  const timers = new ManualTimers();
  const store: PresenceStore = {
    renewPresence: async () => [],
    endPresence: () => new Promise(() => undefined),
  };
  const entry = { worker: 'a', roles: ['turn'], startedAt: timers.now() };
  const presence = new Presence(entry, { store, timers, clock: timers, onEvent: () => undefined });
  await presence.start();
  const ended = presence.end();
  await timers.advance(1_000);
  await ended;
  expect(timers.pending).toBe(0);
});
