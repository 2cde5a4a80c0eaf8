import { expect, it } from 'vitest';
import type { WorkerEvent } from '../../src/domain/events.ts';
import { LOST_AFTER_MS } from '../../src/domain/lease.ts';
import type { PresenceStore } from '../../src/store/presence.ts';
import { Presence } from '../../src/workers/presence.ts';
import { openMemoryPresenceStore } from '../store/memory-presence-store.ts';
import { ManualTimers } from './turn/manual-timers.ts';

/** Long enough for a worker to count as gone, and for a new worker to judge others. */
const SOON_MS = 3_000;

function openCrew() {
  const timers = new ManualTimers();
  const events: WorkerEvent[] = [];
  const shared = openMemoryPresenceStore(timers);
  let isAway = false;
  const reach = async <Answer>(call: () => Promise<Answer>): Promise<Answer> => {
    if (isAway) throw new Error('away');
    return await call();
  };
  const store: PresenceStore = {
    renewPresence: (presence) => reach(() => shared.renewPresence(presence)),
    findSilent: () => reach(() => shared.findSilent()),
    removeSilent: (worker) => reach(() => shared.removeSilent(worker)),
    endPresence: (worker) => shared.endPresence(worker),
  };
  /** Workers whose leases were ended. */
  const ended: string[] = [];
  const hire = async (worker: string, endLeases = async (gone: string) => void ended.push(gone)) => {
    const entry = { worker, roles: ['turn'], startedAt: timers.now() };
    const presence = new Presence(entry, { store, timers, clock: timers, onEvent: (event) => events.push(event) });
    await presence.start();
    const watch = timers.every(500, () => presence.watch(endLeases));
    return {
      /** The process ends without a shutdown. */
      die: async () => {
        watch.stop();
        await presence.end();
        await shared.renewPresence(entry);
        shared.disconnect(worker);
      },
      /** The process stops to run, but keeps its connection. */
      freeze: async () => {
        watch.stop();
        await presence.end();
        await shared.renewPresence(entry);
      },
      stop: async () => {
        watch.stop();
        await presence.end();
      },
    };
  };
  const lost = (): string[] => events.flatMap((event) => (event.type === 'worker_lost' ? [event.worker] : []));
  const disconnect = (workers: readonly string[]): void => {
    for (const worker of workers) shared.disconnect(worker);
  };
  const disconnectAll = (): void => disconnect(['a', 'b', 'late']);
  return { timers, hire, lost, ended, events, disconnect, disconnectAll, setAway: (away: boolean) => (isAway = away) };
}

it('the leases of a dead worker end soon, and one other worker reports the dead worker', async () => {
  const { timers, hire, ended, events } = openCrew();
  await hire('a');
  await hire('b');
  const dead = await hire('dead');
  await timers.advance(40_000);
  await dead.die();
  await timers.advance(500);
  expect(ended, 'a worker may connect again').toEqual([]);
  await timers.advance(SOON_MS);
  expect(new Set(ended)).toEqual(new Set(['dead']));
  expect(events).toEqual([{ type: 'worker_lost', worker: 'dead', roles: ['turn'], livedMs: expect.any(Number) }]);
});

it('the leases of a frozen worker do not end early, and another worker reports the frozen worker after 20 s', async () => {
  const { timers, hire, ended, lost } = openCrew();
  await hire('a');
  const frozen = await hire('frozen');
  await timers.advance(LOST_AFTER_MS);
  await frozen.freeze();
  await timers.advance(LOST_AFTER_MS - 1_000);
  expect(lost()).toEqual([]);
  await timers.advance(SOON_MS);
  expect(lost()).toEqual(['frozen']);
  expect(ended).toEqual([]);
});

it('a frozen worker is reported after 20 s although all connections are cut every few seconds', async () => {
  const { timers, hire, ended, lost, disconnectAll } = openCrew();
  await hire('a');
  const frozen = await hire('frozen');
  await timers.advance(LOST_AFTER_MS);
  await frozen.freeze();
  for (let cut = 0; cut < 5; cut += 1) {
    disconnectAll();
    await timers.advance(5_000);
  }
  expect(lost()).toEqual(['frozen']);
  expect(ended).toEqual([]);
});

it('after a short outage of Redis, a worker has ten seconds to connect again before it counts as lost', async () => {
  const { timers, hire, lost, setAway } = openCrew();
  await hire('a');
  const late = await hire('late');
  await timers.advance(2 * LOST_AFTER_MS);
  await late.freeze();
  setAway(true);
  await timers.advance(LOST_AFTER_MS / 2);
  setAway(false);
  await timers.advance(LOST_AFTER_MS / 2 - 500);
  expect(lost()).toEqual([]);
  await timers.advance(SOON_MS);
  expect(lost()).toEqual(['late']);
});

