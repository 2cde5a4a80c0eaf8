import { expect, test } from 'vitest';
import type { WaitRequest } from '../../../src/domain/turn.ts';
import { claimHead, turnFor } from '../samples.ts';
import type { Given } from './fixture.ts';

const TRACE_PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const FIRST_RUN = '00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01';

export function describeTraces(given: Given): void {
  const wait: WaitRequest = { for: 'retry', step: 'model-1', waitMs: 0, calls: [] };

  test('every claim of a turn returns the trace span of the caller that enqueued the turn, and reads of the turn do not', async () => {
    const { store, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1', { traceParent: TRACE_PARENT }));
    const first = await claimHead(store, conversation);
    await store.suspend(first.lease, wait);
    const second = await claimHead(store, conversation);
    expect([first.traceParent, second.traceParent]).toEqual([TRACE_PARENT, TRACE_PARENT]);
    expect(JSON.stringify(await store.readTurn(conversation, 't1'))).not.toContain(TRACE_PARENT);
  });

  test('the settlement that claims the next turn returns the trace span of that turn’s caller', async () => {
    const { store, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1'));
    await store.accept(turnFor(conversation, 't2', { traceParent: TRACE_PARENT }));
    const { lease, ...first } = await claimHead(store, conversation);
    expect(first).not.toHaveProperty('traceParent');
    const settled = await store.settle(lease, { state: 'completed', answerSeq: 1 }, undefined);
    expect(settled).toMatchObject({ next: { traceParent: TRACE_PARENT } });
  });

  test('only the next claim of a turn returns the trace span that ended at its suspension', async () => {
    const { store, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1'));
    const first = await claimHead(store, conversation);
    expect(first.waited).toBeUndefined();
    await store.suspend(first.lease, { ...wait, suspendedIn: FIRST_RUN });
    const { waiting } = (await store.readTurn(conversation, 't1')) ?? {};
    expect(JSON.stringify(waiting)).not.toContain(FIRST_RUN);
    const second = await claimHead(store, conversation);
    expect(second.waited).toMatchObject({ for: 'retry', suspendedIn: FIRST_RUN });
    await store.suspend(second.lease, wait);
    const third = await claimHead(store, conversation);
    expect(third.waited).toMatchObject({ for: 'retry' });
    expect(third.waited).not.toHaveProperty('suspendedIn');
  });
}
