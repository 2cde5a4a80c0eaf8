import { expect, test } from 'vitest';
import type { PassOutcome } from '../../../src/domain/pass.ts';
import { appendOf, claimPass, commitOf, endOf, planOf, waitForPass } from '../pass-samples.ts';
import { acceptAndClaim } from '../samples.ts';
import type { Given } from './fixture.ts';

const GATE = { nothingBelowTokens: 1_234, gainlessPasses: 2, noGainBelowTokens: 99.5 };
const OUTCOMES: readonly PassOutcome[] = [
  { kind: 'no_reason' },
  { kind: 'thinking' },
  { kind: 'none' },
  { kind: 'no_gain' },
  { kind: 'infeasible' },
  { kind: 'rejected' },
  { kind: 'expired' },
  { kind: 'failed', code: 'conflict' },
];

const SETTLED: readonly string[] = ['none', 'no_gain', 'infeasible'];

export function describePassEnd(given: Given): void {
  test('endPass stores the backoff, restarts the counts of the compaction thresholds, removes the sweeper’s entry of the pass and emits an event', async () => {
    const { store, dueIn, events, conversation, lease } = await given.pass();
    await store.append(appendOf(conversation, 8, 2));
    expect(await store.endPass(lease, endOf({ backoff: GATE }))).toEqual({ status: 'ended' });
    const state = await store.readConversation(conversation);
    expect(state).toMatchObject({ backoff: GATE, passed: { head: 10, turns: 5 }, head: 10 });
    expect(state).not.toHaveProperty('passId');
    expect(await dueIn(conversation, 'p')).toBeUndefined();
    expect(await events(conversation)).toEqual([{ type: 'pass_ended', passId: lease.passId, outcome: 'none' }]);
  });

  test.each(['no_reason', 'thinking'] as const)(
    'a compaction pass that ends as %s does not restart the counts of the compaction thresholds and emits no event',
    async (kind) => {
      const { store, events, conversation } = await given.log();
      const before = (await store.readConversation(conversation))?.passed;
      const { lease } = await claimPass(store, conversation);
      expect(await store.endPass(lease, endOf({ outcome: { kind } }))).toEqual({ status: 'ended' });
      const state = await store.readConversation(conversation);
      expect(state).toMatchObject({ passed: before });
      expect(state).not.toHaveProperty('passId');
      expect(await events(conversation)).toEqual([]);
    },
  );

  test('endPass and commitVersion are refused if a caller added a reason to compact that the pass’s owner has not read', async () => {
    const { store, events, conversation } = await given.log();
    const { lease, reasons } = await claimPass(store, conversation, { reasons: ['ratio'] });
    await store.requestPass({ conversation, reasons: ['hard_limit'], passId: 'another', wake: 'w' });
    const before = await store.readConversation(conversation);
    expect(await store.endPass(lease, endOf({ seenReasons: reasons }))).toEqual({ status: 'reasons_added' });
    expect(await store.commitVersion(lease, commitOf(0, 4, { seenReasons: reasons }))).toEqual({
      status: 'reasons_added',
    });
    expect(await store.readConversation(conversation)).toEqual(before);
    expect(await events(conversation)).toEqual([]);
    const current = await store.readReasons(lease);
    const seenReasons = current.status === 'current' ? current.reasons : [];
    expect(await store.endPass(lease, endOf({ seenReasons }))).toEqual({ status: 'ended' });
    expect(await store.endPass(lease, endOf({ seenReasons: reasons })), 'sent again').toEqual({ status: 'ended' });
  });

  test('endPass is refused if another request added a reason to a pass that its owner claimed without reasons', async () => {
    const { store, conversation } = await given.log();
    const { lease } = await claimPass(store, conversation, { reasons: [] });
    await store.requestPass({ conversation, reasons: ['hard_limit'], passId: 'another', wake: 'w' });
    expect(await store.endPass(lease, endOf({ seenReasons: [] }))).toEqual({ status: 'reasons_added' });
    expect(await store.endPass(lease, endOf())).toEqual({ status: 'ended' });
  });

  test('a repeated endPass changes nothing and gets the same reply as the first call, even during the next pass', async () => {
    const { store, events, conversation } = await given.log();
    await waitForPass(store, conversation, 't1');
    const { lease } = await claimPass(store, conversation);
    const end = endOf({ backoff: GATE });
    const ended = { status: 'ended', wakeTurn: end.wakeTurn };
    expect(await store.endPass(lease, end)).toEqual(ended);
    expect(await store.endPass(lease, end)).toEqual(ended);
    const next = await claimPass(store, conversation);
    expect(await store.endPass(lease, end)).toEqual(ended);
    expect(await store.heartbeatPass(next.lease), 'the next pass goes on').toEqual({ status: 'renewed' });
    const ends = (await events(conversation)).filter(({ type }) => type === 'pass_ended');
    expect(ends).toHaveLength(1);
  });

  test.each(OUTCOMES)(
    'a compaction pass that ends as $kind wakes the waiting turn, and fulfils the turn’s wait only if that outcome decides the context size',
    async (outcome) => {
      const { store, conversation } = await given.log();
      await waitForPass(store, conversation, 't1');
      const { lease } = await claimPass(store, conversation);
      const end = endOf({ outcome });
      expect(await store.endPass(lease, end)).toEqual({ status: 'ended', wakeTurn: end.wakeTurn });
      expect(await store.inspectTurn(conversation)).toEqual({
        status: 'lapsed',
        hadWorker: false,
        recordedWake: end.wakeTurn,
      });
      expect(await store.claim(conversation, 'o', 'w')).toMatchObject({
        status: 'claimed',
        turn: { attempt: 1, waited: { for: 'compaction', isFulfilled: SETTLED.includes(outcome.kind) } },
      });
    },
  );

  test.each([
    ['failed between the request and the suspension', false],
    ['failed, and another pass is open', true],
  ])(
    'a turn that starts to wait for a compaction pass can be claimed at once, with its wait unfulfilled, if the pass %s',
    async (_, hasNext) => {
      const { store, conversation } = await given.log();
      const { lease: turn } = await acceptAndClaim(store, conversation, 't1');
      const { lease } = await claimPass(store, conversation);
      await store.endPass(lease, endOf({ outcome: { kind: 'failed', code: 'conflict' } }));
      if (hasNext) await claimPass(store, conversation);
      await store.suspend(turn, { for: 'compaction', step: 's', waitMs: 60_000, calls: [], passId: lease.passId });
      expect(await store.claim(conversation, 'o', 'w')).toMatchObject({ turn: { waited: { isFulfilled: false } } });
    },
  );

  test('commitVersion wakes the turn that waits for the compaction pass, and fulfils the turn’s wait', async () => {
    const { store, conversation } = await given.log();
    await waitForPass(store, conversation, 't1');
    const { lease } = await claimPass(store, conversation);
    const commit = commitOf(0, 4);
    expect(await store.commitVersion(lease, commit)).toEqual({ status: 'ended', wakeTurn: commit.wakeTurn });
    expect(await store.claim(conversation, 'o', 'w')).toMatchObject({ turn: { waited: { isFulfilled: true } } });
  });

  test('the end of a compaction pass does not wake a turn that runs or waits for a retry', async () => {
    const { store, conversation } = await given.log();
    const { lease: turn } = await acceptAndClaim(store, conversation, 't1');
    expect(await store.endPass((await claimPass(store, conversation)).lease, endOf())).toEqual({ status: 'ended' });
    await store.suspend(turn, { for: 'retry', step: 's', waitMs: 60_000, calls: [] });
    expect(await store.endPass((await claimPass(store, conversation)).lease, endOf())).toEqual({ status: 'ended' });
  });

  test('writes under the lease of another compaction pass are refused as fenced, and writes after the conversation’s erase are refused as gone', async () => {
    const { store, markGone, conversation, lease } = await given.pass();
    const foreign = { ...lease, passId: 'another' };
    expect(await store.endPass(foreign, endOf())).toEqual({ status: 'fenced' });
    expect(await store.commitVersion(foreign, commitOf(0, 4))).toEqual({ status: 'fenced' });
    expect(await store.readVersion(conversation, 1)).toBeUndefined();
    await markGone(conversation);
    for (const answer of [
      await store.endPass(lease, endOf()),
      await store.commitVersion(lease, commitOf(0, 4)),
      await store.heartbeatPass(lease),
      await store.readReasons(lease),
      await store.recordPlan(lease, planOf(2)),
      await store.parkPass(lease, 'job', 1),
      await store.claimPass(conversation, 'o', 'job', 'w'),
    ]) {
      expect(answer).toEqual({ status: 'gone' });
    }
  });
}
