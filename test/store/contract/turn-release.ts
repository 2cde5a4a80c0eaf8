import { expect, test } from 'vitest';
import type { ConversationRef } from '../../../src/domain/ids.ts';
import type { TurnLease } from '../../../src/domain/lease.ts';
import { TURN_LIMITS } from '../../../src/domain/turn.ts';
import { acceptAndClaim, claimHead, textStep, turnFor } from '../samples.ts';
import type { Given } from './fixture.ts';

export function describeRelease(given: Given): void {
  /** Claims a turn for the last time, after the workers of all earlier claims died. */
  async function claimLast(conversation: ConversationRef): Promise<TurnLease> {
    const { store, lapseLease } = given.harness();
    await store.accept(turnFor(conversation, 'bad'));
    for (let attempt = 1; attempt < TURN_LIMITS.maxAttempts; attempt += 1) {
      await claimHead(store, conversation);
      await lapseLease('turn', conversation);
    }
    const { lease, attempt } = await claimHead(store, conversation);
    expect(attempt).toBe(TURN_LIMITS.maxAttempts);
    return lease;
  }

  test('release ends the worker’s lease, makes the turn due at once, and does not count the claim as an attempt', async () => {
    const { store, observe, conversation, lease } = await given.running();
    expect(await store.release(lease, 'back')).toEqual({ status: 'released' });
    const { shape, times } = await observe(conversation);
    expect([shape.owner, shape.attempts, shape.mailbox, shape.wake]).toEqual([undefined, 0, ['t1'], 'back']);
    expect(shape.turns['t1']).toMatchObject({ state: 'queued', hasInput: false });
    expect(times.ready['t'], 'I3: due').toBeLessThanOrEqual(times.now);
    expect(await claimHead(store, conversation)).toMatchObject({ attempt: 1, lease: { turn: 't1' } });
  });

  test('a repeated release of a turn gets the same reply as the first call and changes nothing', async () => {
    const { store, observe, conversation, lease } = await given.running();
    await store.release(lease, 'back');
    const { shape } = await observe(conversation);
    expect(await store.release(lease, 'back')).toEqual({ status: 'released' });
    expect((await observe(conversation)).shape).toEqual(shape);
  });

  test('writes of a worker that has released its turn are refused as fenced', async () => {
    const { store, lease } = await given.running();
    await store.release(lease, 'back');
    expect(await store.recordStep(lease, textStep('s', 1))).toEqual({ status: 'fenced' });
    expect(await store.heartbeat(lease)).toEqual({ status: 'fenced' });
    expect(await store.settle(lease, { state: 'completed', answerSeq: 1 }, 'w')).toEqual({ status: 'fenced' });
  });

  test('release is refused to a worker that has lost the turn', async () => {
    const { store, lapseLease, observe, conversation, lease } = await given.running();
    await lapseLease('turn', conversation);
    await claimHead(store, conversation);
    const { shape } = await observe(conversation);
    expect(await store.release(lease, 'back')).toEqual({ status: 'fenced' });
    expect((await observe(conversation)).shape).toEqual(shape);
    await store.cancel(conversation, 't1', 'w');
    expect(await store.release(lease, 'back')).toEqual({ status: 'canceled' });
  });

  test('release of a turn does not reset the count of the turn’s earlier claims whose workers died', async () => {
    const { store, lapseLease, conversation } = given.nothing();
    await acceptAndClaim(store, conversation, 't1');
    for (let stops = 0; stops < 3; stops += 1) {
      await lapseLease('turn', conversation);
      const { lease, attempt } = await claimHead(store, conversation);
      expect(attempt).toBe(2);
      await store.release(lease, 'back');
    }
    expect(await claimHead(store, conversation)).toMatchObject({ attempt: 2 });
  });

  test('a turn that workers gave back four times is not settled as failed (poison)', async () => {
    const { store, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1'));
    for (let stops = 0; stops <= TURN_LIMITS.maxAttempts; stops += 1) {
      const { lease, attempt } = await claimHead(store, conversation);
      expect(attempt).toBe(1);
      await store.recordStep(lease, { key: `step.${stops}`, messages: [], opens: [], closes: [] });
      await store.release(lease, 'back');
    }
  });

  test('if the worker of a turn’s last attempt dies while it runs other turns too, another worker can claim the turn', async () => {
    const { store, lapseLease, conversation } = given.nothing();
    await claimLast(conversation);
    await lapseLease('turn', conversation);
    expect(await claimHead(store, conversation)).toMatchObject({ attempt: TURN_LIMITS.maxAttempts });
    await lapseLease('turn', conversation);
    expect(await claimHead(store, conversation)).toMatchObject({ attempt: TURN_LIMITS.maxAttempts });
  });

  test('if the worker of a turn’s last attempt dies while it runs only this turn, the next claim settles the turn as failed (poison)', async () => {
    const { store, lapseLease, conversation } = given.nothing();
    const lease = await claimLast(conversation);
    expect(await store.startAlone(lease)).toEqual({ status: 'recorded' });
    expect(await store.startAlone(lease), 'sent again').toEqual({ status: 'recorded' });
    await lapseLease('turn', conversation);
    expect(await store.claim(conversation, 'o', 'w')).toEqual({ status: 'poison', turn: 'bad' });
  });

  test('startAlone (the worker runs only this turn) applies to the current claim and not to a later claim', async () => {
    const { store, lapseLease, conversation } = given.nothing();
    const lease = await claimLast(conversation);
    await store.startAlone(lease);
    await store.release(lease, 'back');
    expect(await claimHead(store, conversation)).toMatchObject({ attempt: TURN_LIMITS.maxAttempts });
    await lapseLease('turn', conversation);
    expect(await claimHead(store, conversation)).toMatchObject({ attempt: TURN_LIMITS.maxAttempts });
  });

  test('startAlone is refused to a worker that has lost the turn', async () => {
    const { store, lapseLease, conversation } = given.nothing();
    const lease = await claimLast(conversation);
    await lapseLease('turn', conversation);
    await claimHead(store, conversation);
    expect(await store.startAlone(lease)).toEqual({ status: 'fenced' });
  });

  test('no worker claims a turn that was released with a delay before the delay has passed', async () => {
    const { store, observe, conversation, lease } = await given.running();
    expect(await store.release(lease, 'back', 5_000)).toEqual({ status: 'released' });
    const { times } = await observe(conversation);
    expect((times.ready['t'] ?? 0) - times.now).toBeGreaterThan(4_000);
    const claim = await store.claim(conversation, 'o', 'w');
    expect(claim).toMatchObject({ status: 'waiting' });
    expect('untilMs' in claim && claim.untilMs - times.now).toBeGreaterThan(4_000);
  });

  test('a turn that was released with a delay is claimed after the delay', async () => {
    const { store, conversation, lease } = await given.running();
    await store.release(lease, 'back', 1);
    await expect.poll(async () => (await store.claim(conversation, 'o', 'w')).status).toBe('claimed');
  });

  test('reportDeath after the last attempt ends the lease, and the next claim settles the turn as failed (poison)', async () => {
    const { store, observe, conversation } = given.nothing();
    const lease = await claimLast(conversation);
    await store.startAlone(lease, true);
    expect(await store.reportDeath(lease)).toEqual({ status: 'recorded' });
    expect(await store.reportDeath(lease), 'sent again').toEqual({ status: 'recorded' });
    const { times } = await observe(conversation);
    expect(times.ready['t'], 'I3: due').toBeLessThanOrEqual(times.now);
    expect(await store.claim(conversation, 'o', 'w')).toEqual({ status: 'poison', turn: 'bad' });
  });

  test('reportDeath of a turn that has recorded a step since lets another worker claim the turn', async () => {
    const { store, conversation } = given.nothing();
    const lease = await claimLast(conversation);
    await store.startAlone(lease, true);
    await store.recordStep(lease, textStep('s', 1));
    await store.reportDeath(lease);
    expect(await claimHead(store, conversation)).toMatchObject({ attempt: 2, lease: { turn: 'bad' } });
  });

  test('reportDeath is refused to a worker that has lost the turn', async () => {
    const { store, lapseLease, conversation } = given.nothing();
    const lease = await claimLast(conversation);
    await lapseLease('turn', conversation);
    await claimHead(store, conversation);
    expect(await store.reportDeath(lease)).toEqual({ status: 'fenced' });
  });

  test('if the process of a turn dies without a report of its parent, the turn is settled as failed (poison) only after three more deaths', async () => {
    const { store, lapseLease, conversation } = given.nothing();
    let lease = await claimLast(conversation);
    for (let attempt = TURN_LIMITS.maxAttempts + 1; attempt <= 2 * TURN_LIMITS.maxAttempts; attempt += 1) {
      await store.startAlone(lease, true);
      await lapseLease('turn', conversation);
      const claimed = await claimHead(store, conversation);
      expect(claimed.attempt).toBe(attempt);
      lease = claimed.lease;
    }
    await store.startAlone(lease, true);
    await lapseLease('turn', conversation);
    expect(await store.claim(conversation, 'o', 'w')).toEqual({ status: 'poison', turn: 'bad' });
  });

  test('a turn that records a step while its worker runs nothing else gets two more attempts', async () => {
    const { store, lapseLease, conversation } = given.nothing();
    const lease = await claimLast(conversation);
    await store.startAlone(lease);
    await store.recordStep(lease, textStep('s', 1));
    for (const expected of [2, 3]) {
      await lapseLease('turn', conversation);
      expect(await claimHead(store, conversation)).toMatchObject({ attempt: expected });
    }
  });
}
