import { expect, test } from 'vitest';
import type { OpenTurns } from '../../../src/store/open-turns.ts';
import { acceptAndClaim, bring, claimHead, toWaitFor, turnFor } from '../samples.ts';
import type { Given } from './fixture.ts';

const ALL = 100;

/** Returns the listed turns, each with its state. */
function statesOf(open: OpenTurns | undefined): string[] {
  return (open?.turns ?? []).map(({ turn, state }) => `${turn} ${state}`);
}

export function describeOpenTurns(given: Given): void {
  test('listOpen lists the unsettled turns of a conversation: first the mailbox in order, then scheduled turns by due time', async () => {
    const { store, conversation } = given.nothing();
    const first = await acceptAndClaim(store, conversation, 'done');
    await store.settle(first.lease, { state: 'completed', answerSeq: 1 }, 'w');
    const accept = (turn: string, delayMs = 0) => store.accept(turnFor(conversation, turn, { delayMs }));
    await accept('far', 3_600_000);
    await accept('near', 60_000);
    for (const turn of ['z', 'canceled', 'a']) await accept(turn);
    await accept('never', 1_800_000);
    await claimHead(store, conversation);
    for (const turn of ['canceled', 'never']) await store.cancel(conversation, turn, 'w');
    const open = await store.listOpen(conversation, ALL);
    expect(statesOf(open)).toEqual(['z running', 'a queued', 'near scheduled', 'far scheduled']);
    expect(open).toMatchObject({ mailbox: 2, scheduled: 2 });
  });

  test('listOpen reports when a turn was accepted, and when a scheduled turn is due', async () => {
    const { store, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 'now'));
    await store.accept(turnFor(conversation, 'later', { delayMs: 60_000 }));
    const [now, later] = (await store.listOpen(conversation, ALL))?.turns ?? [];
    const { acceptedAt } = (await store.readTurn(conversation, 'now')) ?? {};
    expect(now).toEqual({ turn: 'now', state: 'queued', acceptedAt });
    expect(later).toEqual({
      turn: 'later',
      state: 'scheduled',
      acceptedAt: expect.any(Number),
      dueAt: (later?.acceptedAt ?? 0) + 60_000,
    });
  });

  test('readInputs returns the messages of turns until a worker claims them, and of no other turns', async () => {
    const { store, conversation } = given.nothing();
    const turns = ['claimed', 'queued', 'later', 'canceled'];
    for (const turn of turns) {
      await store.accept(turnFor(conversation, turn, { delayMs: turn === 'later' ? 60_000 : 0 }));
    }
    await store.cancel(conversation, 'canceled', 'w');
    expect([...(await store.readInputs(conversation, turns)).keys()]).toEqual(['claimed', 'queued', 'later']);
    await claimHead(store, conversation);
    const texts = await store.readInputs(conversation, [...turns, 'unknown']);
    expect([...texts.keys()]).toEqual(['queued', 'later']);
    expect(texts.get('queued')).toEqual(turnFor(conversation, 'queued').input.message);
    expect((await store.readInputs(conversation, [])).size).toBe(0);
  });

  test('listOpen reports what the first turn of the mailbox waits for, until that turn continues', async () => {
    const { store, conversation, lease } = await given.running();
    await store.suspend(lease, {
      for: 'approval',
      step: 's',
      waitMs: 60_000,
      calls: toWaitFor(['c2_0', 'c2_1'], 60_000),
    });
    await store.accept(turnFor(conversation, 't2'));
    const [waiting, queued] = (await store.listOpen(conversation, ALL))?.turns ?? [];
    const view = await store.readTurn(conversation, 't1');
    expect(waiting?.waiting).toEqual({
      for: 'approval',
      step: 's',
      since: expect.any(Number),
      calls: ['c2_0', 'c2_1'].map((id) => ({
        id,
        name: 'read',
        arguments: '{"lines":[]}',
        until: view?.waiting?.until,
      })),
      until: view?.waiting?.until,
    });
    expect(queued).not.toHaveProperty('waiting');
    const answers = bring(['c2_0', 'c2_1'], 'approval');
    await store.answerTurn({ conversation, turn: 't1', answers, wake: 'w' });
    await claimHead(store, conversation);
    const [running] = (await store.listOpen(conversation, ALL))?.turns ?? [];
    expect(running).toMatchObject({ turn: 't1', state: 'running' });
    expect(running).not.toHaveProperty('waiting');
  });

  test('listOpen returns at most `limit` turns, and the count of all unsettled turns', async () => {
    const { store, conversation } = given.nothing();
    for (const turn of ['t1', 't2', 't3']) await store.accept(turnFor(conversation, turn));
    for (const turn of ['s1', 's2']) await store.accept(turnFor(conversation, turn, { delayMs: 60_000 }));
    const counts = { mailbox: 3, scheduled: 2 };
    const two = await store.listOpen(conversation, 2);
    expect(two).toMatchObject(counts);
    expect(statesOf(two)).toEqual(['t1 queued', 't2 queued']);
    const four = await store.listOpen(conversation, 4);
    expect(four).toMatchObject(counts);
    expect(statesOf(four)).toEqual(['t1 queued', 't2 queued', 't3 queued', 's1 scheduled']);
  });

  test('listOpen lists no turn of another conversation whose id starts with the same text', async () => {
    const { store, conversation } = given.nothing();
    const others = [
      { ...conversation, id: `${conversation.id}.x` },
      { ...conversation, tenant: 'other' },
    ];
    for (const other of others) await store.accept(turnFor(other, 'theirs', { delayMs: 60_000 }));
    expect(await store.listOpen(conversation, ALL)).toBeUndefined();
    await store.accept(turnFor(conversation, 'ours', { delayMs: 60_000 }));
    expect(statesOf(await store.listOpen(conversation, ALL))).toEqual(['ours scheduled']);
  });

  test('listOpen lists no turn of an erased conversation, even if the conversation was created again', async () => {
    const { store, markGone, conversation } = given.nothing();
    for (const turn of ['old', 'same']) await store.accept(turnFor(conversation, turn, { delayMs: 60_000 }));
    await markGone(conversation);
    expect(await store.listOpen(conversation, ALL)).toBeUndefined();
    await store.accept(turnFor(conversation, 'same'));
    expect(await store.listOpen(conversation, ALL)).toMatchObject({
      turns: [{ turn: 'same', state: 'queued' }],
      mailbox: 1,
      scheduled: 0,
    });
  });

  test('listOpen returns an empty list for a conversation without open turns', async () => {
    const { store, conversation, lease } = await given.running();
    await store.settle(lease, { state: 'completed', answerSeq: 1 }, 'w');
    expect(await store.listOpen(conversation, ALL)).toEqual({
      turns: [],
      mailbox: 0,
      scheduled: 0,
      at: expect.any(Number),
    });
  });
}
