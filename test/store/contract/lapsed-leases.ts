import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { ConversationRef } from '../../../src/domain/ids.ts';
import type { DueEntry } from '../../../src/store/due-work.ts';
import { textStep, turnFor } from '../samples.ts';
import type { Given } from './fixture.ts';

const DAY_MS = 86_400_000;

/** Ends the leases of a dead worker. */
export function describeLapsedLeases(given: Given): void {
  /** A conversation whose turn `t1` and whose pass are claimed by a worker. */
  async function claimBoth(worker: string) {
    const start = await given.log();
    const { store, conversation } = start;
    await store.accept(turnFor(conversation, 't1'));
    await store.requestPass({ conversation, reasons: [], passId: 'p', wake: 'w2' });
    const turn = await store.claim(conversation, `${worker}-1`, 'w1');
    const pass = await store.claimPass(conversation, `${worker}-2`, 'job', 'w2');
    if (turn.status !== 'claimed' || pass.status !== 'claimed') throw new Error('not claimed');
    return { ...start, turn: turn.turn.lease, pass: pass.pass.lease };
  }

  async function lapse(worker: string): Promise<readonly DueEntry[]> {
    const { due, failure } = await given.harness().store.lapseLeases(worker);
    expect(failure).toBeUndefined();
    return due.toSorted((a, b) => (a.kind < b.kind ? 1 : -1));
  }

  const bothOf = (conversation: ConversationRef): DueEntry[] => [
    { kind: 'turn', conversation },
    { kind: 'pass', conversation },
  ];

  test('lapseLeases ends the leases of the turns and passes of one worker, so that others can claim them', async () => {
    const [gone, other] = [randomUUID(), randomUUID()];
    const { store, dueIn, conversation } = await claimBoth(gone);
    const { conversation: kept } = await claimBoth(other);
    expect(await lapse(gone)).toEqual(bothOf(conversation));
    expect(await store.inspectTurn(conversation)).toMatchObject({ status: 'lapsed', hadWorker: true });
    expect(await store.inspectPass(conversation)).toMatchObject({ status: 'lapsed', hadWorker: true });
    for (const entry of ['t', 'p'] as const) expect(await dueIn(conversation, entry)).toBeLessThanOrEqual(1_000);
    expect(await store.inspectTurn(kept)).toEqual({ status: 'quiet' });
    expect(await store.inspectPass(kept)).toEqual({ status: 'quiet' });
    expect(await store.claim(conversation, 'next', 'w')).toMatchObject({ status: 'claimed', turn: { attempt: 2 } });
    expect(await store.claimPass(conversation, 'next', 'job', 'w')).toMatchObject({ status: 'claimed' });
    expect(await lapse(gone), 'they have another owner').toEqual([]);
    expect(await lapse(other)).toEqual(bothOf(kept));
  });

  test('lapseLeases does not confuse a worker with another worker whose name begins with the same text', async () => {
    const gone = randomUUID();
    const { store, conversation } = await claimBoth(`${gone}x`);
    expect(await lapse(gone)).toEqual([]);
    expect(await store.inspectTurn(conversation)).toEqual({ status: 'quiet' });
  });

  test('after lapseLeases, a worker that is alive continues until another worker claims its turn and pass (I8)', async () => {
    const alive = randomUUID();
    const { store, conversation, turn, pass } = await claimBoth(alive);
    const before = await given.harness().observe(conversation);
    await lapse(alive);
    expect((await given.harness().observe(conversation)).shape).toEqual(before.shape);
    expect(await store.heartbeat(turn)).toMatchObject({ status: 'renewed' });
    expect(await store.heartbeatPass(pass)).toMatchObject({ status: 'renewed' });
    expect(await store.inspectTurn(conversation)).toEqual({ status: 'quiet' });
    expect(await store.inspectPass(conversation)).toEqual({ status: 'quiet' });
    await lapse(alive);
    expect(await store.recordStep(turn, textStep('model.1', 9))).toMatchObject({ status: 'recorded' });
    await lapse(alive);
    await store.claim(conversation, 'next', 'w');
    await store.claimPass(conversation, 'next', 'job', 'w');
    expect(await store.heartbeat(turn)).toEqual({ status: 'fenced' });
    expect(await store.heartbeatPass(pass)).toEqual({ status: 'fenced' });
  });

  test('lapseLeases drops the worker’s claims on summaries, and ends the wait of their pass', async () => {
    const [gone, other] = [randomUUID(), randomUUID()];
    const { store, conversation, pass } = await claimBoth(other);
    expect(await store.parkPass(pass, 'job', DAY_MS)).toEqual({ status: 'parked' });
    await store.claimSummary(conversation, 'lost', `${gone}-1`);
    await store.claimSummary(conversation, 'kept', `${other}-3`);
    expect(await lapse(gone)).toEqual([{ kind: 'pass', conversation }]);
    expect(await store.claimSummary(conversation, 'lost', 'next')).toEqual({ status: 'claimed' });
    expect(await store.claimSummary(conversation, 'kept', 'next')).toEqual({ status: 'in_flight' });
    expect(await store.inspectPass(conversation)).toMatchObject({ status: 'lapsed' });
    expect(await store.claimPass(conversation, 'next', 'other job', 'w')).toMatchObject({ status: 'claimed' });
  });

  test('lapseLeases drops a dead worker’s claims on the summaries of its own pass', async () => {
    const dead = randomUUID();
    const { store, conversation } = await claimBoth(dead);
    await store.claimSummary(conversation, 'own', `${dead}-2`);
    expect(await lapse(dead)).toEqual(bothOf(conversation));
    expect(await store.claimSummary(conversation, 'own', 'next')).toEqual({ status: 'claimed' });
  });

  test('lapseLeases leaves a pass that waits for the summaries of other workers', async () => {
    const [gone, other] = [randomUUID(), randomUUID()];
    const { store, conversation, pass } = await claimBoth(gone);
    await store.parkPass(pass, 'job', DAY_MS);
    await store.claimSummary(conversation, 'kept', `${other}-1`);
    expect(await lapse(gone)).toEqual([{ kind: 'turn', conversation }]);
    expect(await store.inspectPass(conversation)).toEqual({ status: 'quiet' });
    expect(await store.claimSummary(conversation, 'kept', 'next')).toEqual({ status: 'in_flight' });
  });

  test('lapseLeases leaves a turn that runs alone in its process, because the next claim may settle it as poison (I10)', async () => {
    const gone = randomUUID();
    const { store, conversation, turn } = await claimBoth(gone);
    expect(await store.startAlone(turn)).toEqual({ status: 'recorded' });
    expect(await lapse(gone)).toEqual([{ kind: 'pass', conversation }]);
    expect(await store.inspectTurn(conversation)).toEqual({ status: 'quiet' });
  });

  test('lapseLeases finds nothing of a worker whose turn is settled or waits', async () => {
    const gone = randomUUID();
    const { store, conversation, turn } = await claimBoth(gone);
    await store.releasePass({ conversation, passId: 'p', owner: `${gone}-2` });
    await store.suspend(turn, { for: 'retry', step: 'model.1', waitMs: DAY_MS, calls: [] });
    expect(await lapse(gone)).toEqual([]);
    expect(await store.inspectTurn(conversation)).toEqual({ status: 'quiet' });
  });
}
