import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { ConversationRef } from '../../../src/domain/ids.ts';
import { nameOperation } from '../../../src/domain/ids.ts';
import { START_VERSION, type Version } from '../../../src/domain/version.ts';
import type { VersionReplacement } from '../../../src/store/versions.ts';
import { appendOf, claimPass, commitOf, endOf, makeConversation, waitForPass } from '../pass-samples.ts';
import { acceptAndClaim, callsStep, claimHead, newConversation, toWaitFor, turnFor } from '../samples.ts';
import type { Given } from './fixture.ts';

const GATE = { nothingBelowTokens: 0, gainlessPasses: 0, noGainBelowTokens: 1_150 };

/** A replacement of version `live` by a version that shows the whole log of `head` messages. */
export function replacementOver(
  conversation: ConversationRef,
  live: number,
  head: number,
  changes: Partial<VersionReplacement> = {},
): VersionReplacement {
  const weight = { tokens: 77, bytes: 88 };
  const version: Version = {
    ...START_VERSION,
    number: live + 1,
    parent: live,
    cause: 'restore',
    base: head,
    segments: [{ kind: 'raw', from: 1, to: head, weight }],
    weight,
    baseTotal: { tokens: 90, bytes: 91 },
    at: 7,
  };
  return {
    conversation,
    operation: randomUUID(),
    expectedVersion: live,
    expectedHead: head,
    version,
    backoff: GATE,
    keepsNewer: true,
    wakeTurn: `wake.${randomUUID()}`,
    keepVersions: 200,
    ...changes,
  };
}

