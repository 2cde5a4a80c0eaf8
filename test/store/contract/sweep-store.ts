import { expect, test } from 'vitest';
import { NO_BACKOFF } from '../../../src/domain/conversation.ts';
import type { ConversationRef } from '../../../src/domain/ids.ts';
import type { DueEntry, SweepDecision } from '../../../src/store/due-work.ts';
import { claimPass, waitForPass } from '../pass-samples.ts';
import { acceptAndClaim, newConversation, turnFor } from '../samples.ts';
import type { Given } from './fixture.ts';

/** Milliseconds that may pass between a write and the test's reading of it. */
const SLACK_MS = 2_000;

function expectAbout(actual: number, ms: number): void {
  expect(actual).toBeGreaterThan(ms - SLACK_MS);
  expect(actual).toBeLessThanOrEqual(ms);
}

export function describeSweepStore(given: Given): void {
  /** Sweeps every shard once, as if the last sweep were long ago. */
  async function sweep(limit = 100): Promise<readonly DueEntry[]> {
    const { store, shards, allowSweep } = given.harness();
    await allowSweep();
    return (await store.sweepShards(shards, limit)).due;
  }

  /**
   * Sweeps while an entry is overdue.
   * @returns milliseconds until it is due again
   */
  async function pushOut(conversation: ConversationRef, entry: 't' | 'p'): Promise<number> {
    const { makeOverdue, dueIn } = given.harness();
    await makeOverdue(conversation, entry, 1);
    await sweep();
    return (await dueIn(conversation, entry)) ?? 0;
  }

  test('a sweep returns all turns, compaction passes and idle conversations that are due, and nothing else', async () => {
    const { store, makeOverdue, conversation } = await given.log();
    await store.accept(turnFor(conversation, 't1'));
    await store.requestPass({ conversation, reasons: [], passId: 'p', wake: 'w' });
    await store.accept(turnFor(conversation, 'later', { delayMs: 60_000 }));
    expect(await sweep(), 'nothing is due yet').toEqual([]);
    await makeOverdue(conversation, 't', 30_000);
    await makeOverdue(conversation, 'p', 20_000);
    await makeOverdue(conversation, { scheduled: 'later' }, 10_000);
    expect(await sweep()).toEqual([
      { kind: 'turn', conversation },
      { kind: 'pass', conversation },
      { kind: 'scheduled', conversation, turn: 'later' },
    ]);
    expect(await sweep(), 'each was pushed out').toEqual([]);
  });

  test('a shard is swept once a second, even if many workers sweep', async () => {
    const { store, shards, makeOverdue, allowSweep, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1'));
    await allowSweep();
    await store.sweepShards(shards, 100);
    await makeOverdue(conversation, 't', 1);
    expect(await store.sweepShards(shards, 100)).toEqual({ due: [], quarantined: [] });
    expect(await sweep()).toEqual([{ kind: 'turn', conversation }]);
  });

  test('one worker at a time has the lease to sweep, until the lease is given back', async () => {
    const { store } = given.nothing();
    expect(await store.holdSweeping('a', 60_000)).toEqual(expect.any(Number));
    expect(await store.holdSweeping('b', 60_000)).toBeUndefined();
    expect(await store.holdSweeping('a', 60_000), 'renewed').toEqual(expect.any(Number));
    await store.holdSweeping('a', 0);
    expect(await store.holdSweeping('b', 60_000)).toEqual(expect.any(Number));
    await store.holdSweeping('b', 0);
  });

  test('a sweep of due shards returns the due turns and passes of these shards', async () => {
    const { store, makeOverdue, allowSweep, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1'));
    const sweepDue = async (): Promise<readonly DueEntry[]> => {
      const now = (await store.holdSweeping('a', 60_000)) ?? 0;
      await allowSweep();
      return (await store.sweepDue(now, 100)).due;
    };
    expect(await sweepDue(), 'nothing is due yet').toEqual([]);
    await makeOverdue(conversation, 't', 1);
    expect(await sweepDue()).toEqual([{ kind: 'turn', conversation }]);
    expect(await sweepDue(), 'it was pushed out').toEqual([]);
    await store.holdSweeping('a', 0);
  });

  test('each sweep that returns a turn or pass doubles the delay of its next return, up to 60 s, until a claim', async () => {
    const { store, lapseLease, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1'));
    await store.requestPass({ conversation, reasons: [], passId: 'p', wake: 'w' });
    for (const entry of ['t', 'p'] as const) {
      const pushes: number[] = [];
      for (let sweeps = 0; sweeps < 8; sweeps += 1) pushes.push(await pushOut(conversation, entry));
      expect(pushes.map((ms) => Math.ceil(ms / 1_000))).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    }
    await store.claim(conversation, 'o', 'w');
    await store.claimPass(conversation, 'o', 'job', 'w');
    for (const kind of ['turn', 'pass'] as const) await lapseLease(kind, conversation);
    for (const entry of ['t', 'p'] as const) expectAbout(await pushOut(conversation, entry), 1_000);
  });

  test('a sweep returns at most `limit` entries of due work, the longest overdue first', async () => {
    const { store, shards, makeOverdue, allowSweep, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 'a', { delayMs: 60_000 }));
    await store.accept(turnFor(conversation, 'b', { delayMs: 60_000 }));
    await makeOverdue(conversation, { scheduled: 'a' }, 10_000);
    await makeOverdue(conversation, { scheduled: 'b' }, 20_000);
    await allowSweep();
    const { due } = await store.sweepShards(shards, 1);
    expect(due).toEqual([{ kind: 'scheduled', conversation, turn: 'b' }]);
    expect(await sweep(1)).toEqual([{ kind: 'scheduled', conversation, turn: 'a' }]);
  });

  test('a sweep removes the entry of a turn or pass that does not exist, and writes nothing else', async () => {
    const { store, makeOverdue, dueIn, conversation } = given.nothing();
    const entries = ['t', 'p', { scheduled: 'x' }] as const;
    for (const entry of entries) await makeOverdue(conversation, entry, 1);
    expect(await sweep()).toEqual([]);
    for (const entry of entries) expect(await dueIn(conversation, entry)).toBeUndefined();
    expect(await store.readConversation(conversation)).toBeUndefined();
  });

  test('inspectTurn and inspectPass return the queue job that was requested last (the wake) if no worker has the lease', async () => {
    const { store, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1', { wake: 'w1' }));
    await store.requestPass({ conversation, reasons: [], passId: 'p', wake: 'w2' });
    expect(await store.inspectTurn(conversation)).toEqual({ status: 'lapsed', hadWorker: false, recordedWake: 'w1' });
    expect(await store.inspectPass(conversation)).toEqual({ status: 'lapsed', hadWorker: false, recordedWake: 'w2' });
  });

  test('inspectTurn and inspectPass report quiet while a worker has the lease, and lapsed once the lease has ended', async () => {
    const { store, makeOverdue, dueIn, lapseLease, conversation } = given.nothing();
    await acceptAndClaim(store, conversation, 't1');
    await claimPass(store, conversation);
    for (const [kind, entry] of [
      ['turn', 't'],
      ['pass', 'p'],
    ] as const) {
      const inspect = (ref: ConversationRef): Promise<SweepDecision> =>
        kind === 'turn' ? store.inspectTurn(ref) : store.inspectPass(ref);
      await makeOverdue(conversation, entry, 1);
      expect(await inspect(conversation)).toEqual({ status: 'quiet' });
      expectAbout((await dueIn(conversation, entry)) ?? 0, 8_000);
      await lapseLease(kind, conversation);
      expect(await inspect(conversation)).toMatchObject({ status: 'lapsed', hadWorker: true });
    }
  });

  test('inspectTurn replies quiet for a waiting turn until its deadline', async () => {
    const { store, makeOverdue, dueIn, passDeadline, conversation } = given.nothing();
    await waitForPass(store, conversation, 't1');
    await makeOverdue(conversation, 't', 1);
    expect(await store.inspectTurn(conversation)).toEqual({ status: 'quiet' });
    expect(await dueIn(conversation, 't')).toBeGreaterThan(86_000_000);
    expect(await store.recordWake({ kind: 'turn', conversation }, 'w')).toBe(false);
    await passDeadline(conversation, 't1');
    expect(await store.inspectTurn(conversation)).toMatchObject({ status: 'lapsed' });
    expect(await store.recordWake({ kind: 'turn', conversation }, 'w')).toBe(true);
  });

  test('inspectPass replies quiet for a pass that waits for its child jobs, until its deadline', async () => {
    const { store, endParking, conversation, lease } = await given.pass();
    await store.parkPass(lease, 'parent', 60_000);
    expect(await store.inspectPass(conversation)).toEqual({ status: 'quiet' });
    await endParking(conversation);
    expect(await store.inspectPass(conversation)).toMatchObject({ status: 'lapsed' });
  });

  test('a sweep returns a compaction pass whose worker died, even if no turn waits for the pass', async () => {
    const { store, lapseLease, makeOverdue, conversation } = await given.log();
    await claimPass(store, conversation);
    await lapseLease('pass', conversation);
    await makeOverdue(conversation, 'p', 1);
    expect(await sweep()).toEqual([{ kind: 'pass', conversation }]);
    expect(await store.inspectPass(conversation)).toMatchObject({ status: 'lapsed' });
    expect(await store.recordWake({ kind: 'pass', conversation }, 'w9')).toBe(true);
    expect(await store.inspectPass(conversation)).toEqual({ status: 'lapsed', hadWorker: true, recordedWake: 'w9' });
    expect(await store.claimPass(conversation, 'o', 'w9', 'w')).toMatchObject({ pass: { attempt: 2 } });
  });

  test('inspectTurn and inspectPass remove the sweeper’s entry of a conversation that has no open work or was erased', async () => {
    const { store, makeOverdue, dueIn, markGone, conversation } = await given.log();
    for (const entry of ['t', 'p'] as const) await makeOverdue(conversation, entry, 1);
    expect(await store.inspectTurn(conversation)).toEqual({ status: 'quiet' });
    expect(await store.inspectPass(conversation)).toEqual({ status: 'quiet' });
    for (const entry of ['t', 'p'] as const) expect(await dueIn(conversation, entry)).toBeUndefined();
    await store.accept(turnFor(conversation, 't1'));
    await markGone(conversation);
    expect(await store.inspectTurn(conversation)).toEqual({ status: 'quiet' });
    expect(await store.recordWake({ kind: 'turn', conversation }, 'w')).toBe(false);
  });

  test('recordWake records the requested queue job (the wake), and the sweeper’s entry keeps the due time that the sweep gave it', async () => {
    const { store, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1'));
    await pushOut(conversation, 't');
    expectAbout(await pushOut(conversation, 't'), 2_000);
    for (let sent = 0; sent < 2; sent += 1) {
      expect(await store.recordWake({ kind: 'turn', conversation }, 'w9')).toBe(true);
      expect(await store.inspectTurn(conversation)).toEqual({ status: 'lapsed', hadWorker: false, recordedWake: 'w9' });
    }
    expectAbout((await given.harness().dueIn(conversation, 't')) ?? 0, 2_000);
  });

  test('recordWake records no wake for a turn or pass while a worker has its lease', async () => {
    const { store, conversation } = given.nothing();
    await acceptAndClaim(store, conversation, 't1');
    await claimPass(store, conversation);
    expect(await store.recordWake({ kind: 'turn', conversation }, 'w')).toBe(false);
    expect(await store.recordWake({ kind: 'pass', conversation }, 'w')).toBe(false);
    expect(await store.recordWake({ kind: 'scheduled', conversation, turn: 't1' }, 'w')).toBe(false);
  });

  test('promoteScheduled moves a due scheduled turn to the mailbox’s end, and asks for a queue job if the mailbox was empty', async () => {
    const { store, passDueTime, dueIn, conversation } = given.nothing();
    for (const turn of ['a', 'b']) {
      await store.accept(turnFor(conversation, turn, { delayMs: 60_000 }));
      await passDueTime(conversation, turn);
    }
    for (let sent = 0; sent < 2; sent += 1) {
      expect(await store.promoteScheduled(conversation, 'a', 'w1'), 'I5').toEqual({ needsWake: true });
      expect(await store.readTurn(conversation, 'a')).toMatchObject({ state: 'queued' });
    }
    expect(await store.inspectTurn(conversation)).toEqual({ status: 'lapsed', hadWorker: false, recordedWake: 'w1' });
    expect(await dueIn(conversation, { scheduled: 'a' })).toBeUndefined();
    expectAbout((await dueIn(conversation, 't')) ?? 0, 5_000);
    expect(await store.promoteScheduled(conversation, 'b', 'w2')).toEqual({ needsWake: false });
    const claim = await store.claim(conversation, 'o', 'w');
    expect(claim).toMatchObject({ turn: { lease: { turn: 'a' }, inputSeq: 1 } });
    await store.cancel(conversation, 'a', 'w3');
    expect(await store.claim(conversation, 'o2', 'w')).toMatchObject({ turn: { lease: { turn: 'b' } } });
  });

  test('claiming a scheduled turn returns the time at which it was due', async () => {
    const { store, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 'now'));
    await store.accept(turnFor(conversation, 'later', { delayMs: 50 }));
    await expect
      .poll(async () => {
        await store.promoteScheduled(conversation, 'later', 'w');
        return (await store.readTurn(conversation, 'later'))?.state;
      })
      .toBe('queued');
    const claimed = [];
    for (const turn of ['now', 'later']) {
      const claim = await store.claim(conversation, turn, 'w');
      if (claim.status === 'claimed') claimed.push(claim.turn.dueAt - claim.turn.acceptedAt);
      await store.cancel(conversation, turn, 'w');
    }
    expect(claimed).toEqual([0, 50]);
  });

  test('promoteScheduled leaves a scheduled turn in place before its due time', async () => {
    const { store, makeOverdue, dueIn, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 'a', { delayMs: 60_000 }));
    await makeOverdue(conversation, { scheduled: 'a' }, 1);
    expect(await store.promoteScheduled(conversation, 'a', 'w')).toEqual({ needsWake: false });
    expect(await store.readTurn(conversation, 'a')).toMatchObject({ state: 'scheduled' });
    expectAbout((await dueIn(conversation, { scheduled: 'a' })) ?? 0, 60_000);
  });

  test('promoteScheduled moves nothing to the mailbox if the scheduled turn was canceled or erased', async () => {
    const { store, passDueTime, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 'a', { delayMs: 60_000 }));
    await passDueTime(conversation, 'a');
    await store.cancel(conversation, 'a', 'w0');
    expect(await store.promoteScheduled(conversation, 'a', 'w')).toEqual({ needsWake: false });
    expect(await store.readTurn(conversation, 'a')).toMatchObject({ state: 'canceled' });
    await store.erase(conversation);
    expect(await store.promoteScheduled(conversation, 'a', 'w')).toEqual({ needsWake: false });
  });

  const nothing = {
    overdue: { turn: 0, pass: 0, scheduled: 0, idle: 0 },
    oldestOverdueMs: 0,
    openPasses: 0,
    oldestOpenPassMs: 0,
    failedTurns: 0,
    oldestIdleMs: 0,
    quarantined: 0,
  };

  test('measureShards counts the sweeper’s overdue entries and reports the age of the oldest one', async () => {
    const { store, makeOverdue } = given.harness();
    expect(await store.measureShards()).toEqual(nothing);
    const conversations = [newConversation(), newConversation(), newConversation()];
    for (const conversation of conversations) await store.accept(turnFor(conversation, 't1'));
    expect(await store.measureShards()).toEqual(nothing);
    await makeOverdue(conversations[0] as ConversationRef, 't', 60_000);
    await makeOverdue(conversations[1] as ConversationRef, 't', 5_000);
    const { overdue, oldestOverdueMs } = await store.measureShards();
    expect(overdue).toEqual({ turn: 2, pass: 0, scheduled: 0, idle: 0 });
    expect(oldestOverdueMs).toBeGreaterThanOrEqual(60_000);
    expect(oldestOverdueMs).toBeLessThan(60_000 + SLACK_MS);
  });

  test('measureShards counts a compaction pass as open from its first request to its end', async () => {
    const { store, conversation } = await given.log();
    for (const passId of ['p1', 'p2']) {
      await store.requestPass({ conversation, passId, reasons: ['ratio'], wake: passId });
    }
    const { openPasses, oldestOpenPassMs } = await store.measureShards();
    expect(openPasses).toBe(1);
    expect(oldestOpenPassMs).toBeLessThan(SLACK_MS);
    const { lease } = await claimPass(store, conversation);
    expect(await store.measureShards()).toMatchObject({ openPasses: 1 });
    await store.endPass(lease, { outcome: { kind: 'none' }, backoff: NO_BACKOFF, wakeTurn: 'w' });
    expect(await store.measureShards()).toEqual(nothing);
  });

  test('measureShards does not count the compaction pass of an erased conversation', async () => {
    const { store, conversation } = await given.log();
    await store.requestPass({ conversation, passId: 'p1', reasons: ['ratio'], wake: 'w' });
    await store.erase(conversation);
    expect(await store.measureShards()).toEqual(nothing);
  });
}
