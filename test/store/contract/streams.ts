import { expect, test, vi } from 'vitest';
import type { ConversationRef } from '../../../src/domain/ids.ts';
import type { TurnLease } from '../../../src/domain/lease.ts';
import type { PieceBatch, StreamPiece } from '../../../src/store/stream-entries.ts';
import type { StreamNotices, StreamPage, StreamReader, StreamWriter } from '../../../src/store/streams.ts';
import type { TurnIntake, TurnStore } from '../../../src/store/turns.ts';
import { claimPass, commitOf } from '../pass-samples.ts';
import {
  acceptAndClaim,
  callsStep,
  claimHead,
  newConversation,
  resultStep,
  textStep,
  toWaitFor,
  turnFor,
} from '../samples.ts';
import type { Given } from './fixture.ts';

export function batchOf(
  { epoch }: TurnLease,
  pieces: readonly StreamPiece[],
  changes: Partial<PieceBatch> = {},
): PieceBatch {
  return { seq: 2, step: 1, epoch, attempt: 1, pieces, ...changes };
}

export const textAt = (text: string, at = 0): StreamPiece => ({ kind: 'text', at, text });

/** Returns the pieces of a page, without the calls that wrote them. */
export function piecesOf(page: StreamPage | undefined): StreamPiece[] {
  return (page?.entries ?? []).flatMap((entry) => ('batch' in entry ? [...entry.batch.pieces] : []));
}

/** Counts the notices to a reader of a turn: once it listens, then after a batch, a step and the end of the turn. */
export async function countNotices(
  store: TurnStore & TurnIntake & StreamWriter & StreamReader,
  notices: StreamNotices,
): Promise<number[]> {
  const conversation = newConversation();
  const { lease } = await acceptAndClaim(store, conversation, 't1');
  await store.followTurn(conversation, 't1');
  const counts: number[] = [];
  let heard = 0;
  const stop = notices.listen(conversation, 't1', () => {
    heard += 1;
  });
  const note = async (): Promise<void> => {
    await vi.waitFor(() => {
      if (heard === (counts.at(-1) ?? 0)) throw new Error('no notice yet');
    }, 60_000);
    counts.push(heard);
  };
  await note();
  await store.appendPieces(lease, batchOf(lease, [textAt('a')]));
  await note();
  await store.recordStep(lease, textStep('model-1', 1));
  await note();
  await store.settle(lease, { state: 'completed', answerSeq: 2 }, 'wake');
  await note();
  stop();
  return counts;
}

