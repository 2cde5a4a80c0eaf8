import { expect, test } from 'vitest';
import type { SummaryRecord } from '../../../src/store/summaries.ts';
import { appendOf, claimPass, claimSummary, endOf, makeConversation, summaryOf } from '../pass-samples.ts';
import type { Given } from './fixture.ts';

function accepted(text = 'a summary: "ü", [] and {}'): SummaryRecord {
  const { summary } = summaryOf(4);
  return { status: 'accepted', summary: { ...summary, text }, weight: { tokens: 9, bytes: 33 } };
}

const REFUSED: SummaryRecord = { status: 'refused', why: 'not smaller' };

export function describeSummaryStore(given: Given): void {
  test('only one owner at a time can claim the summary of a range of messages', async () => {
    const { store, expireSummary, conversation } = await given.log();
    expect(await store.claimSummary(conversation, 'h', 'a')).toEqual({ status: 'claimed' });
    expect(await store.claimSummary(conversation, 'h', 'a'), 'I5').toEqual({ status: 'claimed' });
    expect(await store.claimSummary(conversation, 'h', 'b')).toEqual({ status: 'in_flight' });
    expect(await store.claimSummary(conversation, 'other', 'b')).toEqual({ status: 'claimed' });
    expect(await store.heartbeatSummary(conversation, 'h', 'a')).toBe(true);
    expect(await store.heartbeatSummary(conversation, 'h', 'b')).toBe(false);
    await expireSummary(conversation, 'h');
    expect(await store.heartbeatSummary(conversation, 'h', 'a'), 'its claim is lost').toBe(false);
    expect(await store.claimSummary(conversation, 'h', 'b')).toEqual({ status: 'claimed' });
    expect(await store.heartbeatSummary(conversation, 'h', 'a')).toBe(false);
  });

  test('only the owner of a claim on a summary can release that claim', async () => {
    const { store, conversation } = await given.log();
    await store.claimSummary(conversation, 'h', 'a');
    await store.releaseSummary(conversation, 'h', 'b');
    expect(await store.claimSummary(conversation, 'h', 'b')).toEqual({ status: 'in_flight' });
    await store.releaseSummary(conversation, 'h', 'a');
    await store.releaseSummary(conversation, 'h', 'a');
    expect(await store.claimSummary(conversation, 'h', 'b')).toEqual({ status: 'claimed' });
  });

  test('after a summary was recorded, every claim on it returns its text, and the writer’s claim can no longer be renewed or released', async () => {
    const { store, conversation } = await given.log();
    const record = accepted();
    const { lease: pass } = await claimPass(store, conversation);
    const lease = await claimSummary(store, conversation, 'h', pass.passId);
    expect(await store.recordSummary(lease, record)).toBe('recorded');
    expect(await store.recordSummary(lease, record), 'I5').toBe('recorded');
    expect(await store.claimSummary(conversation, 'h', lease.owner)).toEqual({ status: 'known', record });
    expect(await store.heartbeatSummary(conversation, 'h', lease.owner)).toBe(false);
    await store.releaseSummary(conversation, 'h', lease.owner);
    expect(await store.readSummaries(conversation, ['h'])).toEqual([record]);
  });

  test('the first accepted summary of a range replaces a stored refusal, and later summaries do not overwrite it', async () => {
    const { store, expireSummary, conversation } = await given.log();
    const first = accepted('first');
    const { lease: pass } = await claimPass(store, conversation);
    const lease = await claimSummary(store, conversation, 'h', pass.passId);
    await store.recordSummary(lease, REFUSED);
    expect(await store.claimSummary(conversation, 'h', 'a')).toEqual({ status: 'known', record: REFUSED });
    for (const record of [first, accepted('second'), REFUSED]) await store.recordSummary(lease, record);
    expect(await store.readSummaries(conversation, ['h'])).toEqual([first]);
    await expireSummary(conversation, 'h');
    expect(await store.readSummaries(conversation, ['h'])).toEqual([undefined]);
  });

  test('the first recorded text of each part of a summary is never overwritten, and parts are stored separately from summaries', async () => {
    const { store, expireSummary, conversation } = await given.log();
    const lease = await claimSummary(store, conversation, 'h');
    expect(await store.readPart(conversation, 'k')).toBeUndefined();
    expect(await store.recordPart(lease, 'k', '## Goal\n"ü" []')).toBe('recorded');
    expect(await store.recordPart(lease, 'k', '## Goal\n"ü" []'), 'I5').toBe('recorded');
    expect(await store.recordPart(lease, 'k', 'second')).toBe('known');
    expect(await store.readPart(conversation, 'k')).toBe('## Goal\n"ü" []');
    expect(await store.readPart(conversation, 'other')).toBeUndefined();
    expect(await store.readPart(await makeConversation(store), 'k'), 'of another conversation').toBeUndefined();
    expect(await store.claimSummary(conversation, 'k', 'a')).toEqual({ status: 'claimed' });
    expect(await store.readPart(conversation, 'k')).toBe('## Goal\n"ü" []');
    await expireSummary(conversation, 'part:k');
    expect(await store.recordPart(lease, 'k', 'third')).toBe('recorded');
    expect(await store.readPart(conversation, 'k')).toBe('third');
  });

  test('an erase of a conversation removes the stored parts of its summaries, and later parts are refused', async () => {
    const { store, conversation } = await given.log();
    const lease = await claimSummary(store, conversation, 'h');
    await store.recordPart(lease, 'k', 'text');
    await store.erase(conversation);
    expect(await store.readPart(conversation, 'k')).toBeUndefined();
    expect(await store.recordPart(lease, 'k', 'late')).toBe('gone');
    expect(await store.readPart(conversation, 'k')).toBeUndefined();
  });

  test('a job that lost its claim on a summary can record it only for the open or the last ended pass', async () => {
    const { store, expireSummary, conversation, lease: pass } = await given.pass();
    const lease = await claimSummary(store, conversation, 'h', pass.passId);
    await expireSummary(conversation, 'h');
    expect(await store.recordPart(lease, 'in progress', 'text')).toBe('recorded');
    await store.endPass(pass, endOf());
    expect(await store.recordPart(lease, 'ended last', 'text')).toBe('recorded');
    const { lease: later } = await claimPass(store, conversation);
    await store.endPass(later, endOf());
    expect(await store.recordPart(lease, 'k', 'late')).toBe('superseded');
    expect(await store.recordSummary(lease, accepted('late'))).toBe('superseded');
    const other = await claimSummary(store, conversation, 'h');
    expect(await store.recordSummary(lease, accepted('late')), 'the claim is another’s').toBe('superseded');
    expect(await store.recordPart(lease, 'k', 'late')).toBe('superseded');
    expect(await store.readPart(conversation, 'k')).toBeUndefined();
    expect(await store.recordSummary(other, accepted('in time'))).toBe('recorded');
    expect(await store.readSummaries(conversation, ['h'])).toEqual([accepted('in time')]);
  });

  test('a late summarization job of an erased conversation records nothing in a new conversation with the same id', async () => {
    const { store, conversation, lease: pass } = await given.pass();
    const lease = await claimSummary(store, conversation, 'h', pass.passId);
    await store.erase(conversation);
    await store.append(appendOf(conversation, 0, 8));
    await claimPass(store, conversation);
    expect(await store.recordPart(lease, 'k', 'erased')).toBe('superseded');
    expect(await store.recordSummary(lease, accepted('erased'))).toBe('superseded');
    expect(await store.readPart(conversation, 'k')).toBeUndefined();
    expect(await store.readSummaries(conversation, ['h'])).toEqual([undefined]);
    expect(await store.claimSummary(conversation, 'h', 'of the new one')).toEqual({ status: 'claimed' });
  });

  test('readSummaries returns records in the order of the given hashes, and undefined for a summary that a job is still writing', async () => {
    const { store, conversation } = await given.log();
    const record = accepted();
    await store.recordSummary(await claimSummary(store, conversation, 'b'), record);
    await store.recordSummary(await claimSummary(store, conversation, 'd'), REFUSED);
    await store.claimSummary(conversation, 'c', 'owner');
    const found = await store.readSummaries(conversation, ['a', 'b', 'c', 'd']);
    expect(found).toEqual([undefined, record, undefined, REFUSED]);
    expect(await store.readSummaries(conversation, [])).toEqual([]);
  });
}
