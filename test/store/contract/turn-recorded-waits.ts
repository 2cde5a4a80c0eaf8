import { expect, test } from 'vitest';
import type { ConversationRef } from '../../../src/domain/ids.ts';
import type { TurnLease } from '../../../src/domain/lease.ts';
import type { AnswerKind, WaitingCall, WaitRequest } from '../../../src/domain/turn.ts';
import type { AnswerResult, StoredAnswer } from '../../../src/store/turn-answers.ts';
import { acceptAndClaim, callsStep, claimHead, newConversation, resultStep, toWaitFor } from '../samples.ts';
import type { Given } from './fixture.ts';

interface SuspendedTurn {
  readonly conversation: ConversationRef;
  readonly lease: TurnLease;
  readonly wait: WaitRequest;
}

const HASHES: Readonly<Record<string, string>> = { c2_0: 'h0', c2_1: 'h1' };

function answerOf(verdict: string, facts: Partial<StoredAnswer> = {}): StoredAnswer {
  const kind = verdict === 'approved' || verdict === 'denied' ? 'approval' : 'tools';
  const unused = { tokens: 1, bytes: 1, json: `{"content":"${verdict}"}` };
  return { for: kind, json: JSON.stringify({ verdict }), unused, verdict, ...facts };
}

export function describeRecordedWaits(given: Given): void {
  /** Suspends a turn that waits for two calls, with their inputs and hashes. */
  async function suspendTurn(
    kind: AnswerKind = 'approval',
    conversation: ConversationRef = newConversation(),
  ): Promise<SuspendedTurn> {
    const { store } = given.harness();
    const { lease } = await acceptAndClaim(store, conversation, 't1');
    await store.recordStep(lease, callsStep('model.1', 1, 2));
    const calls = toWaitFor(['c2_0', 'c2_1']).map((call) => ({
      ...call,
      input: '{"lines":[1]}',
      hash: HASHES[call.id] ?? '',
    }));
    const wait = { for: kind, step: 'model.1', waitMs: 86_400_000, calls };
    expect(await store.suspend(lease, wait)).toEqual({ status: 'suspended' });
    return { conversation, lease, wait };
  }

  async function answer(conversation: ConversationRef, answers: Record<string, StoredAnswer>): Promise<AnswerResult> {
    const request = { conversation, turn: 't1', answers: new Map(Object.entries(answers)), wake: 'w' };
    return await given.harness().store.answerTurn(request);
  }

  async function readCalls(conversation: ConversationRef): Promise<readonly WaitingCall[] | undefined> {
    return (await given.harness().store.readTurn(conversation, 't1'))?.waiting?.calls;
  }

  test('an answer that names a call only by its id is refused in a conversation that was erased and created again', async () => {
    const { store } = given.harness();
    const erased = await suspendTurn();
    await store.erase(erased.conversation);
    const { conversation } = await suspendTurn('approval', erased.conversation);
    expect(await answer(conversation, { c2_0: answerOf('approved') })).toEqual({
      status: 'unnamed_call',
      call: 'c2_0',
    });
    expect(await answer(conversation, { c2_0: answerOf('approved', { hash: 'h0' }) })).toEqual({
      status: 'still_waiting',
    });
  });

  test('a wait for answers records the input and the hash of each call, for readers and for the next claim', async () => {
    const { store, passDeadline } = given.harness();
    const { conversation } = await suspendTurn();
    const recorded = [
      { id: 'c2_0', input: '{"lines":[1]}', hash: 'h0' },
      { id: 'c2_1', input: '{"lines":[1]}', hash: 'h1' },
    ];
    expect(await readCalls(conversation)).toMatchObject(recorded);
    expect((await store.listOpen(conversation, 1))?.turns[0]?.waiting?.calls).toMatchObject(recorded);
    await passDeadline(conversation, 't1');
    expect((await claimHead(store, conversation)).waited).toMatchObject({ for: 'approval', calls: recorded });
  });

  test('an answer with the hash of another call is refused, and stores nothing', async () => {
    const { conversation } = await suspendTurn();
    const answers = { c2_0: answerOf('approved', { hash: 'h0' }), c2_1: answerOf('approved', { hash: 'h0' }) };
    expect(await answer(conversation, answers)).toEqual({ status: 'other_call', call: 'c2_1' });
    for (const call of (await readCalls(conversation)) ?? []) expect(call).not.toHaveProperty('decision');
    expect(await answer(conversation, { c2_0: answers.c2_0 })).toEqual({ status: 'still_waiting' });
  });

  test('an answer with a hash is refused if the wait recorded no hash, and an answer without a hash is accepted', async () => {
    const { store, conversation, lease } = await given.running();
    await store.recordStep(lease, callsStep('model.1', 1, 1));
    await store.suspend(lease, { for: 'tools', step: 'model.1', waitMs: 60_000, calls: toWaitFor(['c2_0']) });
    const named = { c2_0: answerOf('r1', { hash: 'h0' }) };
    expect(await answer(conversation, named)).toEqual({ status: 'other_call', call: 'c2_0' });
    expect(await answer(conversation, { c2_0: answerOf('r1') })).toMatchObject({ status: 'answered' });
  });

  test('a decided call shows its verdict, time and person while another call of the turn waits', async () => {
    const { store, observe } = given.harness();
    const { conversation } = await suspendTurn();
    const { now } = (await observe(conversation)).times;
    await answer(conversation, { c2_1: answerOf('denied', { by: 'ann of "sales"' }) });
    const decision = { approved: false, at: expect.any(Number) as number, by: 'ann of "sales"' };
    const calls = await readCalls(conversation);
    expect(calls).toMatchObject([{ id: 'c2_0' }, { id: 'c2_1', decision }]);
    expect(calls?.[1]?.decision?.at).toBeGreaterThanOrEqual(now);
    expect(calls?.[0]).not.toHaveProperty('decision');
    const open = await store.listOpen(conversation, 1);
    expect(open?.turns[0]?.waiting?.calls, 'in every view').toEqual(calls);
  });

  test('an answer that contradicts an earlier answer is refused with the recorded decision, and stores nothing', async () => {
    const { conversation } = await suspendTurn();
    await answer(conversation, { c2_0: answerOf('denied', { by: 'ann' }) });
    const contrary = { c2_1: answerOf('approved'), c2_0: answerOf('approved') };
    const decision = { approved: false, at: expect.any(Number) as number, by: 'ann' };
    expect(await answer(conversation, contrary)).toEqual({ status: 'decided', call: 'c2_0', decision });
    expect((await readCalls(conversation))?.[1]).not.toHaveProperty('decision');
    const same = { c2_0: answerOf('denied', { by: 'bob', json: '{"another":"reason"}' }), c2_1: answerOf('approved') };
    expect(await answer(conversation, same)).toMatchObject({ status: 'answered' });
  });

  test('a second answer with another result is refused with the time of the first answer, without a verdict', async () => {
    const { conversation } = await suspendTurn('tools');
    await answer(conversation, { c2_0: answerOf('r1') });
    const refused = await answer(conversation, { c2_0: answerOf('r2') });
    expect(refused).toEqual({ status: 'decided', call: 'c2_0', decision: { at: expect.any(Number) as number } });
    expect(await answer(conversation, { c2_0: answerOf('r1') })).toEqual({ status: 'still_waiting' });
  });

  test('contrary answers, and answers to another call with the same id, are refused even after the turn has settled', async () => {
    const { store } = given.harness();
    const { conversation } = await suspendTurn();
    const answers = { c2_0: answerOf('denied', { hash: 'h0' }), c2_1: answerOf('denied', { hash: 'h1' }) };
    expect(await answer(conversation, answers)).toMatchObject({ status: 'answered' });
    const { lease } = await claimHead(store, conversation);
    for (const id of ['c2_0', 'c2_1']) await store.recordStep(lease, resultStep(`tool.${id}`, id));
    for (const when of ['while the turn runs', 'after its end']) {
      expect(await answer(conversation, answers), when).toEqual({ status: 'answered' });
      expect(await answer(conversation, { c2_0: answerOf('approved') }), when).toMatchObject({ status: 'decided' });
      const other = { c2_0: answerOf('denied', { hash: 'h9' }) };
      expect(await answer(conversation, other), when).toEqual({ status: 'other_call', call: 'c2_0' });
      const failed = { state: 'failed', failure: { code: 'model_failed', message: '' } } as const;
      if (when === 'while the turn runs') await store.settle(lease, failed, 'w2');
    }
  });

  test('a turn that waits again for one call keeps the recorded decision on its other call', async () => {
    const { store } = given.harness();
    const { conversation, wait } = await suspendTurn();
    await answer(conversation, { c2_0: answerOf('approved', { by: 'ann' }), c2_1: answerOf('approved') });
    const { lease, answers } = await claimHead(store, conversation);
    expect([...answers.keys()].toSorted()).toEqual(['c2_0', 'c2_1']);
    await store.suspend(lease, wait);
    expect(await answer(conversation, { c2_0: answerOf('denied') })).toMatchObject({
      status: 'decided',
      decision: { approved: true, by: 'ann' },
    });
  });
}
