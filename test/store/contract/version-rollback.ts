import { expect, test } from 'vitest';
import { PASS_LIMITS } from '../../../src/domain/pass.ts';
import { START_VERSION, type Version } from '../../../src/domain/version.ts';
import type { StepOutcome } from '../../../src/store/turn-steps.ts';
import { claimPass, commitOf, makeConversation, planOf } from '../pass-samples.ts';
import { acceptAndClaim, textStep } from '../samples.ts';
import type { Given } from './fixture.ts';

/** A rollback of version `refused` to a version that shows the whole log. */
function rollbackOver(refused: number) {
  const version: Version = { ...START_VERSION, number: refused + 1, parent: refused, cause: 'rollback', at: 7 };
  const refusedSegments = `hash-of-${refused}`;
  return { expectedVersion: refused, shownVersion: refused, version, refusedSegments, keepVersions: 200 };
}

export function describeVersionRollback(given: Given): void {
  /** Starts a turn in a conversation whose live version is 1. */
  async function runTurn() {
    const { store } = given.harness();
    const conversation = await makeConversation(store, 8);
    const { lease: pass } = await claimPass(store, conversation);
    await store.commitVersion(pass, commitOf(0, 4));
    const { lease } = await acceptAndClaim(store, conversation, 't1');
    return { conversation, lease };
  }

  test('rollBackVersion replaces the version that the provider refused, blocks its segments (compacted ranges) from reuse, and the turn continues', async () => {
    const { store, events } = given.harness();
    const { conversation, lease } = await runTurn();
    const rollback = rollbackOver(1);
    const result = await store.rollBackVersion(lease, rollback);
    const state = await store.readConversation(conversation);
    expect(result).toEqual({ status: 'rolled_back', conversation: state });
    expect(state).toMatchObject({
      head: 9,
      size: { version: 2, weight: { tokens: 0, bytes: 0 }, baseTotal: { tokens: 0, bytes: 0 } },
      quarantine: { version: 2, segments: 'hash-of-1' },
    });
    expect(await store.readVersion(conversation, 2)).toEqual(rollback.version);
    expect(await store.readVersion(conversation, 1), 'is kept, to be looked at').toBeDefined();
    expect((await store.readContext(conversation))?.entries).toHaveLength(9);
    expect(await store.recordStep(lease, textStep('s', 9))).toMatchObject({ status: 'recorded' });
    expect((await events(conversation)).map(({ type, cause }) => [type, cause])).toContainEqual([
      'version_committed',
      'rollback',
    ]);
  });

  test.each<[string, Partial<StepOutcome>]>([
    ['the provider reported usage', { anchor: { tokens: 107, version: 1 } }],
    ['the provider reported no usage', {}],
  ])('rollBackVersion refuses to replace a version with which a model has answered, if %s', async (_, counted) => {
    const { store, events } = given.harness();
    const { conversation, lease } = await runTurn();
    await store.recordStep(lease, { ...textStep('model.1', 9), answeredVersion: 1, ...counted });
    const [before, told] = [await store.readConversation(conversation), await events(conversation)];
    expect(before).toMatchObject({ answeredVersion: 1 });
    expect(await store.rollBackVersion(lease, rollbackOver(1))).toEqual({ status: 'answered' });
    expect(await store.readConversation(conversation)).toEqual(before);
    expect(await events(conversation)).toEqual(told);
  });

  test('rollBackVersion restarts a compaction pass that waits for child jobs, because the pass’s plan is based on the refused version', async () => {
    const { store, dueIn } = given.harness();
    const { conversation, lease } = await runTurn();
    const parked = await claimPass(store, conversation, { job: 'parent' });
    await store.recordPlan(parked.lease, planOf(2));
    await store.parkPass(parked.lease, 'parent', PASS_LIMITS.parkMs);
    await store.rollBackVersion(lease, rollbackOver(1));
    expect(await dueIn(conversation, 'p'), 'the sweeper wakes it').toBeLessThanOrEqual(0);
    const claim = await store.claimPass(conversation, 'owner', 'another', 'w');
    expect(claim).toMatchObject({ pass: { lease: { passId: parked.lease.passId }, attempt: 1 } });
    expect(claim).not.toHaveProperty('pass.plan');
  });

  test('rollBackVersion leaves a compaction pass in progress if a worker has claimed the pass', async () => {
    const { store } = given.harness();
    const { conversation, lease } = await runTurn();
    const { lease: pass } = await claimPass(store, conversation);
    await store.rollBackVersion(lease, rollbackOver(1));
    expect(await store.heartbeatPass(pass)).toEqual({ status: 'renewed' });
  });

  test('rollBackVersion refuses to replace a version whose segments (compacted ranges) equal those of a version that a model has answered', async () => {
    const { store } = given.harness();
    const { conversation, lease } = await runTurn();
    await store.recordStep(lease, { ...textStep('model.1', 9), answeredVersion: 1 });
    const { lease: pass } = await claimPass(store, conversation);
    await store.commitVersion(pass, commitOf(1, 6));
    expect(await store.rollBackVersion(lease, rollbackOver(2))).toMatchObject({ status: 'rolled_back' });
    const again = { ...rollbackOver(3), shownVersion: 1 };
    expect(await store.rollBackVersion(lease, again)).toEqual({ status: 'answered' });
    expect(await store.readConversation(conversation)).toMatchObject({ size: { version: 3 } });
  });

  test('a repeated rollBackVersion gets the reply known and writes nothing', async () => {
    const { store, events } = given.harness();
    const { conversation, lease } = await runTurn();
    await store.rollBackVersion(lease, rollbackOver(1));
    const told = await events(conversation);
    expect(await store.rollBackVersion(lease, rollbackOver(1))).toEqual({
      status: 'known',
      conversation: await store.readConversation(conversation),
    });
    expect(await events(conversation)).toEqual(told);
  });

  test('rollBackVersion writes nothing if another version is live than the caller expects', async () => {
    const { store } = given.harness();
    const { conversation, lease } = await runTurn();
    const { lease: pass } = await claimPass(store, conversation);
    await store.commitVersion(pass, commitOf(1, 6));
    const before = await store.readConversation(conversation);
    expect(await store.rollBackVersion(lease, rollbackOver(1))).toEqual({ status: 'version_changed', version: 2 });
    expect(await store.readConversation(conversation)).toEqual(before);
  });

  test('rollBackVersion is refused to a worker that has lost the turn', async () => {
    const { store } = given.harness();
    const { conversation, lease } = await runTurn();
    expect(await store.rollBackVersion({ ...lease, owner: 'another' }, rollbackOver(1))).toEqual({
      status: 'fenced',
    });
    expect(await store.rollBackVersion({ ...lease, epoch: lease.epoch - 1 }, rollbackOver(1))).toEqual({
      status: 'fenced',
    });
    await store.erase(conversation);
    expect(await store.rollBackVersion(lease, rollbackOver(1))).toEqual({ status: 'gone' });
  });

  test('rollBackVersion refuses a version number that is not the next in sequence', async () => {
    const { store } = given.harness();
    const { lease } = await runTurn();
    const gap = { ...rollbackOver(1), version: { ...rollbackOver(1).version, number: 5 } };
    await expect(async () => store.rollBackVersion(lease, gap)).rejects.toMatchObject({ code: 'conflict' });
  });
}
