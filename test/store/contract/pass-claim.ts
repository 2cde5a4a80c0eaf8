import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { PASS_LIMITS } from '../../../src/domain/pass.ts';
import type { PassLease } from '../../../src/store/pass-record.ts';
import { claimPass, endOf, makeConversation, planOf, waitForPass } from '../pass-samples.ts';
import { newConversation } from '../samples.ts';
import type { Given } from './fixture.ts';

/** Milliseconds that may pass between a write and the test's reading of it. */
const SLACK_MS = 2_000;

/** Describes the claim of a pass at its first attempt, with `ratio` as its reason. */
function firstAttempt(lease: PassLease, requestedAt: unknown) {
  const { passId } = lease;
  return {
    status: 'claimed',
    pass: { lease, reasons: ['ratio'], attempt: 1, requestedAt, conversation: { passId } },
  };
}

export function describePassClaim(given: Given): void {
  test('requestPass creates a compaction pass that the sweeper checks 5 s later, in case its queue job is lost', async () => {
    const { store, dueIn, conversation } = await given.log();
    const request = { conversation, reasons: ['ratio', 'turn_end'], passId: 'p1', wake: 'w1' } as const;
    expect(await store.requestPass(request)).toEqual({ status: 'requested', passId: 'p1', needsWake: true });
    expect((await store.readConversation(conversation))?.passId).toBe('p1');
    expect(await dueIn(conversation, 'p'), 'I6').toBeGreaterThan(5_000 - SLACK_MS);
    expect(await dueIn(conversation, 'p')).toBeLessThanOrEqual(5_000);
  });

  test('a repeated requestPass gets the same reply, even after the compaction pass has ended', async () => {
    const { store, conversation } = await given.log();
    const request = { conversation, reasons: ['ratio'], passId: 'p1', wake: 'w1' } as const;
    const first = await store.requestPass(request);
    expect(await store.requestPass(request)).toEqual(first);
    const claim = await store.claimPass(conversation, 'o', 'job', 'w');
    expect(claim).toMatchObject({ status: 'claimed', pass: { reasons: ['ratio'] } });
    if (claim.status === 'claimed') await store.endPass(claim.pass.lease, endOf());
    expect(await store.requestPass(request)).toEqual({ status: 'requested', passId: 'p1', needsWake: false });
    expect((await store.readConversation(conversation))?.passId, 'no pass is made of it').toBeUndefined();
  });

  test('requestPass adds its reasons once to a compaction pass in progress, and needs no second queue job', async () => {
    const { store, dueIn, conversation } = await given.log();
    const { lease } = await claimPass(store, conversation, { reasons: ['ratio'] });
    const before = (await dueIn(conversation, 'p')) ?? 0;
    const request = { conversation, reasons: ['hard_limit', 'ratio'], passId: 'p2', wake: 'w2' } as const;
    const joined = { status: 'joined', passId: lease.passId, needsWake: false };
    expect(await store.requestPass(request)).toEqual(joined);
    expect(await store.requestPass(request)).toEqual(joined);
    expect(await store.readReasons(lease)).toEqual({ status: 'current', reasons: ['ratio', 'hard_limit'] });
    expect((await dueIn(conversation, 'p')) ?? 0, 'a running pass keeps its lease time').toBeGreaterThan(
      before - SLACK_MS,
    );
  });

  test.each([
    ['smallest', 'refusedTokens', [9_000, 8_000, 10_000], 8_000],
    ['largest', 'calibration', [1.05, 1.15, 0.9], 1.15],
  ] as const)(
    'a compaction pass that is requested several times stores the %s `%s` of the requests, and the next pass has no such value',
    async (_, field, values, kept) => {
      const { store, conversation } = await given.log();
      const request = { conversation, reasons: ['overflow'], passId: 'p1', wake: 'w1' } as const;
      const [first, ...later] = values;
      await store.requestPass({ ...request, [field]: first });
      const { lease } = await claimPass(store, conversation, { reasons: [] });
      expect(await store.readReasons(lease)).toEqual({ status: 'current', reasons: ['overflow'], [field]: first });
      for (const value of [...later, undefined]) await store.requestPass({ ...request, passId: 'p2', [field]: value });
      expect(await store.readReasons(lease)).toMatchObject({ [field]: kept });
      await store.endPass(lease, endOf());
      const { lease: next } = await claimPass(store, conversation);
      expect(await store.readReasons(next)).toEqual({ status: 'current', reasons: ['ratio'] });
    },
  );

  test('requestPass without a reason to compact creates a compaction pass without reasons', async () => {
    const { store, conversation } = await given.log();
    await store.requestPass({ conversation, reasons: [], passId: 'p', wake: 'w' });
    expect(await store.claimPass(conversation, 'o', 'job', 'w2')).toMatchObject({ pass: { reasons: [] } });
  });

  test('requestPass is refused for a conversation that does not exist or was erased', async () => {
    const { store, markGone, conversation } = given.nothing();
    const request = { conversation, reasons: [], passId: 'p', wake: 'w' };
    expect(await store.requestPass(request)).toEqual({ status: 'not_found' });
    await markGone(conversation);
    expect(await store.requestPass(request)).toEqual({ status: 'gone' });
  });

  test('claimPass returns the pass with its reasons, attempt number and conversation, also when the call is repeated', async () => {
    const { store, dueIn, conversation } = await given.log();
    await store.requestPass({ conversation, reasons: ['ratio'], passId: 'p1', wake: 'w1' });
    const claim = await store.claimPass(conversation, 'owner', 'job', 'w');
    expect(claim).toMatchObject(firstAttempt({ conversation, passId: 'p1', owner: 'owner' }, expect.any(Number)));
    expect(claim).toMatchObject({ pass: { conversation: { head: 8, turns: 4 } } });
    expect(claim).not.toHaveProperty('pass.plan');
    expect(await dueIn(conversation, 'p')).toBeGreaterThan(PASS_LIMITS.leaseMs - SLACK_MS);
    expect(await store.claimPass(conversation, 'owner', 'job', 'w'), 'I5').toEqual(claim);
  });

  test('claimPass replies empty if the conversation has no compaction pass or its compaction pass has ended', async () => {
    const { store, dueIn, conversation } = await given.log();
    expect(await store.claimPass(conversation, 'o', 'job', 'w')).toEqual({ status: 'empty' });
    await store.endPass((await claimPass(store, conversation)).lease, endOf());
    expect(await store.claimPass(conversation, 'o', 'job', 'w')).toEqual({ status: 'empty' });
    expect(await dueIn(conversation, 'p')).toBeUndefined();
    expect(await store.claimPass(newConversation(), 'o', 'job', 'w')).toEqual({ status: 'empty' });
  });

  test('claimPass is refused while another worker has the lease of the pass, and a claim after that lease’s end fences the first worker', async () => {
    const { store, lapseLease, conversation, lease } = await given.pass();
    const leased = await store.claimPass(conversation, 'other', 'job', 'w');
    expect(leased).toEqual({ status: 'leased', untilMs: expect.any(Number) });
    await lapseLease('pass', conversation);
    expect(await store.heartbeatPass(lease), 'nobody came: it goes on').toEqual({ status: 'renewed' });
    await lapseLease('pass', conversation);
    expect(await store.claimPass(conversation, 'other', 'job', 'w')).toMatchObject({ pass: { attempt: 2 } });
    const fenced = { status: 'fenced' };
    expect(await store.heartbeatPass(lease)).toEqual(fenced);
    expect(await store.readReasons(lease)).toEqual(fenced);
    expect(await store.recordPlan(lease, planOf(2))).toEqual(fenced);
    expect(await store.parkPass(lease, 'job', 1)).toEqual(fenced);
    expect(await store.endPass(lease, endOf())).toEqual(fenced);
  });

  test('writes of a worker that lost a compaction pass are still refused after the next owner has ended the pass', async () => {
    const { store, lapseLease, conversation, lease } = await given.pass();
    await lapseLease('pass', conversation);
    const claim = await store.claimPass(conversation, 'other', 'job', 'w');
    if (claim.status === 'claimed') await store.endPass(claim.pass.lease, endOf());
    expect(await store.readReasons(lease)).toEqual({ status: 'fenced' });
    const { lease: next } = await claimPass(store, conversation);
    expect(await store.heartbeatPass(lease), 'whatever came behind it').toEqual({ status: 'fenced' });
    await store.endPass(next, endOf());
    expect(await store.heartbeatPass(lease), 'another that has ended, too').toEqual({ status: 'fenced' });
  });

  test('writes of a worker that lost a compaction pass are still refused after a waiting turn has taken the pass over', async () => {
    const { store, lapseLease, conversation, lease } = await given.pass();
    await lapseLease('pass', conversation);
    const { lease: other } = await claimPass(store, conversation);
    await store.takeOverPass(conversation, 'turn-worker', randomUUID());
    expect(await store.heartbeatPass(lease)).toEqual({ status: 'fenced' });
    expect(await store.heartbeatPass(other)).toEqual({ status: 'superseded' });
  });

  test('the fourth claim of a compaction pass without a plan ends the pass as failed, and the waiting turn must check the context size itself', async () => {
    const { store, lapseLease, events, dueIn } = given.harness();
    const conversation = await makeConversation(store, 0);
    await waitForPass(store, conversation, 't1');
    const { lease } = await claimPass(store, conversation);
    for (let attempt = 2; attempt <= PASS_LIMITS.maxAttempts; attempt += 1) {
      await lapseLease('pass', conversation);
      const claim = await store.claimPass(conversation, randomUUID(), 'job', 'w');
      expect(claim).toMatchObject({ status: 'claimed', pass: { attempt } });
    }
    await lapseLease('pass', conversation);
    const failed = { status: 'failed', passId: lease.passId, wakeTurn: 'wake-turn' };
    expect(await store.claimPass(conversation, 'last', 'job', 'wake-turn')).toEqual(failed);
    expect(await store.claimPass(conversation, 'last', 'job', 'wake-turn'), 'I5').toEqual(failed);
    const ended = (await events(conversation)).filter(({ type }) => type === 'pass_ended');
    expect(ended).toEqual([{ type: 'pass_ended', passId: lease.passId, outcome: 'failed' }]);
    expect(await store.readConversation(conversation)).toMatchObject({ passed: { head: 1, turns: 1 } });
    expect(await dueIn(conversation, 'p')).toBeUndefined();
    const turn = await store.claim(conversation, 'o', 'w');
    expect(turn).toMatchObject({ status: 'claimed', turn: { waited: { for: 'compaction', isFulfilled: false } } });
  });

  test('the next claim of a compaction pass gets its recorded plan, and attempts count from the claim that recorded it', async () => {
    const { store, lapseLease, conversation } = await given.log();
    await claimPass(store, conversation);
    await lapseLease('pass', conversation);
    const { lease } = await claimPass(store, conversation);
    const plan = planOf(2);
    expect(await store.recordPlan(lease, plan)).toEqual({ status: 'recorded' });
    expect(await store.recordPlan(lease, plan), 'I5').toEqual({ status: 'recorded' });
    await lapseLease('pass', conversation);
    expect(await store.claimPass(conversation, 'o', 'job', 'w')).toMatchObject({ pass: { plan, attempt: 2 } });
  });

  test('recording a second plan for a compaction pass does not reset the pass’s count of attempts', async () => {
    const { store, lapseLease, conversation, claimed: first } = await given.pass();
    await store.recordPlan(first.lease, planOf(2));
    await lapseLease('pass', conversation);
    const second = await claimPass(store, conversation);
    const plan = planOf(2, { kind: 'trim' });
    expect(await store.recordPlan(second.lease, plan)).toEqual({ status: 'recorded' });
    await lapseLease('pass', conversation);
    expect(await store.claimPass(conversation, 'o', 'job', 'w')).toMatchObject({ pass: { plan, attempt: 3 } });
  });

  test('releasePass ends the lease, makes the pass due at once, and does not count the claim as an attempt', async () => {
    const { store, dueIn, conversation } = await given.log();
    for (let stops = 0; stops <= PASS_LIMITS.maxAttempts; stops += 1) {
      const { lease, attempt } = await claimPass(store, conversation);
      expect(attempt).toBe(1);
      expect(await store.releasePass(lease)).toEqual({ status: 'released' });
      expect(await store.releasePass(lease), 'I5').toEqual({ status: 'released' });
      expect(await dueIn(conversation, 'p'), 'I6').toBeLessThanOrEqual(0);
      expect(await store.endPass(lease, endOf()), 'its owner writes nothing more').toEqual({ status: 'fenced' });
    }
  });

  test('releasePass is refused to an owner that has lost the pass', async () => {
    const { store, lapseLease, conversation, lease } = await given.pass();
    await lapseLease('pass', conversation);
    await claimPass(store, conversation);
    expect(await store.releasePass(lease)).toEqual({ status: 'fenced' });
  });

  test('parkPass gives the lease back while child jobs run, and until the deadline only the named parent job may claim the pass', async () => {
    const { store, dueIn, endParking, conversation } = await given.log();
    const { lease } = await claimPass(store, conversation, { job: 'parent' });
    const { parkMs } = PASS_LIMITS;
    expect(await store.parkPass(lease, 'parent', parkMs)).toEqual({ status: 'parked' });
    const leased = await store.claimPass(conversation, 'o', 'another', 'w');
    expect(leased).toEqual({ status: 'leased', untilMs: expect.any(Number) });
    expect(await store.parkPass(lease, 'parent', parkMs), 'I5').toEqual({ status: 'parked' });
    expect(await dueIn(conversation, 'p')).toBeGreaterThan(parkMs - SLACK_MS);
    expect(await dueIn(conversation, 'p'), 'by the clock of the store').toBeLessThanOrEqual(parkMs);
    expect(await store.heartbeatPass(lease), 'the lease is given back').toEqual({ status: 'fenced' });
    expect(await store.claimPass(conversation, 'o', 'another', 'w'), 'sent again, it moves nothing').toEqual(leased);
    await endParking(conversation);
    expect(await store.claimPass(conversation, 'o', 'another', 'w')).toMatchObject({ status: 'claimed' });
    expect(await store.parkPass(lease, 'parent', parkMs)).toEqual({ status: 'fenced' });
  });

  test('parkPass replies fenced to an earlier delivery of a job after a later delivery of that job has parked the pass', async () => {
    const { store, conversation } = await given.log();
    const first = await claimPass(store, conversation, { job: 'parent' });
    await store.parkPass(first.lease, 'parent', PASS_LIMITS.parkMs);
    const second = await claimPass(store, conversation, { job: 'parent' });
    expect(await store.parkPass(second.lease, 'parent', PASS_LIMITS.parkMs)).toEqual({ status: 'parked' });
    expect(await store.parkPass(first.lease, 'parent', PASS_LIMITS.parkMs)).toEqual({ status: 'fenced' });
  });

  test('a pass that waits for child jobs is reserved for its parent job, which can claim the pass at any time', async () => {
    const { store, lapseLease, conversation } = await given.log();
    const { lease } = await claimPass(store, conversation, { job: 'parent' });
    await store.parkPass(lease, 'parent', PASS_LIMITS.parkMs);
    expect(await store.claimPass(conversation, 'o', 'parent', 'w')).toMatchObject({ status: 'claimed' });
    await lapseLease('pass', conversation);
    expect(await store.claimPass(conversation, 'p', 'another', 'w')).toMatchObject({ status: 'claimed' });
  });

  test('takeOverPass lets a waiting turn continue a compaction pass under a new id, with its reasons but without its plan', async () => {
    const { store, conversation } = await given.log();
    const former = await claimPass(store, conversation, { reasons: ['ratio'] });
    await store.recordPlan(former.lease, planOf(2));
    await store.parkPass(former.lease, 'parent', PASS_LIMITS.parkMs);
    const taken = await store.takeOverPass(conversation, 'turn-worker', 'p2');
    expect(taken).toMatchObject(firstAttempt({ conversation, passId: 'p2', owner: 'turn-worker' }, former.requestedAt));
    expect(taken).not.toHaveProperty('pass.plan');
    expect(await store.takeOverPass(conversation, 'turn-worker', 'p2'), 'I5').toEqual(taken);
    expect(await store.claimPass(conversation, 'o', 'parent', 'w')).toMatchObject({ status: 'leased' });
    expect(await store.endPass(former.lease, endOf())).toEqual({ status: 'superseded' });
    if (taken.status === 'claimed') await store.endPass(taken.pass.lease, endOf());
    expect(await store.endPass(former.lease, endOf()), 'and stays so').toEqual({ status: 'superseded' });
  });

  test('takeOverPass replies empty if the conversation has no compaction pass, and gone if the conversation was erased', async () => {
    const { store, markGone, conversation } = await given.log();
    expect(await store.takeOverPass(conversation, 'o', 'p')).toEqual({ status: 'empty' });
    await markGone(conversation);
    expect(await store.takeOverPass(conversation, 'o', 'p')).toEqual({ status: 'gone' });
  });
}
