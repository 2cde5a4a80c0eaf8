import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { ConversationRef } from '../../../src/domain/ids.ts';
import type { TurnUsage } from '../../../src/domain/turn.ts';
import { claimPass, claimSummary, summaryOf } from '../pass-samples.ts';
import { acceptAndClaim, textStep } from '../samples.ts';
import type { Given } from './fixture.ts';

const USAGE: TurnUsage = { inputTokens: 1_000, outputTokens: 50, cachedTokens: 800, costMicros: 1_234 };

function times(usage: TurnUsage, factor: number): TurnUsage {
  return Object.fromEntries(
    Object.entries(usage).map(([name, amount]) => [name, amount * factor]),
  ) as unknown as TurnUsage;
}

export function describeSpending(given: Given): void {
  const open = (): ConversationRef => ({ tenant: `tenant.${randomUUID()}`, id: 'c' });

  async function runTurn(conversation: ConversationRef, turn: string): Promise<void> {
    const { store } = given.harness();
    const claimed = await acceptAndClaim(store, conversation, turn);
    const { head } = claimed.conversation;
    const step = { ...textStep('s', head), usage: USAGE };
    for (const attempt of ['first', 'repeated']) {
      const recorded = await store.recordStep(claimed.lease, step);
      expect(recorded.status, attempt).toBe(attempt === 'first' ? 'recorded' : 'known');
    }
    const end = { state: 'completed', answerSeq: head + 1 } as const;
    for (const attempt of ['first', 'repeated']) {
      const settled = await store.settle(claimed.lease, end, `wake-${turn}`);
      expect(settled.status, attempt).toBe(attempt === 'first' ? 'settled' : 'known');
    }
  }

  test('the usage of a turn is added to the sums of its conversation and tenant once, however often its scripts run', async () => {
    const { store } = given.harness();
    const conversation = open();
    await runTurn(conversation, 't1');
    expect((await store.readTurn(conversation, 't1'))?.usage).toEqual(USAGE);
    expect((await store.readConversation(conversation))?.spent).toEqual(USAGE);
    await runTurn(conversation, 't2');
    expect((await store.readConversation(conversation))?.spent).toEqual(times(USAGE, 2));
    expect(await store.readTenantUsage(conversation.tenant)).toEqual(times(USAGE, 2));
    expect(await store.readTenantUsage('nobody')).toEqual({ inputTokens: 0, outputTokens: 0 });
  });

  test('the event of a settled turn has the usage of its model calls', async () => {
    const { store } = given.harness();
    const conversation = open();
    await runTurn(conversation, 't1');
    const { events } = await store.readEvents({ conversation, after: '0-0', limit: 10 });
    expect(events).toMatchObject([{ type: 'turn_settled', turn: 't1', state: 'completed', usage: USAGE }]);
  });

  test('the usage of a canceled turn includes the calls that were recorded', async () => {
    const { store } = given.harness();
    const conversation = open();
    const { lease, conversation: state } = await acceptAndClaim(store, conversation, 't1');
    await store.recordStep(lease, { ...textStep('s', state.head), usage: USAGE });
    for (const wake of ['w', 'w']) await store.cancel(conversation, 't1', wake);
    expect((await store.readConversation(conversation))?.spent).toEqual(USAGE);
  });

  test('a turn without reported usage adds nothing to the sums', async () => {
    const { store } = given.harness();
    const conversation = open();
    const { lease, conversation: state } = await acceptAndClaim(store, conversation, 't1');
    await store.recordStep(lease, textStep('s', state.head));
    await store.settle(lease, { state: 'completed', answerSeq: state.head + 1 }, 'w');
    expect(await store.readConversation(conversation)).not.toHaveProperty('spent');
    const { events } = await store.readEvents({ conversation, after: '0-0', limit: 10 });
    expect(events[0]).not.toHaveProperty('usage');
  });

  test('the sums of a tenant keep the usage of its erased conversations', async () => {
    const { store } = given.harness();
    const conversation = open();
    await runTurn(conversation, 't1');
    await store.erase(conversation);
    expect(await store.readTenantUsage(conversation.tenant)).toEqual(USAGE);
  });

  test('the usage of a recorded summary or refusal is added once, and is not stored in the record', async () => {
    const { store, conversation } = await given.log();
    const { lease: pass } = await claimPass(store, conversation);
    const lease = await claimSummary(store, conversation, 'h', pass.passId);
    const refused = { status: 'refused', why: 'not smaller' } as const;
    const accepted = { status: 'accepted', summary: summaryOf(4).summary, weight: { tokens: 9, bytes: 33 } } as const;
    for (const record of [refused, refused, accepted, accepted])
      await store.recordSummary(lease, { ...record, usage: USAGE });
    expect((await store.readConversation(conversation))?.spent).toEqual(times(USAGE, 2));
    expect(await store.readSummaries(conversation, ['h'])).toEqual([accepted]);
  });

  test('the usage of a summary part is added once: if the same part was recorded before, its usage is not added again', async () => {
    const { store, conversation } = await given.log();
    const lease = await claimSummary(store, conversation, 'h');
    for (const text of ['first', 'first', 'second', 'second']) await store.recordPart(lease, 'k', text, USAGE);
    expect((await store.readConversation(conversation))?.spent).toEqual(USAGE);
  });
}
