import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { TurnfoldError } from '../../src/domain/errors.ts';
import type { DueEntry } from '../../src/store/due-work.ts';
import { type ShardSweep, type ShardSweepPorts, ShardSweeps } from '../../src/store/shard-sweeps.ts';

const SILENT_MS = 20;

/**
 * Simulated shards that reply when the test says so. A shard that is full replies with the entry that `room` returns.
 */
function openShards(
  room: (shard: number) => DueEntry[] = () => [],
  isDue: ShardSweepPorts['isDue'] = async () => true,
  count = 3,
  silentMs = SILENT_MS,
) {
  const asked: number[] = [];
  const answers = new Map<number, PromiseWithResolvers<ShardSweep>>();
  const makeRoom = async (shard: number): Promise<ShardSweep> => ({ due: room(shard), setAside: [] });
  const sweep = (shard: number): Promise<ShardSweep> => {
    asked.push(shard);
    const answer = Promise.withResolvers<ShardSweep>();
    answers.set(shard, answer);
    return answer.promise;
  };
  const lapse = sweep;
  const sweeps = new ShardSweeps({ sweep, makeRoom, isDue, lapse }, silentMs);
  const look = () => sweeps.sweep([0, 1, 2], 100);
  const answer = (shard: number, due = [entryOf(`c${shard}`)]): void =>
    answers.get(shard)?.resolve({ due, setAside: [] });
  const fail = (shard: number, error: Error): void => answers.get(shard)?.reject(error);
  const lookForDue = () =>
    sweeps.sweepDue(
      Array.from({ length: count }, (_, shard) => shard),
      0,
      100,
    );
  const endLeases = () => sweeps.lapse([0, 1, 2], 'worker');
  return { asked, look, lookForDue, endLeases, answer, fail };
}

const entryOf = (id: string): DueEntry => ({ kind: 'turn', conversation: { tenant: '_', id } });
const FULL = new TurnfoldError('redis_full', 'full');
const AWAY = new TurnfoldError('redis_unavailable', 'away');

test('a sweep does not wait for a silent shard: it returns the entries of other shards, and a later sweep returns the late reply', async () => {
  const { asked, look, answer } = openShards();
  const first = look();
  answer(0);
  answer(1);
  expect(await first).toEqual({ due: [entryOf('c0'), entryOf('c1')], quarantined: [] });
  const second = look();
  expect(asked, 'and it is not asked again meanwhile').toEqual([0, 1, 2, 0, 1]);
  answer(2);
  answer(0);
  expect(await second, 'shard 1 is silent now').toEqual({ due: [entryOf('c2'), entryOf('c0')], quarantined: [] });
  void look();
  expect(asked.slice(5)).toEqual([0, 2]);
});

test('a sweep reports a failed shard once, and still returns the entries of the other shards', async () => {
  const { look, answer, fail } = openShards();
  const first = look();
  fail(0, AWAY);
  fail(1, AWAY);
  answer(2);
  expect(await first).toEqual({ due: [entryOf('c2')], quarantined: [], failure: AWAY });
  const second = look();
  for (const shard of [0, 1, 2]) answer(shard);
  expect(await second).toEqual({ due: ['c0', 'c1', 'c2'].map(entryOf), quarantined: [] });
});

async function sweepRounds(rounds: number, isDue: ShardSweepPorts['isDue']): Promise<readonly number[]> {
  // Every shard answers, so a pause of this process may not look like silence.
  const { asked, lookForDue, answer } = openShards(undefined, isDue, 12, 60_000);
  for (let round = 1; round <= rounds; round += 1) {
    const sweep = lookForDue();
    await setImmediate();
    for (const shard of asked) answer(shard);
    await sweep;
  }
  return asked;
}

test('in 64 sweeps, a shard with due work is swept each time, and each other shard once', async () => {
  const asked = await sweepRounds(64, async (shard, _, list) => shard === 1 && list === 'ready');
  const counts = Array.from({ length: 12 }, (_, shard) => asked.filter((one) => one === shard).length);
  expect(counts).toEqual([1, 64, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
});

test('four sweeps of due shards find an idle conversation in any shard', async () => {
  for (const idle of [0, 1, 2, 3, 11]) {
    const asked = await sweepRounds(4, async (shard, _, list) => shard === idle && list === 'idle');
    expect(asked).toContain(idle);
  }
});

test('a sweep of a shard whose Redis is full returns only its idle conversations', async () => {
  const { look, answer, fail } = openShards((shard) => [entryOf(`room-${shard}`)]);
  const sweep = look();
  fail(0, FULL);
  answer(1);
  answer(2);
  expect(await sweep).toEqual({ due: [entryOf('c1'), entryOf('c2'), entryOf('room-0')], quarantined: [] });
});

test('a sweep reports a full Redis once if no idle conversation can be erased', async () => {
  const { look, answer, fail } = openShards();
  const first = look();
  fail(0, FULL);
  for (const shard of [1, 2]) answer(shard, []);
  expect(await first).toEqual({ due: [], quarantined: [], failure: FULL });
  const second = look();
  for (const shard of [0, 1, 2]) answer(shard, []);
  expect(await second).toEqual({ due: [], quarantined: [] });
});

test('the leases of a dead worker end in the shards that answer, and a failed or silent shard is reported', async () => {
  const { endLeases, answer, fail } = openShards();
  const ended = endLeases();
  answer(0);
  fail(1, new Error('WRONGTYPE'));
  expect(await ended).toEqual({
    due: [entryOf('c0')],
    quarantined: [],
    failure: new Error('WRONGTYPE'),
  });
  const later = endLeases();
  for (const shard of [0, 1]) answer(shard);
  expect(await later, 'the third is silent').toMatchObject({
    due: [entryOf('c0'), entryOf('c1')],
    failure: { code: 'redis_unavailable' },
  });
});

test('the script that ends leases is not sent to a silent shard twice, because the second script would run late', async () => {
  const { asked, endLeases, answer } = openShards();
  const [first, second] = [endLeases(), endLeases()];
  expect(asked).toEqual([0, 1, 2]);
  for (const shard of [0, 1, 2]) answer(shard);
  expect((await first).due).toHaveLength(3);
  expect(await second).toMatchObject({ due: [], failure: { code: 'redis_unavailable' } });
  void endLeases();
  expect(asked.slice(3), 'after the replies').toEqual([0, 1, 2]);
});
