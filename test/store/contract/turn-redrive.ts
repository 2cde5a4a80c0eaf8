import { expect, test } from 'vitest';
import type { ErrorCode } from '../../../src/domain/errors.ts';
import { type ConversationRef, nameConversation } from '../../../src/domain/ids.ts';
import { acceptAndClaim, claimHead, newConversation, turnFor } from '../samples.ts';
import type { Given } from './fixture.ts';

const FAILURE = { code: 'model_failed', message: 'it broke: "[]"' } as const;

export function describeRedrive(given: Given): void {
  async function fail(conversation: ConversationRef, turn: string, code: ErrorCode = FAILURE.code): Promise<void> {
    const { store } = given.harness();
    const { lease } = await acceptAndClaim(store, conversation, turn);
    await store.settle(lease, { state: 'failed', failure: { ...FAILURE, code } }, `w-${turn}`);
  }

  test('re-driving (repeating) a failed turn appends a new turn to the mailbox, and each of the two records the id of the other', async () => {
    const { store, conversation } = given.nothing();
    await fail(conversation, 't1');
    await store.accept(turnFor(conversation, 't2'));
    const again = turnFor(conversation, 'again', { redriveOf: 't1' });
    expect(await store.accept(again)).toEqual({ status: 'accepted', state: 'queued', needsWake: false });
    expect(await store.readTurn(conversation, 't1')).toMatchObject({ state: 'failed', redrivenAs: 'again' });
    expect(await store.readTurn(conversation, 'again')).toMatchObject({ state: 'queued', redriveOf: 't1' });
    expect(await store.readTurn(conversation, 't2')).not.toHaveProperty('redriveOf');
    const { lease } = await claimHead(store, conversation);
    expect(lease.turn).toBe('t2');
    await store.settle(lease, { state: 'completed', answerSeq: 1 }, 'w');
    expect((await claimHead(store, conversation)).lease.turn).toBe('again');
    expect(await store.readTurn(conversation, 'again')).toMatchObject({ redriveOf: 't1' });
  });

  test('a repeated re-drive of a failed turn replies known, in whatever state the new turn is', async () => {
    const { store, observe, conversation } = given.nothing();
    await fail(conversation, 't1');
    const again = turnFor(conversation, 'again', { redriveOf: 't1' });
    await store.accept(again);
    const before = await observe(conversation);
    expect(await store.accept(again)).toEqual({ status: 'known', state: 'queued', needsWake: true });
    expect((await observe(conversation)).shape).toEqual(before.shape);
    const { lease } = await claimHead(store, conversation);
    await store.settle(lease, { state: 'failed', failure: FAILURE }, 'w');
    expect(await store.accept(again)).toEqual({ status: 'known', state: 'failed', needsWake: false });
  });

  test('a re-drive (repetition) is refused for a turn that has not failed or is unknown', async () => {
    const { store, observe, markGone, conversation } = given.nothing();
    const again = turnFor(conversation, 'again', { redriveOf: 't1' });
    expect(await store.accept(again)).toEqual({ status: 'not_failed' });
    await store.accept(turnFor(conversation, 't1'));
    const queued = await observe(conversation);
    expect(await store.accept(again)).toEqual({ status: 'not_failed', state: 'queued' });
    expect((await observe(conversation)).shape).toEqual(queued.shape);
    const { lease } = await claimHead(store, conversation);
    await store.settle(lease, { state: 'completed', answerSeq: 1 }, 'w');
    expect(await store.accept(again)).toEqual({ status: 'not_failed', state: 'completed' });
    await fail(conversation, 't2');
    await markGone(conversation);
    expect(await store.accept({ ...again, redriveOf: 't2' }), 'an erased one').toEqual({ status: 'not_failed' });
    expect(await store.readTurn(conversation, 'again')).toBeUndefined();
  });

  /** A new tenant, because turns of other tests fail as well. */
  function newTenant(): ConversationRef {
    const { id } = newConversation();
    return { tenant: id, id };
  }

  test('listFailed lists failed turns with their failures, newest first', async () => {
    const { store } = given.harness();
    const conversation = newTenant();
    const { tenant } = conversation;
    await fail(conversation, 't1');
    const { lease } = await acceptAndClaim(store, conversation, 'done');
    await store.settle(lease, { state: 'completed', answerSeq: 1 }, 'w');
    await store.accept(turnFor(conversation, 'canceled'));
    await store.cancel(conversation, 'canceled', 'w');
    const failedAt = Date.now();
    await expect.poll(() => Date.now(), { interval: 1 }).toBeGreaterThan(failedAt + 1);
    await store.accept(turnFor(conversation, 'poisoned'));
    await given.killOwners(conversation);
    await store.claim(conversation, 'o', 'w');
    const query = { since: 0, tenant, limit: 10 };
    const listed = await store.listFailed(query);
    expect(listed).toMatchObject([
      { ...nameConversation(conversation), turn: 'poisoned', agent: 'agent', failure: { code: 'poison' } },
      { ...nameConversation(conversation), turn: 't1', agent: 'agent', failure: FAILURE },
    ]);
    const [latest, first] = listed.map((turn) => turn.failedAt);
    expect(latest).toBeGreaterThan(first ?? Number.POSITIVE_INFINITY);
    expect(await store.listFailed({ ...query, code: 'poison' })).toMatchObject([{ turn: 'poisoned' }]);
    expect(await store.listFailed({ ...query, limit: 1 })).toMatchObject([{ turn: 'poisoned' }]);
    expect(await store.listFailed({ ...query, since: (latest ?? 0) + 1 })).toEqual([]);
    expect(await store.listFailed({ ...query, tenant: 'nobody' })).toEqual([]);
  });

  test('listFailed returns the new turn id of a re-driven turn, and lists no turn of an erased conversation', async () => {
    const { store, markGone } = given.harness();
    const conversation = newTenant();
    const query = { since: 0, tenant: conversation.tenant, limit: 10 };
    await fail(conversation, 't1');
    await store.accept(turnFor(conversation, 'again', { redriveOf: 't1' }));
    expect(await store.listFailed(query)).toMatchObject([{ turn: 't1', redrivenAs: 'again' }]);
    await markGone(conversation);
    await store.accept(turnFor(conversation, 't1'));
    expect(await store.listFailed(query), 'it was made anew').toEqual([]);
  });
}
