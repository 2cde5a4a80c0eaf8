import { expect, test } from 'vitest';
import { type ConversationEvent, EVENT_LIMITS, FIRST_POSITION } from '../../../src/domain/conversation-event.ts';
import type { ConversationRef } from '../../../src/domain/ids.ts';
import type { EventPage } from '../../../src/store/events.ts';
import { claimPass, commitOf, endOf, planOf, proposalOf } from '../pass-samples.ts';
import { acceptAndClaim, newConversation, turnFor } from '../samples.ts';
import type { Given } from './fixture.ts';

const LIMIT = 100;

function turnsOf(events: readonly ConversationEvent[]): string[] {
  return events.map((event) => (event.type === 'turn_settled' ? event.turn : event.type));
}

export function describeEventStore(given: Given): void {
  /** Settles the turns. Each settlement writes one event. */
  async function settle(conversation: ConversationRef, ...turns: string[]): Promise<void> {
    const { store } = given.harness();
    for (const turn of turns) {
      await store.accept(turnFor(conversation, turn));
      await store.cancel(conversation, turn, `wake-${turn}`);
    }
  }

  const read = (conversation: ConversationRef, after?: string, limit = LIMIT): Promise<EventPage> =>
    given.harness().store.readEvents({ conversation, after, limit });

  async function readIds(conversation: ConversationRef): Promise<string[]> {
    return (await read(conversation, FIRST_POSITION)).events.map(({ id }) => id);
  }

  test('readEvents returns all events that are still kept, oldest first, and the position after them', async () => {
    const { conversation } = given.nothing();
    await settle(conversation, 't1', 't2', 't3');
    const page = await read(conversation, FIRST_POSITION);
    expect(turnsOf(page.events)).toEqual(['t1', 't2', 't3']);
    expect(page).toMatchObject({ start: 'kept', exists: true, position: page.events[2]?.id });
    for (const { id, at } of page.events) expect(id).toMatch(new RegExp(`^${at}-\\d+$`));
  });

  test('readEvents returns the next page of events after the position that the caller passes', async () => {
    const { conversation } = given.nothing();
    const turns = ['t1', 't2', 't3', 't4', 't5'];
    await settle(conversation, ...turns);
    const told: string[] = [];
    let position = FIRST_POSITION;
    for (const count of [2, 2, 1, 0]) {
      const page = await read(conversation, position, 2);
      expect(page).toMatchObject({ start: 'kept' });
      expect(page.events).toHaveLength(count);
      told.push(...turnsOf(page.events));
      position = page.position;
    }
    expect(told).toEqual(turns);
  });

  test('readEvents without a position returns no events, only the position after the newest event', async () => {
    const { conversation } = given.nothing();
    await settle(conversation, 't1');
    const { position, ...page } = await read(conversation);
    expect(page).toEqual({ events: [], start: 'kept', exists: true });
    await settle(conversation, 't2');
    expect(turnsOf((await read(conversation, position)).events)).toEqual(['t2']);
  });

  test('readEvents returns no events and `exists: true` for a conversation without events, and `exists: false` for an unknown conversation', async () => {
    const { store, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1'));
    const nothing = { events: [], start: 'kept', position: FIRST_POSITION };
    expect(await read(conversation)).toEqual({ ...nothing, exists: true });
    expect(await read(conversation, FIRST_POSITION)).toEqual({ ...nothing, exists: true });
    expect(await read(newConversation(), FIRST_POSITION)).toEqual({ ...nothing, exists: false });
  });

  test('readEvents returns events of version commits, proposal reviews and turns with every field that the store wrote', async () => {
    const { store, conversation, claimed: first } = await given.pass();
    await store.commitVersion(first.lease, commitOf(0, 4));
    const second = await claimPass(store, conversation);
    await store.recordPlan(second.lease, planOf(2));
    const proposal = proposalOf(1, 6);
    await store.proposeVersion(second.lease, { proposal, seenReasons: ['ratio'], reviewMs: 60_000 });
    const verdict = { kind: 'reject', reason: 'no' } as const;
    const decision = { conversation, operation: 'op', proposal: proposal.id, verdict, wake: 'w' };
    await store.decideProposal(decision);
    const claimed = await store.claimPass(conversation, 'other', 'job2', 'tw');
    if (claimed.status !== 'claimed') throw new Error(`not claimed: ${claimed.status}`);
    const refusal = { code: 'invalid_input', field: 'edits', message: 'too long' } as const;
    await store.refuseApproval(claimed.pass.lease, refusal);
    await store.decideProposal({ ...decision, operation: 'op2', verdict: { kind: 'approve', edits: {} } });
    const again = await store.claimPass(conversation, 'third', 'job3', 'tw');
    if (again.status !== 'claimed') throw new Error(`not claimed: ${again.status}`);
    await store.endPass(again.pass.lease, endOf({ outcome: { kind: 'failed', code: 'timeout' } }));
    const { lease } = await acceptAndClaim(store, conversation, 't1');
    await store.settle(lease, { state: 'completed', answerSeq: 9 }, 'w');
    const { passId } = second.lease;
    const version = { reasons: ['ratio', 'turn_end'], strategy: 'summarize', archived: expect.any(Number) };
    const sizes = { tokensBefore: 120, tokensAfter: 30 };
    const { events } = await read(conversation, FIRST_POSITION);
    expect(events.map(({ id: _, at: _at, ...news }) => news)).toEqual([
      {
        type: 'version_committed',
        version: 1,
        cause: 'pass',
        ...version,
        ...sizes,
        durationMs: 7,
        model: 'structural',
      },
      { type: 'pass_ended', passId: first.lease.passId, outcome: 'committed' },
      { type: 'version_proposed', passId, proposal: proposal.id, ...version, ...sizes },
      { type: 'proposal_decided', proposal: proposal.id, verdict: 'reject', reason: 'no' },
      { type: 'approval_refused', passId, code: 'invalid_input' },
      { type: 'proposal_decided', proposal: proposal.id, verdict: 'approve' },
      { type: 'pass_ended', passId, outcome: 'failed' },
      { type: 'turn_settled', turn: 't1', state: 'completed' },
    ]);
  });

  test('readEvents drops an unknown field of an event, and returns an event of an unknown type as unknown', async () => {
    const { store, addEvents, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1'));
    await addEvents(conversation, [
      { type: 'turn_settled', turn: 't0', state: 'completed', note: '{"list":[]}' },
      { type: 'turn_settled', turn: 't1', state: 'postponed' },
      { type: 'moon_rose', over: 'the "sea"' },
    ]);
    const { events } = await read(conversation, FIRST_POSITION);
    expect(events.map(({ id: _, at: _at, ...news }) => news)).toEqual([
      { type: 'turn_settled', turn: 't0', state: 'completed' },
      { type: 'unknown', name: 'turn_settled', fields: { turn: 't1', state: 'postponed' } },
      { type: 'unknown', name: 'moon_rose', fields: { over: 'the "sea"' } },
    ]);
  });

  test('if the event at the position was dropped, readEvents starts with the oldest kept event and reports missing events', async () => {
    const { conversation } = given.nothing();
    await settle(conversation, 't1', 't2', 't3', 't4');
    const [first = '', second = ''] = await readIds(conversation);
    await given.harness().trimEvents(conversation, 3);
    expect(await read(conversation, second)).toMatchObject({ start: 'kept' });
    const page = await read(conversation, first, 2);
    expect(page.start).toBe('missing');
    expect(turnsOf(page.events)).toEqual(['t2', 't3']);
    expect(turnsOf((await read(conversation, page.position)).events)).toEqual(['t4']);
  });

  test('readEvents from the beginning reports missing events if the stream is full, because events may have been dropped', async () => {
    const { store, addEvents, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 't1'));
    const events = Array.from({ length: EVENT_LIMITS.kept - 1 }, () => ({ type: 'x' }));
    await addEvents(conversation, events);
    expect(await read(conversation, FIRST_POSITION)).toMatchObject({ start: 'kept' });
    await addEvents(conversation, [{ type: 'x' }]);
    expect(await read(conversation, FIRST_POSITION)).toMatchObject({ start: 'missing' });
  });

  test('readEvents reports missing events to a reader whose position is from before the conversation was created again', async () => {
    const { store, conversation } = given.nothing();
    await settle(conversation, 't1', 't2', 't3');
    const { position } = await read(conversation);
    await store.erase(conversation);
    const erased = { events: [], start: 'missing', position: FIRST_POSITION, exists: false };
    expect(await read(conversation, position)).toEqual(erased);
    await settle(conversation, 'new');
    for (const after of [position, '9999999999999-0']) {
      const page = await read(conversation, after);
      expect(page).toMatchObject({ start: 'missing', exists: true });
      expect(turnsOf(page.events)).toEqual(['new']);
    }
  });

  test('if the stream is empty, readEvents reports `expired` for a position older than the retention, and `missing` for a newer position', async () => {
    const { conversation } = given.nothing();
    await settle(conversation, 't1');
    await given.harness().trimEvents(conversation, 0);
    const now = Date.now();
    const page = { events: [], position: FIRST_POSITION, exists: true };
    const old = `${now - EVENT_LIMITS.keptMs - 60_000}-0`;
    const young = `${now - EVENT_LIMITS.keptMs + 60_000}-0`;
    expect(await read(conversation, old)).toEqual({ ...page, start: 'expired' });
    expect(await read(conversation, young)).toEqual({ ...page, start: 'missing' });
    await given.harness().store.erase(conversation);
    expect(await read(conversation, old)).toEqual({ ...page, start: 'missing', exists: false });
  });
}
