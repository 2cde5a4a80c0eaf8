import { expect, test } from 'vitest';
import type { ConversationRef } from '../../../src/domain/ids.ts';
import { nameOperation } from '../../../src/domain/ids.ts';
import { START_VERSION, type Version } from '../../../src/domain/version.ts';
import type { ForkBatch } from '../../../src/store/forks.ts';
import { appendOf, claimPass, commitOf, makeConversation } from '../pass-samples.ts';
import { acceptAndClaim, callsStep, newConversation, turnFor } from '../samples.ts';
import type { Given } from './fixture.ts';
import { replacementOver } from './version-replacement.ts';

const OPERATION = 'fork.1';
const NO_TEXTS = { summaries: new Map(), byHash: new Map() };

function firstVersion(of: Version): Version {
  return { ...of, number: 1, parent: 0, cause: 'fork' };
}

export function describeVersionFork(given: Given): void {
  async function beginFork(source: ConversationRef, head: number, version = 0): Promise<ConversationRef> {
    const conversation = newConversation();
    const plan = { source, version, head };
    const begun = await given.harness().store.beginFork({ conversation, operation: OPERATION, agent: 'agent', plan });
    expect(begun).toEqual({ status: 'copying', copied: 0, plan });
    return conversation;
  }

  async function batchOf(source: ConversationRef, from: number, to: number): Promise<ForkBatch> {
    const entries = await given.harness().store.readLog(source, [{ from, to }]);
    return { expectedHead: from - 1, entries, opens: [], closes: [], texts: NO_TEXTS };
  }

  test('a completed fork has the log, context version and context of its source', async () => {
    const { store, events } = given.harness();
    const source = await makeConversation(store, 8);
    const commit = commitOf(0, 4);
    await store.commitVersion((await claimPass(store, source)).lease, commit);
    const fork = await beginFork(source, 8, 1);
    const { summaries, byHash, next } = await store.readTexts(source, '0');
    expect(next).toBe('0');
    expect(summaries).toEqual(commit.summaries);
    const texts = { summaries, byHash };
    await store.copyToFork(fork, OPERATION, { ...(await batchOf(source, 1, 5)), texts });
    expect(await store.copyToFork(fork, OPERATION, await batchOf(source, 6, 8))).toEqual({
      status: 'copied',
      head: 8,
    });
    const version = firstVersion(commit.version);
    expect(await store.endFork(fork, OPERATION, version)).toEqual({ status: 'done' });

    const range = [{ from: 1, to: 8 }];
    expect(await store.readLog(fork, range)).toEqual(await store.readLog(source, range));
    const [copy, original] = [await store.readContext(fork), await store.readContext(source)];
    expect(copy).toEqual({ ...original, version });
    const [state, before] = [await store.readConversation(fork), await store.readConversation(source)];
    expect(state).toMatchObject({
      agent: 'agent',
      head: 8,
      turns: 4,
      size: { version: 1, headTotal: before?.size.headTotal },
      passed: { head: 8, turns: 4 },
    });
    expect((await events(fork)).map(({ cause }) => cause)).toEqual(['fork']);
  });

  test('a conversation that a fork copies into accepts no other write before the copy is complete', async () => {
    const { store } = given.harness();
    const source = await makeConversation(store, 4);
    const fork = await beginFork(source, 4);
    const forking = { status: 'forking', isAbandoned: false };
    expect(await store.accept(turnFor(fork, 't1'))).toEqual(forking);
    expect(await store.append(appendOf(fork, 0, 1))).toEqual(forking);
    expect(await store.requestPass({ conversation: fork, reasons: ['manual'], passId: 'p', wake: 'w' })).toEqual(
      forking,
    );
    await store.copyToFork(fork, OPERATION, await batchOf(source, 1, 4));
    await store.endFork(fork, OPERATION, firstVersion(START_VERSION));
    const { inputSeq } = await acceptAndClaim(store, fork, 't1');
    expect(inputSeq).toBe(5);
  });

  test('copyToFork writes nothing for a repeated batch of messages or a batch that does not continue the fork’s log', async () => {
    const { store } = given.harness();
    const source = await makeConversation(store, 6);
    const fork = await beginFork(source, 6);
    const batch = await batchOf(source, 1, 3);
    for (const _ of [1, 2]) expect(await store.copyToFork(fork, OPERATION, batch)).toMatchObject({ head: 3 });
    expect(await store.copyToFork(fork, OPERATION, await batchOf(source, 5, 6))).toEqual({
      status: 'copied',
      head: 3,
    });
    expect(await store.readConversation(fork)).toMatchObject({ head: 3, turns: 2 });
  });

  test('beginFork refuses the operation id of an earlier call with another payload, during the copy and after it', async () => {
    const { store } = given.harness();
    const plan = { source: await makeConversation(store, 2), version: 0, head: 2 };
    const operation = nameOperation('op', 'h1');
    const first = { conversation: newConversation(), operation, agent: 'agent', plan };
    await store.beginFork(first);
    const other = { ...first, operation: nameOperation('op', 'h2') };
    expect(await store.beginFork(other)).toEqual({ status: 'other_payload' });
    await store.copyToFork(first.conversation, operation, await batchOf(plan.source, 1, 2));
    await store.endFork(first.conversation, operation, firstVersion(START_VERSION));
    expect(await store.beginFork(other)).toEqual({ status: 'other_payload' });
    expect(await store.beginFork(first)).toEqual({ status: 'done', plan });
  });

  test('a repeated beginFork gets the plan of its first call, and beginFork of another operation is refused', async () => {
    const { store } = given.harness();
    const source = await makeConversation(store, 6);
    const conversation = await beginFork(source, 6);
    await store.copyToFork(conversation, OPERATION, await batchOf(source, 1, 3));
    const again = {
      conversation,
      operation: OPERATION,
      agent: 'agent',
      plan: { source: newConversation(), version: 4, head: 9 },
    };
    expect(await store.beginFork(again)).toEqual({
      status: 'copying',
      copied: 3,
      plan: { source, version: 0, head: 6 },
    });
    expect(await store.beginFork({ ...again, operation: 'fork.2' })).toEqual({
      status: 'forking',
      isAbandoned: false,
    });
    expect(await store.beginFork({ ...again, conversation: source })).toEqual({ status: 'exists' });
    await store.copyToFork(conversation, OPERATION, await batchOf(source, 4, 6));
    await store.endFork(conversation, OPERATION, firstVersion(START_VERSION));
    expect(await store.beginFork(again)).toEqual({ status: 'done', plan: { source, version: 0, head: 6 } });
    expect(await store.beginFork({ ...again, operation: 'fork.2' })).toEqual({ status: 'exists' });
    expect(await store.endFork(conversation, OPERATION, firstVersion(START_VERSION))).toEqual({ status: 'done' });
  });

  test('endFork refuses to complete a fork whose log is shorter than planned', async () => {
    const { store } = given.harness();
    const source = await makeConversation(store, 4);
    const fork = await beginFork(source, 4);
    await store.copyToFork(fork, OPERATION, await batchOf(source, 1, 3));
    const incomplete = { status: 'incomplete', head: 3 };
    expect(await store.endFork(fork, OPERATION, firstVersion(START_VERSION))).toEqual(incomplete);
    expect(await store.accept(turnFor(fork, 't1'))).toMatchObject({ status: 'forking' });
    await store.copyToFork(fork, OPERATION, await batchOf(source, 4, 4));
    expect(await store.endFork(fork, OPERATION, firstVersion(START_VERSION))).toEqual({ status: 'done' });
  });

  test('endFork refuses to complete a fork that lost a summary in a failover', async () => {
    const { store } = given.harness();
    const source = await makeConversation(store, 4);
    const fork = await beginFork(source, 4);
    await store.copyToFork(fork, OPERATION, await batchOf(source, 1, 4));
    const { version: committed, summaries } = commitOf(0, 2);
    const version = firstVersion(committed);
    expect(await store.endFork(fork, OPERATION, version)).toEqual({ status: 'incomplete', head: 4 });
    const texts = { summaries, byHash: new Map() };
    await store.copyToFork(fork, OPERATION, { expectedHead: -1, texts, entries: [], opens: [], closes: [] });
    expect(await store.endFork(fork, OPERATION, version)).toEqual({ status: 'done' });
  });

  test('a fork keeps the source’s tool calls without results until a turn answers them', async () => {
    const { store } = given.harness();
    const source = await makeConversation(store, 2);
    const { messages, opens } = callsStep('s', 2, 2);
    await store.append({ ...appendOf(source, 2, 1), messages, opens });
    const fork = await beginFork(source, 3);
    await store.copyToFork(fork, OPERATION, { ...(await batchOf(source, 1, 3)), opens });
    await store.endFork(fork, OPERATION, firstVersion(START_VERSION));
    expect((await store.readConversation(fork))?.openCalls).toEqual((await store.readConversation(source))?.openCalls);
    const { conversation } = await acceptAndClaim(store, fork, 't1');
    expect(conversation).toMatchObject({ head: 6, openCalls: [] });
  });

  test('a fork accepts batches of copied messages only from its own operation, and none after its end', async () => {
    const { store } = given.harness();
    const source = await makeConversation(store, 2);
    const fork = await beginFork(source, 2);
    const batch = await batchOf(source, 1, 2);
    const superseded = { status: 'superseded' };
    expect(await store.copyToFork(fork, 'fork.2', batch)).toEqual(superseded);
    expect(await store.endFork(fork, 'fork.2', firstVersion(START_VERSION))).toEqual(superseded);
    await store.copyToFork(fork, OPERATION, batch);
    await store.endFork(fork, OPERATION, firstVersion(START_VERSION));
    expect(await store.copyToFork(fork, OPERATION, { ...batch, expectedHead: 2 })).toEqual(superseded);
    expect(await store.readConversation(fork)).toMatchObject({ head: 2 });
  });

  test('a conversation is marked as forking while a fork copies into it, and afterwards belongs to its agent', async () => {
    const { store } = given.harness();
    const source = await makeConversation(store, 2);
    const fork = await beginFork(source, 2);
    expect(await store.readConversation(fork)).toMatchObject({ agent: 'agent', isForking: true });
    await store.copyToFork(fork, OPERATION, await batchOf(source, 1, 2));
    await store.endFork(fork, OPERATION, firstVersion(START_VERSION));
    expect(await store.readConversation(fork)).not.toHaveProperty('isForking');
    const other = await store.accept(turnFor(fork, 't1', { agent: 'another' }));
    expect(other).toEqual({ status: 'other_agent', agent: 'agent' });
  });

  test('writes to an abandoned fork are refused with `isAbandoned: true`, until the fork’s own operation continues the copy', async () => {
    const { store, abandonFork } = given.harness();
    const source = await makeConversation(store, 4);
    const fork = await beginFork(source, 4);
    await store.copyToFork(fork, OPERATION, await batchOf(source, 1, 2));
    await abandonFork(fork);
    const forking = { status: 'forking', isAbandoned: true };
    expect(await store.accept(turnFor(fork, 't1'))).toEqual(forking);
    expect(await store.append(appendOf(fork, 0, 1))).toEqual(forking);
    const request = { conversation: fork, reasons: ['manual'], passId: 'p', wake: 'w' } as const;
    expect(await store.requestPass(request)).toEqual(forking);
    expect(await store.replaceVersion(replacementOver(fork, 0, 2))).toEqual(forking);

    expect(await store.copyToFork(fork, OPERATION, await batchOf(source, 3, 3))).toMatchObject({ head: 3 });
    expect(await store.accept(turnFor(fork, 't1')), 'each batch holds it').toEqual({
      ...forking,
      isAbandoned: false,
    });
    await abandonFork(fork);
    const plan = { source, version: 0, head: 4 };
    const begun = await store.beginFork({ conversation: fork, operation: OPERATION, agent: 'agent', plan });
    expect(begun).toEqual({ status: 'copying', copied: 3, plan });
    expect(await store.accept(turnFor(fork, 't1')), 'so does a begin').toEqual({ ...forking, isAbandoned: false });
  });

  test('another fork operation replaces an abandoned fork and removes what it had copied', async () => {
    const { store, abandonFork, events } = given.harness();
    const source = await makeConversation(store, 4);
    const conversation = await beginFork(source, 4);
    const texts = { summaries: new Map(), byHash: new Map([['hash', 'of the first']]) };
    await store.copyToFork(conversation, OPERATION, { ...(await batchOf(source, 1, 3)), texts });
    await abandonFork(conversation);
    const other = await makeConversation(store, 2);
    const plan = { source: other, version: 0, head: 2 };
    const anew = { conversation, operation: 'fork.2', agent: 'agent-2', plan };
    expect(await store.beginFork(anew)).toEqual({ status: 'copying', copied: 0, plan });
    expect(await store.readLog(conversation, [{ from: 1, to: 9 }])).toEqual([]);
    expect(await store.readText(conversation, 'hash')).toBeUndefined();
    const superseded = { status: 'superseded' };
    expect(await store.copyToFork(conversation, OPERATION, await batchOf(source, 4, 4))).toEqual(superseded);
    expect(await store.endFork(conversation, OPERATION, firstVersion(START_VERSION))).toEqual(superseded);

    expect(await store.copyToFork(conversation, 'fork.2', await batchOf(other, 1, 2))).toMatchObject({ head: 2 });
    expect(await store.endFork(conversation, 'fork.2', firstVersion(START_VERSION))).toEqual({ status: 'done' });
    expect(await store.readConversation(conversation)).toMatchObject({ agent: 'agent-2', head: 2, turns: 1 });
    expect(await events(conversation)).toHaveLength(1);
    const turn = await store.accept(turnFor(conversation, 't1', { agent: 'agent-2' }));
    expect(turn).toMatchObject({ status: 'accepted' });
  });

  test('an abandoned fork can be erased, and a turn can reuse its conversation id', async () => {
    const { store, abandonFork } = given.harness();
    const source = await makeConversation(store, 2);
    const conversation = await beginFork(source, 2);
    await store.copyToFork(conversation, OPERATION, await batchOf(source, 1, 2));
    await abandonFork(conversation);
    expect((await store.erase(conversation)).removedKeys).toBe(2);
    expect((await acceptAndClaim(store, conversation, 't1')).inputSeq).toBe(1);
  });

  test('writes to an erased fork are refused as gone, and its conversation id can be used again', async () => {
    const { store } = given.harness();
    const source = await makeConversation(store, 2);
    const conversation = await beginFork(source, 2);
    const batch = await batchOf(source, 1, 2);
    await store.erase(conversation);
    expect(await store.copyToFork(conversation, OPERATION, batch)).toEqual({ status: 'gone' });
    expect(await store.endFork(conversation, OPERATION, firstVersion(START_VERSION))).toEqual({ status: 'gone' });
    const plan = { source, version: 0, head: 2 };
    expect(await store.beginFork({ conversation, operation: 'fork.2', agent: 'agent', plan })).toEqual({
      status: 'copying',
      copied: 0,
      plan,
    });
    expect(await store.copyToFork(conversation, 'fork.2', batch)).toMatchObject({ status: 'copied', head: 2 });
  });
}
