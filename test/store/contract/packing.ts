import { expect, test } from 'vitest';
import type { ConversationRef } from '../../../src/domain/ids.ts';
import type { PackedLog } from '../../../src/domain/log-packing.ts';
import { PACK_AFTER_MS } from '../../../src/domain/log-packing.ts';
import { START_VERSION } from '../../../src/domain/version.ts';
import { appendOf, claimPass, commitOf, makeConversation } from '../pass-samples.ts';
import { acceptAndClaim, claimHead, newConversation, textStep, turnFor } from '../samples.ts';
import type { Given } from './fixture.ts';

const HOUR_MS = PACK_AFTER_MS;
/** Calls after which each shard was looked at. */
const ROUNDS = 32;

/** Contract tests of packed logs. No read may depend on which entries are packed. */
export function describePacking(given: Given): void {
  async function take(conversation: ConversationRef): Promise<boolean> {
    for (let round = 0; round < ROUNDS; round += 1) {
      const taken = await given.harness().store.takeUnpacked();
      if (taken.some(({ id }) => id === conversation.id)) return true;
    }
    return false;
  }

  /** Milliseconds until the conversation is due for packing, to the nearest minute. */
  async function packableIn(conversation: ConversationRef): Promise<number> {
    const due = (await given.harness().packableIn(conversation)) ?? Number.NaN;
    return Math.round(due / 60_000) * 60_000 + 0;
  }

  async function rest(conversation: ConversationRef): Promise<PackedLog> {
    const { store, rest: letRest } = given.harness();
    await letRest(conversation);
    return await store.packLog(conversation);
  }

  /** Reads everything that depends on the log. */
  async function readAll(conversation: ConversationRef): Promise<unknown> {
    const { store } = given.harness();
    return {
      log: await store.readLog(conversation, [{ from: 1, to: 1_000 }]),
      parts: await store.readLog(conversation, [
        { from: 3, to: 5 },
        { from: 17, to: 40 },
      ]),
      context: await store.readContext(conversation),
      whole: await store.readContext(conversation, { version: 0 }),
      state: await store.readConversation(conversation),
      turns: await Promise.all(['t1', 't2', 't3'].map((turn) => store.readTurn(conversation, turn))),
      steps: await Promise.all(['t1', 't2', 't3'].map((turn) => store.readSteps(conversation, turn))),
    };
  }

  async function answer(conversation: ConversationRef, turn: string): Promise<void> {
    const { store } = given.harness();
    const { lease, conversation: state } = await acceptAndClaim(store, conversation, turn);
    const answerSeq = state.head + 1;
    await store.settle(lease, { state: 'completed', answerSeq, step: textStep('model-1', state.head) }, 'w');
  }

  async function commit(conversation: ConversationRef, base: number): Promise<void> {
    const { store } = given.harness();
    const { lease } = await claimPass(store, conversation);
    expect(await store.commitVersion(lease, commitOf(0, base))).toMatchObject({ status: 'ended' });
  }

  test('log entries may be packed an hour after the last turn or append, and at once after a new context version', async () => {
    const conversation = newConversation();
    for (const turn of ['t1', 't2', 't3', 't4']) await answer(conversation, turn);
    expect(await given.harness().packableIn(conversation), '8 entries, of which the last stays').toBeUndefined();
    await answer(conversation, 't5');
    expect(await packableIn(conversation)).toBe(HOUR_MS);
    const { store } = given.harness();
    const appended = await makeConversation(store, 20);
    expect(await packableIn(appended)).toBe(HOUR_MS);
    await commit(appended, 10);
    expect(await packableIn(appended)).toBe(0);
    await answer(appended, 't1');
    expect(await packableIn(appended), 'an earlier time stays').toBe(0);
  });

  test('a conversation is taken for packing once it is due, and taken again only after 10 minutes', async () => {
    const conversation = await makeConversation(given.harness().store, 20);
    expect(await take(conversation)).toBe(false);
    await given.harness().rest(conversation);
    expect(await take(conversation)).toBe(true);
    expect(await take(conversation)).toBe(false);
    expect(await packableIn(conversation)).toBe(600_000);
  });

  test('all entries of an idle conversation except the last are packed once, and reads return the same as before', async () => {
    const conversation = await makeConversation(given.harness().store, 20);
    await given.harness().rest(conversation);
    const before = await readAll(conversation);
    const packed = await given.harness().store.packLog(conversation);
    expect(packed.entries).toBe(19);
    expect(packed.packedBytes).toBeGreaterThan(0);
    expect(packed.bytes).toBeGreaterThanOrEqual(packed.packedBytes);
    expect(await given.harness().packableIn(conversation)).toBeUndefined();
    const again = await given.harness().store.packLog(conversation);
    expect(again).toEqual({ entries: 0, bytes: 0, packedBytes: 0 });
    await expect(readAll(conversation)).resolves.toEqual(before);
  });

  test('packing of a conversation in use leaves the entries of its context unpacked, and packs the others', async () => {
    const { store } = given.harness();
    const conversation = await makeConversation(store, 30);
    await commit(conversation, 20);
    const { lease, conversation: state } = await acceptAndClaim(store, conversation, 't1');
    const before = await readAll(conversation);
    expect((await store.packLog(conversation)).entries).toBe(20);
    await expect(readAll(conversation)).resolves.toEqual(before);
    expect(await packableIn(conversation)).toBe(HOUR_MS);
    expect(await store.recordStep(lease, textStep('model-1', state.head))).toMatchObject({ status: 'recorded' });
  });

  test.each([
    [
      'a turn waits in its mailbox',
      (conversation: ConversationRef) => given.harness().store.accept(turnFor(conversation, 't1')),
    ],
    [
      'a compaction pass is open',
      (conversation: ConversationRef) =>
        given.harness().store.requestPass({ conversation, reasons: ['manual'], passId: 'p1', wake: 'w1' }),
    ],
  ])('a conversation with an old last entry is not packed as idle while %s', async (_, occupy) => {
    const conversation = await makeConversation(given.harness().store, 20);
    await given.harness().rest(conversation);
    await occupy(conversation);
    expect((await given.harness().store.packLog(conversation)).entries).toBe(0);
    expect(await packableIn(conversation)).toBe(HOUR_MS);
  });

  test('a conversation that was used before its packing is due again an hour after its last entry', async () => {
    const conversation = await makeConversation(given.harness().store, 20);
    expect((await given.harness().store.packLog(conversation)).entries).toBe(0);
    expect(await packableIn(conversation)).toBe(HOUR_MS);
  });

  test('fewer than 8 small entries are not packed until more entries follow', async () => {
    const conversation = await makeConversation(given.harness().store, 8);
    expect((await rest(conversation)).entries).toBe(0);
    expect(await given.harness().packableIn(conversation)).toBeUndefined();
    await given.harness().store.append(appendOf(conversation, 8, 1));
    expect((await rest(conversation)).entries).toBe(8);
  });

  test('turns continue a packed conversation, and their new entries are packed later', async () => {
    const { store } = given.harness();
    const conversation = await makeConversation(store, 20);
    await rest(conversation);
    await store.accept(turnFor(conversation, 't1'));
    const { lease, conversation: state, input } = await claimHead(store, conversation);
    expect(state.head).toBe(21);
    expect(input?.content).toContain('question of t1');
    await store.settle(lease, { state: 'completed', answerSeq: 22, step: textStep('model-1', 21) }, 'w');
    await store.append(appendOf(conversation, 22, 10));
    await commit(conversation, 30);
    const before = await readAll(conversation);
    expect((await store.packLog(conversation)).entries).toBe(11);
    await expect(readAll(conversation)).resolves.toEqual(before);
    expect(await store.readLog(conversation, [{ from: 1, to: 1_000 }])).toHaveLength(32);
  });

  test('the answers of old turns can still be read after their entries were packed', async () => {
    const { store } = given.harness();
    const conversation = newConversation();
    for (const turn of ['t1', 't2', 't3']) await answer(conversation, turn);
    await store.append(appendOf(conversation, 6, 10));
    await given.harness().rest(conversation);
    const before = await readAll(conversation);
    expect((await store.packLog(conversation)).entries).toBe(15);
    await expect(readAll(conversation)).resolves.toEqual(before);
    expect(await store.readTurn(conversation, 't1')).toMatchObject({ answer: { content: 'answer', seq: 2 } });
  });

  test('a repeated settlement that had claimed the next turn gets the same reply after all earlier entries were packed', async () => {
    const { store } = given.harness();
    const conversation = await makeConversation(store, 20);
    const { lease, conversation: state } = await acceptAndClaim(store, conversation, 't1');
    await store.accept(turnFor(conversation, 't2'));
    const end = { state: 'completed', answerSeq: 22, step: textStep('model-1', state.head) } as const;
    const first = await store.settle(lease, end, undefined);
    expect(first).toMatchObject({ status: 'settled', next: { lease: { turn: 't2' } } });
    await commit(conversation, 23);
    expect((await store.packLog(conversation)).entries).toBe(22);
    const again = await store.settle(lease, end, undefined);
    if (first.status !== 'settled' || again.status !== 'known') throw new Error(again.status);
    expect(again.conversation?.size.headTotal).toEqual(first.conversation?.size.headTotal);
    expect(again.conversation?.head).toBe(22);
    expect(again.next?.inputSeq).toBe(23);
  });

  test('a fork is packed as idle only an hour after its creation', async () => {
    const { store } = given.harness();
    const source = await makeConversation(store, 20);
    await given.harness().rest(source);
    const fork = newConversation();
    const plan = { source, version: 0, head: 20 };
    await store.beginFork({ conversation: fork, operation: 'f', agent: 'agent', plan });
    const entries = await store.readLog(source, [{ from: 1, to: 20 }]);
    const texts = { summaries: new Map(), byHash: new Map() };
    await store.copyToFork(fork, 'f', { expectedHead: 0, entries, opens: [], closes: [], texts });
    const version = { ...START_VERSION, number: 1, parent: 0, cause: 'fork' } as const;
    expect(await store.endFork(fork, 'f', version)).toEqual({ status: 'done' });
    expect((await store.packLog(fork)).entries).toBe(0);
    expect(await packableIn(fork)).toBe(HOUR_MS);
  });

  test('a reader of the stream of an old turn gets the packed entries of the turn', async () => {
    const { store } = given.harness();
    const conversation = newConversation();
    await answer(conversation, 't1');
    await answer(conversation, 't2');
    await store.append(appendOf(conversation, 4, 10));
    await given.harness().rest(conversation);
    const query = { conversation, turn: 't2', afterSeq: 0, after: '0-0' };
    const before = await store.readStream(query);
    expect(before?.log).toHaveLength(1);
    expect((await store.packLog(conversation)).entries).toBe(13);
    await expect(store.readStream(query)).resolves.toEqual(before);
  });

  test('an erase removes packed entries, even if a conversation with the same id is created again meanwhile', async () => {
    const { store, markGone } = given.harness();
    const [erased, created] = [await makeConversation(store, 20), await makeConversation(store, 20)];
    await rest(erased);
    await rest(created);
    await store.erase(erased);
    expect(await store.readLog(erased, [{ from: 1, to: 20 }])).toEqual([]);
    await markGone(created);
    await store.append(appendOf(created, 0, 3));
    expect(await store.readLog(created, [{ from: 1, to: 20 }])).toHaveLength(3);
    expect(await store.packLog(erased)).toEqual({ entries: 0, bytes: 0, packedBytes: 0 });
    expect(await given.harness().packableIn(erased)).toBeUndefined();
  });

  test('a packed conversation expires at the end of its idle TTL', async () => {
    const { store, endIdleTtl } = given.harness();
    const conversation = await makeConversation(store, 20);
    const { lease, conversation: state } = await acceptAndClaim(store, conversation, 't1');
    const step = textStep('model-1', state.head);
    await store.settle(lease, { state: 'completed', answerSeq: 22, step, conversationTtl: HOUR_MS }, 'w');
    expect((await rest(conversation)).entries).toBe(21);
    await endIdleTtl(conversation);
    expect(await store.expire(conversation, 'owner')).toMatchObject({ status: 'expired' });
    expect(await store.readLog(conversation, [{ from: 1, to: 20 }])).toEqual([]);
  });
}
