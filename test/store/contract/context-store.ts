import { expect, test } from 'vitest';
import { nameOperation } from '../../../src/domain/ids.ts';
import { START_VERSION } from '../../../src/domain/version.ts';
import {
  appendOf,
  claimPass,
  claimSummary,
  commitOf,
  endOf,
  makeConversation,
  messagesOf,
  waitForPass,
} from '../pass-samples.ts';
import { acceptAndClaim, newConversation, textStep, turnFor, weigh } from '../samples.ts';
import type { Given } from './fixture.ts';

export function describeContextStore(given: Given): void {
  test('a conversation keeps its incarnation number through appends, and gets a new one if it is created again after an erase', async () => {
    const { store, conversation } = given.nothing();
    const readIncarnation = async () => (await store.readConversation(conversation))?.incarnation;
    await store.append(appendOf(conversation, 0, 2));
    const first = await readIncarnation();
    expect(first).toMatch(/./);
    await store.append(appendOf(conversation, 2, 2));
    expect(await readIncarnation()).toBe(first);
    await store.erase(conversation);
    await store.append(appendOf(conversation, 0, 2));
    expect(await readIncarnation()).toMatch(/./);
    expect(await readIncarnation()).not.toBe(first);
  });

  test('the first append of messages creates the conversation and numbers its messages from 1', async () => {
    const { store, conversation } = given.nothing();
    expect(await store.readConversation(conversation)).toBeUndefined();
    expect(await store.readContext(conversation)).toBeUndefined();
    expect(await store.append(appendOf(conversation, 0, 3))).toEqual({ status: 'appended', from: 1, to: 3 });
    expect(await store.append(appendOf(conversation, 3, 2))).toEqual({ status: 'appended', from: 4, to: 5 });
    const entries = await store.readLog(conversation, [{ from: 1, to: 5 }]);
    expect(entries.map(({ message, tokens, bytes }) => ({ message, tokens, bytes }))).toEqual(messagesOf(5));
    expect(entries.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
    const headTotal = entries.at(-1)?.total;
    expect(headTotal?.tokens).toBe(entries.reduce((sum, { tokens }) => sum + tokens, 0));
    expect(await store.readConversation(conversation)).toMatchObject({
      agent: 'agent',
      head: 5,
      turns: 3,
      openCalls: [],
      passed: { head: 0, turns: 0 },
      size: { version: 0, headTotal },
    });
    expect(await store.readContext(conversation)).toEqual({
      version: START_VERSION,
      head: 5,
      entries,
      summaries: new Map(),
    });
  });

  test('an append of the first messages of a log creates a compaction pass, which the sweep finds if its wake is lost', async () => {
    const { store, conversation } = given.nothing();
    const firstPass = { passId: 'p1', wake: 'w1' };
    const first = { ...appendOf(conversation, 0, 2), firstPass };
    expect(await store.append(first)).toMatchObject({ status: 'appended' });
    const lapsed = { status: 'lapsed', hadWorker: false, recordedWake: 'w1' };
    expect(await store.inspectPass(conversation), 'the caller may die before its wake').toEqual(lapsed);
    const request = { conversation, reasons: [], ...firstPass };
    expect(await store.requestPass(request)).toEqual({ status: 'requested', passId: 'p1', needsWake: true });
    const claimed = await store.claimPass(conversation, 'owner', 'job', 'w');
    expect(claimed).toMatchObject({ status: 'claimed', pass: { lease: { passId: 'p1' }, reasons: [] } });
    await store.endPass({ conversation, owner: 'owner', passId: 'p1' }, endOf());

    await store.append(first);
    await store.append({ ...appendOf(conversation, 2, 2), firstPass: { passId: 'p2', wake: 'w2' } });
    expect(await store.inspectPass(conversation), 'neither a repeated nor a later append').toEqual({ status: 'quiet' });
  });

  test('an append of the first messages of a log joins the compaction pass that is requested already', async () => {
    const { store, conversation } = given.nothing();
    await store.accept({ ...turnFor(conversation, 't1'), delayMs: 60_000 });
    await store.requestPass({ conversation, reasons: ['manual'], passId: 'p1', wake: 'w1' });
    await store.append({ ...appendOf(conversation, 0, 2), firstPass: { passId: 'p2', wake: 'w2' } });
    const claimed = await store.claimPass(conversation, 'owner', 'job', 'w');
    expect(claimed).toMatchObject({ pass: { lease: { passId: 'p1' }, reasons: ['manual'] } });
  });

  test('a repeated append of messages changes nothing and gets the same reply as the first call', async () => {
    const { store, conversation } = given.nothing();
    const request = appendOf(conversation, 0, 3);
    await store.append(request);
    await store.append(appendOf(conversation, 3, 2));
    expect(await store.append(request)).toEqual({ status: 'known', from: 1, to: 3 });
    expect((await store.readConversation(conversation))?.head).toBe(5);
  });

  test('an append of messages replies conflict and writes nothing if the log has another length than the caller expects', async () => {
    const { store, conversation } = given.nothing();
    expect(await store.append(appendOf(conversation, 2, 1))).toEqual({ status: 'conflict', head: 0 });
    expect(await store.readConversation(conversation)).toBeUndefined();
    await store.append(appendOf(conversation, 0, 3));
    const stale = appendOf(conversation, 2, 1);
    expect(await store.append(stale)).toEqual({ status: 'conflict', head: 3 });
    expect(await store.append({ ...stale, expectedHead: 3 }), 'the id is free again').toMatchObject({ from: 4 });
  });

  test('an append that names another agent than that of the conversation is refused, even while a turn runs', async () => {
    const { store, conversation } = given.nothing();
    const first = appendOf(conversation, 0, 3);
    await store.append(first);
    const refused = { status: 'other_agent', agent: 'agent' };
    expect(await store.append({ ...appendOf(conversation, 3, 1), agent: 'other' })).toEqual(refused);
    expect(await store.append({ ...appendOf(conversation, 0, 1), agent: 'other' })).toEqual(refused);
    expect((await store.readConversation(conversation))?.head).toBe(3);
    await store.accept(turnFor(conversation, 't1'));
    expect(await store.append({ ...appendOf(conversation, 3, 1), agent: 'other' })).toEqual(refused);
    expect(await store.append(first), 'I5').toMatchObject({ status: 'known' });
    await store.erase(conversation);
    const anew = { ...appendOf(conversation, 0, 1), agent: 'other' };
    expect(await store.append(anew), 'an erased one is nobody’s').toMatchObject({ status: 'appended' });
    expect(await store.readConversation(conversation)).toMatchObject({ agent: 'other', head: 1 });
  });

  test('an append of messages is refused while a turn is queued or runs, but accepted while the only turn is scheduled for later', async () => {
    const { store, conversation } = given.nothing();
    await store.accept(turnFor(conversation, 'later', { delayMs: 60_000 }));
    expect(await store.append(appendOf(conversation, 0, 2))).toMatchObject({ status: 'appended' });
    const { lease } = await acceptAndClaim(store, conversation, 't1');
    expect(await store.append(appendOf(conversation, 3, 1))).toEqual({ status: 'busy' });
    await store.recordStep(lease, textStep('model.1', 3));
    await store.settle(lease, { state: 'completed', answerSeq: 4 }, undefined);
    expect(await store.append(appendOf(conversation, 4, 1))).toMatchObject({ status: 'appended', from: 5 });
  });

  test('an append of a tool result removes the call from the unanswered calls, and a second result for that call is a conflict', async () => {
    const { store, conversation } = given.nothing();
    const toolCalls = [0, 1].map((index) => ({ id: `c1_${index}`, name: 'read', arguments: '{"a":[]}' }));
    const call = {
      ...appendOf(conversation, 0, 0),
      messages: [weigh({ role: 'assistant', content: '', toolCalls })],
      opens: [{ id: 'c1_0', providerId: 'call:x y' }, { id: 'c1_1' }],
    };
    await store.append(call);
    const { openCalls } = (await store.readConversation(conversation)) ?? {};
    expect(openCalls?.toSorted((a, b) => a.id.localeCompare(b.id))).toEqual(call.opens);
    const result = {
      ...appendOf(conversation, 1, 0),
      messages: [weigh({ role: 'tool', content: 'found', toolCallId: 'c1_0' })],
      closes: ['c1_0'],
    };
    expect(await store.append(result)).toEqual({ status: 'appended', from: 2, to: 2 });
    const orphan = await store.append({ ...result, operation: 'second' });
    expect(orphan, 'the call is answered: its head has moved').toEqual({ status: 'conflict', head: 2 });
    expect((await store.readConversation(conversation))?.openCalls).toEqual([{ id: 'c1_1' }]);
  });

  test('a repeated append gets its first answer, and the same operation id with another payload is refused', async () => {
    const { store, conversation } = given.nothing();
    const first = { ...appendOf(conversation, 0, 2), operation: nameOperation('op', 'h1') };
    expect(await store.append(first)).toEqual({ status: 'appended', from: 1, to: 2 });
    const other = { ...appendOf(conversation, 2, 1), operation: nameOperation('op', 'h2') };
    expect(await store.append(other)).toEqual({ status: 'other_payload' });
    expect(await store.append(first)).toEqual({ status: 'known', from: 1, to: 2 });
    expect(await store.readConversation(conversation)).toMatchObject({ head: 2 });
  });

  test('an append without messages creates the conversation with an empty log', async () => {
    const { store, conversation } = given.nothing();
    expect(await store.append(appendOf(conversation, 0, 0))).toEqual({ status: 'appended', from: 1, to: 0 });
    expect(await store.readContext(conversation)).toMatchObject({ head: 0, entries: [] });
  });

  test('readContext returns all 5,000 log entries of a context in order', async () => {
    const { store } = given.harness();
    const conversation = await makeConversation(store, 5_000);
    const source = await store.readContext(conversation);
    expect(source?.entries.map(({ seq }) => seq)).toEqual(Array.from({ length: 5_000 }, (_, index) => index + 1));
    expect(source?.entries.map(({ message }) => message)).toEqual(messagesOf(5_000).map(({ message }) => message));
  });

  test('readLog returns the messages of several ranges, nothing beyond the log’s end, and refuses a range that begins before the first message', async () => {
    const { store } = given.harness();
    const conversation = await makeConversation(store, 10);
    const ranges = [
      { from: 2, to: 3 },
      { from: 9, to: 400 },
    ];
    expect((await store.readLog(conversation, ranges)).map(({ seq }) => seq)).toEqual([2, 3, 9, 10]);
    expect(await store.readLog(conversation, [])).toEqual([]);
    expect(await store.readLog(newConversation(), [{ from: 1, to: 5 }])).toEqual([]);
    await expect(store.readLog(conversation, [{ from: 0, to: 5 }])).rejects.toThrow('must be 1 or more, but is 0');
  });

  test('readText returns the full text of a clipped message by its hash, and a conversation before its first compaction lists no version', async () => {
    const { store, conversation, lease } = await given.running();
    await store.recordStep(lease, {
      ...textStep('model.1', 1),
      fullTexts: new Map([['hash1', 'the whole text: []']]),
    });
    expect(await store.readText(conversation, 'hash1')).toBe('the whole text: []');
    expect(await store.readText(conversation, 'hash2')).toBeUndefined();
    expect(await store.listVersions(conversation)).toEqual([]);
    expect(await store.readVersion(conversation, 0), 'never stored').toBeUndefined();
  });

  test('an erase removes every key of the conversation and replies with their number, and a repeated erase gets the same reply', async () => {
    const { store, dueIn } = given.harness();
    const conversation = await makeConversation(store, 4);
    await store.claimSummary(conversation, 'hash', 'owner');
    const { lease } = await claimPass(store, conversation);
    await store.commitVersion(lease, commitOf(0, 2));
    await waitForPass(store, conversation, 't1');
    await store.accept(turnFor(conversation, 'later', { delayMs: 60_000 }));
    // c log mb ver txt pass ev, two turns, a summary and an operation
    const removed = { removedKeys: 11 };
    expect(await store.erase(conversation)).toEqual(removed);
    expect(await store.erase(conversation)).toEqual(removed);
    expect(await store.readConversation(conversation)).toBeUndefined();
    expect(await store.readContext(conversation)).toBeUndefined();
    expect(await store.readLog(conversation, [{ from: 1, to: 4 }])).toEqual([]);
    expect(await store.listVersions(conversation)).toEqual([]);
    expect(await store.readSummaries(conversation, ['hash'])).toEqual([undefined]);
    expect(await store.readTurn(conversation, 't1')).toBeUndefined();
    for (const entry of ['t', 'p', { scheduled: 'later' }] as const) {
      expect(await dueIn(conversation, entry)).toBeUndefined();
    }
  });

  test('after the erase of a conversation, writes of a worker that still runs its turn get the reply gone and create no key', async () => {
    const { store } = given.harness();
    const conversation = await makeConversation(store, 4);
    const { lease } = await acceptAndClaim(store, conversation, 't1');
    const pass = await claimPass(store, conversation);
    const summary = await claimSummary(store, conversation, 'hash', pass.lease.passId);
    await store.erase(conversation);
    const gone = { status: 'gone' };
    expect(await store.recordStep(lease, textStep('model.1', 5))).toEqual(gone);
    expect(await store.heartbeat(lease)).toEqual(gone);
    expect(await store.commitVersion(pass.lease, commitOf(0, 2))).toEqual(gone);
    expect(await store.claimSummary(conversation, 'hash', 'owner')).toEqual(gone);
    expect(await store.recordSummary(summary, { status: 'refused', why: 'w' })).toBe('gone');
    expect(await store.heartbeatSummary(conversation, 'hash', summary.owner)).toBe(false);
    expect(await store.readConversation(conversation)).toBeUndefined();
  });

  test('an append after an erase creates the conversation again, and treats an operation id from before the erase as new', async () => {
    const { store, conversation } = given.nothing();
    const request = appendOf(conversation, 0, 3);
    await store.append(request);
    await store.erase(conversation);
    expect(await store.append(request), 'not known: those messages are gone').toMatchObject({ status: 'appended' });
    expect(await store.readConversation(conversation)).toMatchObject({ head: 3, size: { version: 0 } });
    await claimPass(store, conversation);
  });

  test('a turn accepted after an erase creates the conversation again, and writes of a worker that had a lease before the erase are refused', async () => {
    const { store, conversation, lease } = await given.running();
    await store.erase(conversation);
    const next = await acceptAndClaim(store, conversation, 't1');
    expect(next.lease.epoch, 'equal only within one ms, where the owner tells them apart').toBeGreaterThanOrEqual(
      lease.epoch,
    );
    expect(await store.recordStep(lease, textStep('model.1', 1))).toEqual({ status: 'fenced' });
    expect(await store.recordStep(next.lease, textStep('model.1', 1))).toMatchObject({ status: 'recorded' });
  });

  test('an erase of a conversation that does not exist removes no key', async () => {
    const { store } = given.harness();
    expect(await store.erase(newConversation())).toEqual({ removedKeys: 0 });
  });
}
