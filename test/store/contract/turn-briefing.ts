import { expect, test } from 'vitest';
import { claimHead, turnFor } from '../samples.ts';
import type { Given } from './fixture.ts';

const context = '{"plan":"pro","user":"u1"}';

export function describeBriefing(given: Given): void {
  test('readBriefing returns the context that the caller passed with a turn until that turn is settled, and then an empty briefing', async () => {
    const { store, conversation } = given.nothing();
    await store.accept({ ...turnFor(conversation, 't1'), context });
    const claimed = await claimHead(store, conversation);
    expect(claimed.hasContext).toBe(true);
    expect(await store.readBriefing(conversation, 't1')).toStrictEqual({ context });
    const failure = { code: 'model_failed', message: 'it broke' } as const;
    await store.settle(claimed.lease, { state: 'failed', failure }, 'w');
    expect(await store.readBriefing(conversation, 't1')).toStrictEqual({});
  });

  test('a cancel of a queued turn removes the context that the caller passed with it', async () => {
    const { store, conversation } = given.nothing();
    await store.accept({ ...turnFor(conversation, 't1'), context });
    await store.cancel(conversation, 't1', 'w1');
    expect(await store.readBriefing(conversation, 't1')).toStrictEqual({});
  });

  test('readBriefing returns an empty briefing for a turn whose caller passed no context', async () => {
    const { store, conversation, claimed } = await given.running();
    expect(claimed.hasContext).toBeUndefined();
    expect(await store.readBriefing(conversation, 't1')).toStrictEqual({});
  });

  test('keepSystem returns the first system prompt that was stored for a turn, even if a later call passes another prompt', async () => {
    const { store, conversation, lease } = await given.running();
    expect(await store.keepSystem(lease, 'You help\nu1.')).toStrictEqual({ status: 'kept', system: 'You help\nu1.' });
    expect(await store.keepSystem(lease, 'other')).toStrictEqual({ status: 'kept', system: 'You help\nu1.' });
    expect(await store.readBriefing(conversation, 't1')).toStrictEqual({ system: 'You help\nu1.' });
  });

  test('keepSystem of the next turn replaces the system prompt that the previous turn of the conversation stored', async () => {
    const { store, conversation, claimed: first } = await given.running();
    await store.keepSystem(first.lease, 'one');
    await store.accept(turnFor(conversation, 't2'));
    const failure = { code: 'model_failed', message: 'it broke' } as const;
    await store.settle(first.lease, { state: 'failed', failure }, 'w');
    const second = await claimHead(store, conversation);
    expect(await store.readBriefing(conversation, 't2')).toStrictEqual({});
    expect(await store.keepSystem(second.lease, 'two')).toStrictEqual({ status: 'kept', system: 'two' });
    expect(await store.keepSystem(first.lease, 'one')).toStrictEqual({ status: 'fenced' });
  });

  test('keepSystem stores an empty system prompt', async () => {
    const { store, conversation, lease } = await given.running();
    expect(await store.keepSystem(lease, '')).toStrictEqual({ status: 'kept', system: '' });
    expect(await store.readBriefing(conversation, 't1')).toStrictEqual({ system: '' });
  });
}