export function describeStreams(given: Given): void {
  const read = (conversation: ConversationRef, after = '0-0', afterSeq = 0): Promise<StreamPage | undefined> =>
    given.harness().store.readStream({ conversation, turn: 't1', after, afterSeq });

  async function followed() {
    const start = await given.running();
    await start.store.followTurn(start.conversation, 't1');
    return start;
  }

  test('appendPieces writes nothing for a turn without followers', async () => {
    const { store, conversation, lease } = await given.running();
    expect(await store.isFollowed(conversation, 't1')).toBe(false);
    expect(await store.appendPieces(lease, batchOf(lease, [textAt('a')]))).toEqual({ status: 'not_followed' });
    expect(await read(conversation)).toMatchObject({ state: 'running', head: 1, start: 1, log: [], entries: [] });
    expect(await store.isFollowed(conversation, 't1')).toBe(false);
  });

  test('readStream returns the batches of a followed turn in order and unchanged, from the start or after an entry', async () => {
    const { store, conversation, lease } = await followed();
    expect(await store.isFollowed(conversation, 't1')).toBe(true);
    const first = batchOf(lease, [{ kind: 'reasoning', at: 0, text: 'hm' }, textAt('Grüße, 😀 "x"\n')]);
    const second = batchOf(
      lease,
      [
        { kind: 'call', call: 0, name: 'read' },
        { kind: 'arguments', call: 0, at: 0, text: '{"a":' },
        { kind: 'arguments', call: 0, at: 5, text: '[]}' },
      ],
      { attempt: 2 },
    );
    for (const batch of [first, second]) {
      expect(await store.appendPieces(lease, batch)).toEqual({ status: 'appended' });
    }
    await store.followTurn(conversation, 't1');
    const page = await read(conversation);
    expect(page?.entries.map((entry) => 'batch' in entry && entry.batch)).toEqual([first, second]);
    const [one, two] = page?.entries ?? [];
    expect(page).toMatchObject({ position: two?.id, hasMoreEntries: false });
    const rest = await read(conversation, one?.id);
    expect(piecesOf(rest)).toEqual(second.pieces);
    expect(await read(conversation, two?.id)).toMatchObject({ entries: [], position: two?.id });
  });

  test('readStream returns the messages of the turn after an entry of the log, and no message of another turn', async () => {
    const { store, conversation, lease } = await followed();
    await store.recordStep(lease, callsStep('model-1', 1, 1));
    await store.recordStep(lease, resultStep('tool-c2_0', 'c2_0'));
    await store.recordStep(lease, textStep('model-2', 3));
    await store.settle(lease, { state: 'completed', answerSeq: 4 }, 'wake');
    const other = await acceptAndClaim(store, conversation, 't2');
    await store.recordStep(other.lease, textStep('model-1', 5));
    const seqsOf = async (afterSeq: number) => (await read(conversation, '0-0', afterSeq))?.log.map(({ seq }) => seq);
    expect(await seqsOf(0)).toEqual([2, 3, 4]);
    expect(await seqsOf(2)).toEqual([3, 4]);
    expect(await seqsOf(4)).toEqual([]);
    expect(await read(conversation)).toMatchObject({ state: 'completed', head: 6, hasMoreLog: false });
  });

  test('readStream returns the start of the wait while the turn waits', async () => {
    const { store, conversation, lease } = await followed();
    await store.recordStep(lease, callsStep('model-1', 1, 1));
    await store.suspend(lease, { for: 'tools', step: 'model-1', waitMs: 1_000, calls: toWaitFor(['c2_0']) });
    const view = await store.readTurn(conversation, 't1');
    expect(await read(conversation)).toMatchObject({ state: 'waiting', waitingSince: view?.waiting?.since });
    await given.harness().passDeadline(conversation, 't1');
    await claimHead(store, conversation);
    expect(await read(conversation)).not.toHaveProperty('waitingSince');
  });

  test('readStream combines all waits of a step at the rate-limit gate of its model into one', async () => {
    const { store, conversation, lease } = await followed();
    const wait = { for: 'retry', step: 'model-1', waitMs: 1_000, maxMs: 86_400_000, calls: [], isHeld: true } as const;
    await store.suspend(lease, wait);
    const first = (await read(conversation))?.waitingSince;
    await given.harness().passDeadline(conversation, 't1');
    const again = await claimHead(store, conversation);
    await store.suspend(again.lease, wait);
    expect(first).toBeGreaterThan(0);
    expect((await read(conversation))?.waitingSince).toBe(first);
    await given.harness().passDeadline(conversation, 't1');
    const other = await claimHead(store, conversation);
    // The times of waits are whole milliseconds.
    await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(first ?? 0));
    await store.suspend(other.lease, { ...wait, step: 'model-2' });
    expect((await read(conversation))?.waitingSince).toBeGreaterThan(first ?? 0);
  });

  test('readStream of a queued turn names the waiting turn in front of it, until that turn is claimed', async () => {
    const { store, conversation, lease } = await followed();
    await store.accept(turnFor(conversation, 't2'));
    const readQueued = () => store.readStream({ conversation, turn: 't2', after: '0-0', afterSeq: 0 });
    expect(await readQueued()).not.toHaveProperty('behind');
    await store.recordStep(lease, callsStep('model-1', 1, 1));
    await store.suspend(lease, { for: 'tools', step: 'model-1', waitMs: 1_000, calls: toWaitFor(['c2_0']) });
    const since = (await store.readTurn(conversation, 't1'))?.waiting?.since;
    expect(await readQueued()).toMatchObject({ state: 'queued', behind: { turn: 't1', since } });
    expect(await read(conversation)).not.toHaveProperty('behind');
    await given.harness().passDeadline(conversation, 't1');
    await claimHead(store, conversation);
    expect(await readQueued()).not.toHaveProperty('behind');
  });

  test('appendPieces refuses an owner whose turn another worker has taken over', async () => {
    const { store, conversation, lease } = await followed();
    await given.harness().lapseLease('turn', conversation);
    const next = await claimHead(store, conversation);
    expect(await store.appendPieces(lease, batchOf(lease, [textAt('old')]))).toEqual({ status: 'fenced' });
    expect(await store.appendPieces(next.lease, batchOf(next.lease, [textAt('new')]))).toEqual({ status: 'appended' });
    expect(piecesOf(await read(conversation))).toEqual([textAt('new')]);
  });

  test.each(['completed', 'canceled'] as const)('appendPieces refuses the owner of a %s turn', async (state) => {
    const { store, conversation, lease } = await followed();
    await store.recordStep(lease, textStep('model-1', 1));
    if (state === 'canceled') await store.cancel(conversation, 't1', 'wake');
    else await store.settle(lease, { state, answerSeq: 2 }, 'wake');
    expect(await store.appendPieces(lease, batchOf(lease, [textAt('late')]))).toEqual({ status: 'fenced' });
    expect(piecesOf(await read(conversation))).toEqual([]);
  });

  test('a version that a pass commits while a turn is followed becomes an entry of the stream of the turn', async () => {
    const { store, conversation } = await given.log();
    const { lease } = await acceptAndClaim(store, conversation, 't1');
    await store.followTurn(conversation, 't1');
    await store.appendPieces(lease, batchOf(lease, [textAt('a')], { seq: 10 }));
    const commit = commitOf(0, 2);
    await store.commitVersion((await claimPass(store, conversation)).lease, commit);
    const { tokensBefore, tokensAfter, archived } = commit.version;
    const entries = (await read(conversation))?.entries ?? [];
    expect(entries).toHaveLength(2);
    expect(entries[1]).toMatchObject({ compaction: { version: 1, tokensBefore, tokensAfter, archived, head: 9 } });
  });

  test('followTurn creates no stream for a turn that is settled, unknown or erased', async () => {
    const { store, conversation, lease } = await given.running();
    await store.accept(turnFor(conversation, 't2'));
    await store.settle(lease, { state: 'failed', failure: { code: 'model_failed', message: 'no' } }, 'wake');
    await store.followTurn(conversation, 't1');
    await store.followTurn(conversation, 'unknown');
    await store.erase(conversation);
    await store.followTurn(conversation, 't2');
    for (const turn of ['t1', 'unknown', 't2']) expect(await store.isFollowed(conversation, turn), turn).toBe(false);
    for (const turn of ['t1', 'unknown', 't2']) {
      expect(await store.readStream({ conversation, turn, after: '0-0', afterSeq: 0 }), turn).toBeUndefined();
    }
  });

  test('an erase removes the stream of a turn and counts it as a removed key', async () => {
    const { store, conversation } = await given.running();
    const { removedKeys } = await store.erase(conversation);
    await acceptAndClaim(store, conversation, 't1');
    await store.followTurn(conversation, 't1');
    expect(await store.erase(conversation)).toEqual({ removedKeys: removedKeys + 1 });
    expect(await store.isFollowed(conversation, 't1')).toBe(false);
  });
}
