import { expect, test } from 'vitest';
import { claimHead, textStep, turnFor } from '../samples.ts';
import type { Given } from './fixture.ts';

const HOUR_MS = 3_600_000;

export function describeAccept(given: Given): void {
  test('the first turn in an empty mailbox needs a queue job, and later turns need none', async () => {
    const { store, observe, conversation } = given.nothing();
    const accepted = { status: 'accepted', state: 'queued' };
    expect(await store.accept(turnFor(conversation, 't1'))).toEqual({ ...accepted, needsWake: true });
    expect(await store.accept(turnFor(conversation, 't2'))).toEqual({ ...accepted, needsWake: false });
    const { shape } = await observe(conversation);
    expect([shape.mailbox, shape.wake, shape.ready]).toEqual([['t1', 't2'], 'wake-t1', ['t']]);
  });

  test('a repeated accept of a turn replies known, and asks the caller again to add the queue job of the first call', async () => {
    const { store, observe, conversation } = given.nothing();
    const request = turnFor(conversation, 't1');
    await store.accept(request);
    const before = await observe(conversation);
    expect(await store.accept(request)).toEqual({ status: 'known', state: 'queued', needsWake: true });
    expect(await store.accept({ ...request, wake: 'fresh' })).toMatchObject({ status: 'known', needsWake: false });
    expect((await observe(conversation)).shape).toEqual(before.shape);
  });

  test('a repeated accept of a turn replies known with the turn’s current state, such as running or completed', async () => {
    const { store, conversation } = given.nothing();
    const request = turnFor(conversation, 't1');
    await store.accept(request);
    const { lease } = await claimHead(store, conversation);
    expect(await store.accept(request)).toEqual({ status: 'known', state: 'running', needsWake: false });
    await store.settle(lease, { state: 'completed', answerSeq: 1 }, 'w');
    expect(await store.accept(request)).toEqual({ status: 'known', state: 'completed', needsWake: false });
  });

  test('an accept of a known turn id with another payload replies conflict and changes nothing', async () => {
    const { store, observe, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1'));
    const before = await observe(conversation);
    expect(await store.accept(turnFor(conversation, 't1', { payloadHash: 'other' }))).toEqual({ status: 'conflict' });
    expect((await observe(conversation)).shape).toEqual(before.shape);
  });

  test('a conversation with a full mailbox refuses another turn, and accepts it after a queued turn is canceled', async () => {
    const { store, conversation } = given.nothing();
    for (const turn of ['t1', 't2']) await store.accept(turnFor(conversation, turn));
    const third = turnFor(conversation, 't3', { maxQueuedTurns: 2 });
    expect(await store.accept(third)).toEqual({ status: 'full', queued: 2 });
    expect(await store.readTurn(conversation, 't3')).toBeUndefined();
    await store.cancel(conversation, 't2', 'w');
    expect(await store.accept(third)).toMatchObject({ status: 'accepted' });
  });

  test('an accepted turn with a delay is scheduled, and takes no place in the mailbox and no queue job', async () => {
    const { store, observe, conversation } = given.nothing();
    const before = (await observe(conversation)).times.now;
    const later = turnFor(conversation, 'later', { delayMs: HOUR_MS, maxQueuedTurns: 1 });
    expect(await store.accept(later)).toEqual({ status: 'accepted', state: 'scheduled', needsWake: false });
    expect(await store.accept(later)).toEqual({ status: 'known', state: 'scheduled', needsWake: false });
    const { shape, times } = await observe(conversation);
    expect([shape.mailbox, shape.ready, shape.wake]).toEqual([[], ['d|later'], undefined]);
    expect(times.ready['d|later'], 'by the clock of the store').toBeGreaterThanOrEqual(before + HOUR_MS);
    expect(times.ready['d|later']).toBeLessThanOrEqual(times.now + HOUR_MS);
    expect(await store.accept(turnFor(conversation, 't1', { maxQueuedTurns: 1 }))).toMatchObject({
      state: 'queued',
      needsWake: true,
    });
  });

  test('a claim returns the time and token limits that the caller set for the turn, and the tokens that the turn has spent', async () => {
    const { store, lapseLease, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1', { caps: { deadlineMs: HOUR_MS, maxTurnTokens: 500 } }));
    await store.accept(turnFor(conversation, 't2', { caps: { maxTurnTokens: 7 } }));
    await store.accept(turnFor(conversation, 't3', { caps: {} }));
    const { caps, spentTokens, lease } = await claimHead(store, conversation);
    expect([caps, spentTokens]).toEqual([{ deadlineMs: HOUR_MS, maxTurnTokens: 500 }, 0]);
    await store.recordStep(lease, { ...textStep('m1', 1), requestTokens: 30 });
    await lapseLease('turn', conversation);
    const again = await claimHead(store, conversation);
    expect(again.spentTokens, 'by our count').toBe(30);
    const usage = { inputTokens: 40, outputTokens: 5 };
    await store.recordStep(again.lease, { ...textStep('m2', 2), requestTokens: 35, usage });
    await lapseLease('turn', conversation);
    const third = await claimHead(store, conversation);
    expect(third.spentTokens, 'by the count of the provider').toBe(45);
    for (const expected of [{ maxTurnTokens: 7 }, {}]) {
      await store.cancel(conversation, expected.maxTurnTokens === 7 ? 't1' : 't2', 'w');
      expect((await claimHead(store, conversation)).caps).toEqual(expected);
    }
  });

  test('a turn with a delay is accepted even if the mailbox is full', async () => {
    const { store, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1'));
    const later = turnFor(conversation, 'later', { delayMs: HOUR_MS, maxQueuedTurns: 1 });
    expect(await store.accept(later)).toMatchObject({ state: 'scheduled' });
  });

  test('a turn accepted after an erase starts a conversation without the turns and messages of the erased conversation', async () => {
    const { store, observe, markGone, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 'old'));
    const old = await claimHead(store, conversation);
    await store.accept(turnFor(conversation, 'late', { delayMs: HOUR_MS }));
    await markGone(conversation);
    expect(await store.accept(turnFor(conversation, 'old', { payloadHash: 'other' }))).toMatchObject({
      status: 'accepted',
      needsWake: true,
    });
    const { shape } = await observe(conversation);
    expect([shape.mailbox, shape.log, shape.ready]).toEqual([['old'], [], ['t']]);
    expect(await store.readTurn(conversation, 'late')).toBeUndefined();
    const anew = await claimHead(store, conversation);
    expect(anew.lease.epoch, 'epochs never repeat').toBeGreaterThanOrEqual(old.lease.epoch);
    expect(await store.heartbeat(old.lease)).toEqual({ status: 'fenced' });
  });

  test('a turn for an agent other than the conversation’s own agent is refused and changes nothing', async () => {
    const { store, observe, markGone, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1'));
    const before = await observe(conversation);
    for (const delayMs of [0, HOUR_MS]) {
      const other = turnFor(conversation, 't2', { agent: 'other', delayMs, maxQueuedTurns: 1 });
      expect(await store.accept(other)).toEqual({ status: 'other_agent', agent: 'agent' });
    }
    expect((await observe(conversation)).shape).toEqual(before.shape);
    expect(await store.readTurn(conversation, 't2')).toBeUndefined();
    await markGone(conversation);
    const anew = turnFor(conversation, 't2', { agent: 'other' });
    expect(await store.accept(anew), 'an erased one is nobody’s').toMatchObject({ status: 'accepted' });
    expect((await claimHead(store, conversation)).conversation.agent).toBe('other');
  });
}