it('a worker does not report another worker as lost after an ordinary stop', async () => {
  const { timers, hire, lost } = openCrew();
  const stopping = await hire('a');
  await hire('b');
  await timers.advance(LOST_AFTER_MS);
  await stopping.stop();
  await timers.advance(3 * LOST_AFTER_MS);
  expect(lost()).toEqual([]);
});

it('a worker finds no other worker gone or lost after an outage of Redis that all workers survived', async () => {
  const { timers, hire, lost, ended, disconnectAll, setAway } = openCrew();
  await hire('a');
  await hire('b');
  await timers.advance(2 * LOST_AFTER_MS);
  setAway(true);
  disconnectAll();
  await timers.advance(3 * LOST_AFTER_MS);
  setAway(false);
  await timers.advance(3 * LOST_AFTER_MS);
  expect(lost()).toEqual([]);
  expect(ended).toEqual([]);
});

it('the leases of a dead worker end soon although all connections are cut every other second', async () => {
  const { timers, hire, ended, disconnectAll } = openCrew();
  await hire('a');
  await hire('b');
  const dead = await hire('dead');
  await timers.advance(40_000);
  await dead.die();
  for (let cut = 0; cut < 2; cut += 1) {
    disconnectAll();
    await timers.advance(1_900);
  }
  expect(new Set(ended)).toEqual(new Set(['dead']));
});

it('after a cut of all connections, a worker has a second to connect again before it counts as dead', async () => {
  const { timers, hire, ended, disconnectAll } = openCrew();
  await hire('a');
  const late = await hire('late');
  await timers.advance(40_000);
  await late.freeze();
  disconnectAll();
  await timers.advance(1_200);
  expect(ended).toEqual([]);
  await timers.advance(SOON_MS);
  expect(ended).toEqual(['late']);
});

it.each([
  ['that cut the connections of all workers', ['a', 'late']],
  ['that cut only the connections of others', ['late']],
])('another cut does not shorten the time in which workers may connect again after an outage %s', async (_, cut) => {
  const { timers, hire, ended, disconnect, setAway } = openCrew();
  await hire('a');
  const late = await hire('late');
  await timers.advance(40_000);
  setAway(true);
  await late.freeze();
  disconnect(cut);
  await timers.advance(10_000);
  setAway(false);
  await timers.advance(600);
  disconnect(['a', 'late']);
  await timers.advance(1_700);
  expect(ended).toEqual([]);
  await timers.advance(SOON_MS);
  expect(ended).toEqual(['late']);
});

it('a worker finds another worker that died during an outage of Redis', async () => {
  const { timers, hire, lost, setAway } = openCrew();
  await hire('a');
  const dead = await hire('dead');
  await dead.freeze();
  setAway(true);
  await timers.advance(LOST_AFTER_MS);
  setAway(false);
  await timers.advance(2 * LOST_AFTER_MS);
  expect(lost()).toEqual(['dead']);
});

it('a worker reports a dead worker only after it has ended the leases of that worker', async () => {
  const { timers, hire, lost } = openCrew();
  let failures = 3;
  await hire('a', async () => {
    failures -= 1;
    if (failures >= 0) throw new Error('a shard did not answer');
  });
  const dead = await hire('dead');
  await timers.advance(SOON_MS);
  await dead.die();
  await timers.advance(2_000);
  expect(lost()).toEqual([]);
  await timers.advance(SOON_MS);
  expect(lost()).toEqual(['dead']);
});

it('a failure to end the leases of one dead worker does not delay the end of another dead worker’s leases', async () => {
  const { timers, hire, lost } = openCrew();
  const ended: string[] = [];
  await hire('a', async (worker) => {
    if (worker === 'first') throw new Error('a shard did not answer');
    ended.push(worker);
  });
  const [first, second] = [await hire('first'), await hire('second')];
  await timers.advance(SOON_MS);
  await first.die();
  await second.die();
  await timers.advance(SOON_MS);
  expect([ended, lost()]).toEqual([['second'], ['second']]);
});

it('a stopping worker waits at most a second for Redis to remove the worker’s entry', async () => {
  const timers = new ManualTimers();
  const store: PresenceStore = {
    renewPresence: async () => false,
    findSilent: async () => [],
    removeSilent: async () => false,
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
