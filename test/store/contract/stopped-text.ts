import { expect, test } from 'vitest';
import type { ConversationRef } from '../../../src/domain/ids.ts';
import type { TurnLease } from '../../../src/domain/lease.ts';
import { MAX_MESSAGE_BYTES, type Message } from '../../../src/domain/message.ts';
import type { PieceBatch, StreamPiece } from '../../../src/store/stream-entries.ts';
import { callsStep, claimHead, textStep, turnFor } from '../samples.ts';
import type { Given } from './fixture.ts';
import { batchOf, textAt } from './streams.ts';

/** A batch whose worker has counted its text. */
function countedBatch(lease: TurnLease, text: string, at = 0, changes: Partial<PieceBatch> = {}): PieceBatch {
  return batchOf(lease, [textAt(text, at)], { textTokens: 3, ...changes });
}

export function describeStoppedText(given: Given): void {
  async function followed() {
    const start = await given.running();
    await start.store.followTurn(start.conversation, 't1');
    return start;
  }

  /** Cancels the turn, and returns what it has added to the log behind its user message. */
  async function stop(conversation: ConversationRef): Promise<(Message & { tokens: number; bytes: number })[]> {
    const { store } = given.harness();
    expect(await store.cancel(conversation, 't1', 'wake-c')).toMatchObject({ status: 'canceled' });
    const { head } = (await store.readConversation(conversation)) ?? { head: 0 };
    if (head < 2) return [];
    const entries = await store.readLog(conversation, [{ from: 2, to: head }]);
    return entries.map(({ message, tokens, bytes }) => ({ ...message, tokens, bytes }));
  }

  const stopped = (content: string, tokens: number): object => ({
    role: 'assistant',
    content,
    stopped: true,
    tokens,
    bytes: Buffer.byteLength(content),
  });

  test('a cancel writes the streamed text of the open step to the log, without calls, and without reasoning that is not kept', async () => {
    const { store, conversation, lease } = await followed();
    const call: StreamPiece[] = [
      { kind: 'call', call: 0, name: 'read' },
      { kind: 'arguments', call: 0, at: 0, text: '{"li' },
    ];
    await store.appendPieces(lease, batchOf(lease, [{ kind: 'reasoning', at: 0, text: 'hm' }]));
    await store.appendPieces(lease, countedBatch(lease, 'Grüße, 😀 "x"\n'));
    await store.appendPieces(lease, countedBatch(lease, ' and / \\ more', 13));
    await store.appendPieces(lease, batchOf(lease, call));
    expect(await stop(conversation)).toEqual([stopped('Grüße, 😀 "x"\n and / \\ more', 6)]);
    const view = { state: 'canceled', stopped: { seq: 2, content: 'Grüße, 😀 "x"\n and / \\ more' } };
    expect(await store.readTurn(conversation, 't1')).toMatchObject(view);
    const size = await store.readConversation(conversation);
    expect(await store.cancel(conversation, 't1', 'wake-c'), 'repeated').toMatchObject({ status: 'canceled' });
    expect(await store.readConversation(conversation)).toEqual(size);
    expect(await store.appendPieces(lease, countedBatch(lease, 'late', 26))).toEqual({ status: 'fenced' });
  });

  test('a cancel keeps reasoning in front of its text, and without text, or if its start is lost, it keeps none', async () => {
    const thinks = (at: number, text: string): StreamPiece => ({ kind: 'reasoning', at, text });
    const think = async (pieces: readonly StreamPiece[], changes: Partial<PieceBatch> = {}) => {
      const { store, conversation, lease } = await followed();
      for (const piece of pieces)
        await store.appendPieces(lease, batchOf(lease, [piece], { keepsReasoning: true, ...changes }));
      return { store, conversation, lease };
    };
    const whole = await think([thinks(0, 'I look "up"'), thinks(11, ' and see. ')]);
    await whole.store.appendPieces(whole.lease, countedBatch(whole.lease, 'Blue'));
    expect(await stop(whole.conversation)).toEqual([{ ...stopped('Blue', 3), reasoning: 'I look "up" and see. ' }]);
    expect(await stop((await think([thinks(0, 'I look')])).conversation)).toEqual([]);
    const late = await think([thinks(7, 'up')]);
    await late.store.appendPieces(late.lease, countedBatch(late.lease, 'Blue'));
    expect(await stop(late.conversation)).toEqual([stopped('Blue', 3)]);
  });

  test('a cancel keeps the text of the model’s last call, and keeps a batch that was sent twice once', async () => {
    const { store, conversation, lease } = await followed();
    for (const batch of [
      countedBatch(lease, 'the first call'),
      countedBatch(lease, 'the ', 0, { attempt: 2 }),
      countedBatch(lease, 'sec', 4, { attempt: 2 }),
      countedBatch(lease, 'second', 4, { attempt: 2 }),
    ]) {
      await store.appendPieces(lease, batch);
    }
    expect(await stop(conversation)).toEqual([stopped('the second', 6)]);
  });

  test('a cancel keeps a streamed text of many batches, in their order', async () => {
    const { store, conversation, lease } = await followed();
    const pieces = Array.from({ length: 1_100 }, (_, at) => String.fromCodePoint(97 + (at % 26)));
    await Promise.all(pieces.map((text, at) => store.appendPieces(lease, countedBatch(lease, text, at))));
    expect(await stop(conversation)).toEqual([stopped(pieces.join(''), 3 * pieces.length)]);
  });

  test('a cancel keeps the streamed text of a dead worker until another worker streams', async () => {
    const { store, conversation, lease } = await followed();
    await store.appendPieces(lease, countedBatch(lease, 'of the dead worker'));
    await given.harness().lapseLease('turn', conversation);
    await claimHead(store, conversation);
    expect(await stop(conversation)).toEqual([stopped('of the dead worker', 3)]);
  });

  test('a cancel does not write the text of a recorded step again, and closes the calls of the step', async () => {
    const { store, conversation, lease } = await followed();
    await store.appendPieces(lease, countedBatch(lease, 'recorded'));
    await store.recordStep(lease, callsStep('m1', 1, 1));
    expect(await stop(conversation)).toMatchObject([{ role: 'assistant' }, { role: 'tool', isError: true }]);
    expect(await store.readTurn(conversation, 't1')).not.toHaveProperty('stopped');
  });

  test('a cancel writes no text that the worker has not yet counted, and no blank text', async () => {
    const uncounted = await followed();
    await uncounted.store.appendPieces(uncounted.lease, batchOf(uncounted.lease, [textAt('discarded')]));
    expect(await stop(uncounted.conversation)).toEqual([]);
    const blank = await followed();
    await blank.store.appendPieces(blank.lease, countedBatch(blank.lease, ' \n\t'));
    expect(await stop(blank.conversation)).toEqual([]);
  });

  test('a canceled text that lost its start gets a mark in front, and a text too long for a message is cut', async () => {
    const late = await followed();
    await late.store.appendPieces(late.lease, countedBatch(late.lease, 'the rest', 100));
    expect(await stop(late.conversation)).toEqual([stopped('…the rest', 4)]);
    const long = await followed();
    const text = '☃'.repeat(MAX_MESSAGE_BYTES / 4);
    await long.store.appendPieces(long.lease, countedBatch(long.lease, text));
    await long.store.appendPieces(long.lease, countedBatch(long.lease, text, text.length));
    expect(await stop(long.conversation)).toEqual([stopped(text, 3)]);
  });

  test('onBusy interrupt keeps the streamed text in front of the new message, even if turns were steered into the canceled turn', async () => {
    const { store, conversation, lease } = await followed();
    await store.accept(turnFor(conversation, 't2', { onBusy: 'steer' }));
    await store.takeSteering(lease);
    await store.appendPieces(lease, countedBatch(lease, 'half', 0, { seq: 3 }));
    await store.accept(turnFor(conversation, 't3', { onBusy: 'interrupt' }));
    const { lease: next } = await claimHead(store, conversation);
    const roles = (await store.readLog(conversation, [{ from: 1, to: 5 }])).map(({ message, turn }) => [
      message.role,
      turn,
    ]);
    expect(roles).toEqual([
      ['user', 't1'],
      ['user', 't2'],
      ['assistant', 't1'],
      ['user', 't3'],
    ]);
    for (const turn of ['t1', 't2']) {
      expect(await store.readTurn(conversation, turn)).toMatchObject({ stopped: { seq: 3, content: 'half' } });
    }
    expect(await store.recordStep(next, textStep('m1', 4))).toMatchObject({ status: 'recorded' });
  });

  test('onBusy rollback lists the streamed text among the messages that leave the context', async () => {
    const { store, conversation, lease } = await followed();
    await store.appendPieces(lease, countedBatch(lease, 'half'));
    await store.accept(turnFor(conversation, 't2', { onBusy: 'rollback' }));
    expect((await claimHead(store, conversation)).conversation.undo).toEqual([{ from: 1, to: 2 }]);
  });
}