export function describeVersionReplacement(given: Given): void {
  /** Creates a conversation with eight messages and version 1. */
  async function makeCompacted(): Promise<ConversationRef> {
    const { store } = given.harness();
    const conversation = await makeConversation(store, 8);
    const { lease } = await claimPass(store, conversation);
    await store.commitVersion(lease, commitOf(0, 4));
    return conversation;
  }

  test('replaceVersion refuses the operation id of an earlier call with another payload', async () => {
    const { store } = given.harness();
    const conversation = await makeCompacted();
    const first = replacementOver(conversation, 1, 8, { operation: nameOperation('op', 'h1') });
    expect(await store.replaceVersion(first)).toEqual({ status: 'replaced', version: 2 });
    const other = replacementOver(conversation, 2, 8, { operation: nameOperation('op', 'h2') });
    expect(await store.replaceVersion(other)).toEqual({ status: 'other_payload' });
    expect(await store.replaceVersion(first)).toEqual({ status: 'known', version: 2 });
  });

  test('replaceVersion makes another context version the live one, starts a backoff of compaction and emits an event', async () => {
    const { store, events } = given.harness();
    const conversation = await makeCompacted();
    const replacement = replacementOver(conversation, 1, 8);
    expect(await store.replaceVersion(replacement)).toEqual({ status: 'replaced', version: 2 });
    const state = await store.readConversation(conversation);
    expect(state).toMatchObject({
      size: { version: 2, weight: { tokens: 77, bytes: 88 }, baseTotal: { tokens: 90, bytes: 91 } },
      backoff: GATE,
    });
    expect(await store.readVersion(conversation, 2)).toEqual(replacement.version);
    expect(await store.readVersion(conversation, 1)).toBeDefined();
    expect((await events(conversation)).map(({ type, cause }) => [type, cause])).toContainEqual([
      'version_committed',
      'restore',
    ]);
  });

  test('a repeated replaceVersion gets the reply known and writes nothing, even after a later version went live', async () => {
    const { store, events } = given.harness();
    const conversation = await makeCompacted();
    const replacement = replacementOver(conversation, 1, 8);
    await store.replaceVersion(replacement);
    await store.replaceVersion(replacementOver(conversation, 2, 8));
    const before = [await store.readConversation(conversation), await events(conversation)];
    expect(await store.replaceVersion(replacement)).toEqual({ status: 'known', version: 2 });
    expect([await store.readConversation(conversation), await events(conversation)]).toEqual(before);
  });

  test('replaceVersion writes nothing if another version is live or the log ends elsewhere than the caller expects', async () => {
    const { store } = given.harness();
    const conversation = await makeCompacted();
    await store.append(appendOf(conversation, 8, 1));
    const before = await store.readConversation(conversation);
    const changed = { status: 'changed', version: 1, head: 9 };
    expect(await store.replaceVersion(replacementOver(conversation, 0, 9))).toEqual(changed);
    expect(await store.replaceVersion(replacementOver(conversation, 1, 8))).toEqual(changed);
    expect(await store.readConversation(conversation)).toEqual(before);
  });

  test('replaceVersion is refused while a turn runs, even after its lease has ended, but not while a turn is queued', async () => {
    const { store, lapseLease } = given.harness();
    const conversation = await makeCompacted();
    await store.accept(turnFor(conversation, 't1'));
    expect(await store.replaceVersion(replacementOver(conversation, 1, 8))).toMatchObject({ status: 'replaced' });
    await claimHead(store, conversation);
    expect(await store.replaceVersion(replacementOver(conversation, 2, 9))).toEqual({ status: 'busy' });
    await lapseLease('turn', conversation);
    expect(await store.replaceVersion(replacementOver(conversation, 2, 9))).toEqual({ status: 'busy' });
  });

  test('while a turn waits for tool results, replaceVersion accepts only a version that keeps the newest messages', async () => {
    const { store } = given.harness();
    const conversation = await makeCompacted();
    const { lease } = await acceptAndClaim(store, conversation, 't1');
    await store.recordStep(lease, callsStep('model.1', 9, 1));
    await store.suspend(lease, { for: 'tools', step: 'model.1', waitMs: 60_000, calls: toWaitFor(['c10_0']) });
    expect(await store.replaceVersion(replacementOver(conversation, 1, 10, { keepsNewer: false }))).toEqual({
      status: 'busy',
    });
    expect(await store.replaceVersion(replacementOver(conversation, 1, 10))).toMatchObject({ status: 'replaced' });
  });

  test('replaceVersion refuses a version that drops tool calls which a caller with its own model loop has not answered yet', async () => {
    const { store } = given.harness();
    const conversation = await makeConversation(store, 2);
    const { messages, opens } = callsStep('s', 2, 1);
    await store.append({ ...appendOf(conversation, 2, 1), messages, opens });
    const dropping = replacementOver(conversation, 0, 3, { keepsNewer: false });
    expect(await store.replaceVersion(dropping)).toEqual({ status: 'busy' });
    const closing = callsStep('s', 2, 1).opens.map(({ id }) => id);
    await store.append({ ...appendOf(conversation, 3, 1), closes: closing });
    const after = replacementOver(conversation, 0, 4, { keepsNewer: false });
    expect(await store.replaceVersion(after)).toMatchObject({ status: 'replaced' });
  });

  test('replaceVersion ends the compaction pass in progress, and later writes of the pass’s owner are refused as superseded', async () => {
    const { store, dueIn, events } = given.harness();
    const conversation = await makeCompacted();
    const { lease } = await claimPass(store, conversation);
    expect(await store.replaceVersion(replacementOver(conversation, 1, 8))).toEqual({
      status: 'replaced',
      version: 2,
    });
    expect(await store.readConversation(conversation)).toMatchObject({ passed: { head: 8 } });
    expect((await store.readConversation(conversation))?.passId).toBeUndefined();
    expect(await dueIn(conversation, 'p')).toBeUndefined();
    expect(await store.commitVersion(lease, commitOf(2, 6))).toEqual({ status: 'superseded' });
    expect(await store.endPass(lease, endOf())).toEqual({ status: 'superseded' });
    expect(await store.heartbeatPass(lease)).toEqual({ status: 'superseded' });
    expect(await events(conversation)).toContainEqual({
      type: 'pass_ended',
      passId: lease.passId,
      outcome: 'superseded',
    });
    expect((await store.readConversation(conversation))?.backoff).toEqual(GATE);
    expect(await claimPass(store, conversation)).toMatchObject({ attempt: 1 });
  });

  test('after replaceVersion, writes of a pass’s current owner are refused as superseded, and those of its earlier owner as fenced', async () => {
    const { store, lapseLease } = given.harness();
    const conversation = await makeCompacted();
    const { lease } = await claimPass(store, conversation);
    await lapseLease('pass', conversation);
    await store.endPass((await claimPass(store, conversation)).lease, endOf());
    const { lease: next } = await claimPass(store, conversation);
    await store.replaceVersion(replacementOver(conversation, 1, 8));
    expect(await store.heartbeatPass(lease)).toEqual({ status: 'fenced' });
    expect(await store.heartbeatPass(next)).toEqual({ status: 'superseded' });
  });

  test('replaceVersion wakes the turn that waits for the compaction pass, and leaves the turn’s wait unfulfilled', async () => {
    const { store } = given.harness();
    const conversation = await makeCompacted();
    await waitForPass(store, conversation, 't1');
    const replacement = replacementOver(conversation, 1, 9);
    const { wakeTurn } = replacement;
    expect(await store.replaceVersion(replacement)).toEqual({ status: 'replaced', version: 2, wakeTurn });
    expect(await store.replaceVersion(replacement)).toEqual({ status: 'known', version: 2, wakeTurn });
    expect((await claimHead(store, conversation)).waited).toMatchObject({ for: 'compaction', isFulfilled: false });
  });

  test('replaceVersion refuses a version that shows a summary whose text is missing', async () => {
    const { store } = given.harness();
    const conversation = await makeCompacted();
    const before = await store.readConversation(conversation);
    const { version } = commitOf(1, 8);
    expect(await store.replaceVersion(replacementOver(conversation, 1, 8, { version }))).toEqual({
      status: 'text_gone',
    });
    expect(await store.readConversation(conversation)).toEqual(before);
  });

  test('versions made by a restore (restore points), and the versions that they replaced, are kept besides the newest versions', async () => {
    const { store } = given.harness();
    const conversation = await makeCompacted();
    for (let live = 1; live <= 8; live += 1) {
      if (live === 3) await store.replaceVersion(replacementOver(conversation, live, 8, { keepVersions: 2 }));
      else {
        const { lease } = await claimPass(store, conversation);
        await store.commitVersion(lease, commitOf(live, 4, { keepVersions: 2 }));
      }
    }
    const kept = (await store.listVersions(conversation)).map(({ number }) => number);
    expect(kept).toEqual([3, 4, 8, 9]);
  });

  test('replaceVersion is refused for a conversation that does not exist or was erased', async () => {
    const { store } = given.harness();
    expect(await store.replaceVersion(replacementOver(newConversation(), 0, 0))).toEqual({ status: 'not_found' });
    const conversation = await makeCompacted();
    await store.replaceVersion(replacementOver(conversation, 1, 8));
    await store.erase(conversation);
    expect(await store.replaceVersion(replacementOver(conversation, 1, 8))).toEqual({ status: 'gone' });
  });

  test('replaceVersion refuses a version number that is not the next in sequence', async () => {
    const { store } = given.harness();
    const conversation = await makeCompacted();
    const { version } = replacementOver(conversation, 4, 8);
    await expect(async () =>
      store.replaceVersion(replacementOver(conversation, 1, 8, { version })),
    ).rejects.toMatchObject({ code: 'conflict' });
  });
}
