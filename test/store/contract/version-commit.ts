import { expect, test } from 'vitest';
import { buildContext } from '../../../src/compaction/context.ts';
import type { ConversationRef } from '../../../src/domain/ids.ts';
import type { VersionCommit } from '../../../src/store/pass-ends.ts';
import { appendOf, claimPass, commitOf } from '../pass-samples.ts';
import { acceptAndClaim, textStep } from '../samples.ts';
import type { Given } from './fixture.ts';

export function describeVersionCommit(given: Given): void {
  /** Requests a new compaction pass and commits the version after the live one. */
  async function commitNext(conversation: ConversationRef, commit: VersionCommit): Promise<void> {
    const { store } = given.harness();
    const { lease } = await claimPass(store, conversation);
    expect(await store.commitVersion(lease, commit)).toEqual({ status: 'ended' });
  }

  test('commitVersion makes the new context version live and ends the compaction pass', async () => {
    const { store, events, conversation, lease } = await given.pass();
    const commit = commitOf(0, 4, {
      backoff: { nothingBelowTokens: 5, gainlessPasses: 0, noGainBelowTokens: 0, appendsBelowMessageTokens: 3 },
    });
    expect(await store.commitVersion(lease, commit)).toEqual({ status: 'ended' });
    const state = await store.readConversation(conversation);
    expect(state).toMatchObject({
      size: { version: 1, weight: { tokens: 10, bytes: 40 }, baseTotal: { tokens: 100, bytes: 400 } },
      passed: { head: 8, turns: 4 },
      backoff: commit.backoff,
    });
    expect(state).not.toHaveProperty('passId');
    expect(await store.readVersion(conversation, 1)).toEqual(commit.version);
    const source = await store.readContext(conversation);
    expect(source?.summaries).toEqual(commit.summaries);
    expect(await store.readShownSummaries(conversation, commit.version)).toEqual(commit.summaries);
    expect(await store.readShownSummaries(conversation, { ...commit.version, segments: [] })).toEqual(new Map());
    expect(source?.entries.map(({ seq }) => seq)).toEqual([5, 6, 7, 8]);
    expect(await events(conversation)).toEqual([
      {
        type: 'version_committed',
        version: '1',
        cause: 'pass',
        reasons: 'ratio,turn_end',
        strategy: 'summarize',
        archived: '4',
        before: '120',
        after: '30',
        durationMs: '7',
        model: 'structural',
      },
      { type: 'pass_ended', passId: lease.passId, outcome: 'committed' },
    ]);
  });

  test('a repeated commitVersion gets the same reply as the first call and commits no second version', async () => {
    const { store, events, conversation, lease } = await given.pass();
    const commit = commitOf(0, 4);
    await store.commitVersion(lease, commit);
    expect(await store.commitVersion(lease, commit)).toEqual({ status: 'ended' });
    await commitNext(conversation, commitOf(1, 6));
    expect((await store.readConversation(conversation))?.size.version).toBe(2);
    expect(await events(conversation)).toHaveLength(4);
  });

  test('commitVersion writes nothing if another version is live than the caller expects, and the compaction pass stays in progress', async () => {
    const { store, events, conversation } = await given.log();
    await commitNext(conversation, commitOf(0, 2));
    const { lease } = await claimPass(store, conversation);
    const stale = commitOf(0, 4);
    const before = [await store.readContext(conversation), await events(conversation)];
    expect(await store.commitVersion(lease, stale)).toEqual({ status: 'version_changed', version: 1 });
    expect([await store.readContext(conversation), await events(conversation)]).toEqual(before);
    expect(await store.commitVersion(lease, commitOf(1, 4))).toEqual({ status: 'ended' });
  });

  test('commitVersion refuses a version number that is not the next in sequence', async () => {
    const { store, lease } = await given.pass();
    const commit = commitOf(0, 4);
    const gap = { ...commit, version: { ...commit.version, number: 3 } };
    await expect(store.commitVersion(lease, gap)).rejects.toMatchObject({
      code: 'conflict',
      field: 'version.number',
    });
    expect(await store.heartbeatPass(lease)).toEqual({ status: 'renewed' });
  });

  test('commitVersion keeps the newest `keepVersions` versions and the live one, with all their summary texts', async () => {
    const { store, conversation } = await given.log();
    for (let live = 0; live < 5; live += 1) await commitNext(conversation, commitOf(live, 4, { keepVersions: 3 }));
    const kept = await store.listVersions(conversation);
    expect(kept.map(({ number }) => number)).toEqual([3, 4, 5]);
    expect(await store.readVersion(conversation, 2)).toBeUndefined();
    expect(await store.readContext(conversation, { version: 2 })).toBeUndefined();
    for (const { number } of kept) {
      const source = await store.readContext(conversation, { version: number });
      expect(source && buildContext(source).items).toHaveLength(5);
    }
    await commitNext(conversation, commitOf(5, 4, { keepVersions: 0 }));
    expect((await store.listVersions(conversation)).map(({ number }) => number)).toEqual([6]);
  });

  test('commitVersion with another text for a summary leaves the text unchanged in an earlier version that shows it', async () => {
    const { store, conversation } = await given.log();
    const first = commitOf(0, 4);
    await commitNext(conversation, first);
    const before = await store.readContext(conversation, { version: 1, head: 8 });
    const [key = ''] = first.summaries.keys();
    const second = commitOf(1, 4);
    const other = [...second.summaries.values()].map((summary) => ({ ...summary, text: 'another text' }));
    await commitNext(conversation, { ...second, summaries: new Map(other.map((summary) => [key, summary])) });
    expect(await store.readContext(conversation, { version: 1, head: 8 })).toEqual(before);
  });

  test('a running turn records messages both before and after a compaction pass commits a version', async () => {
    const { store, conversation, lease } = await given.pass();
    const { lease: turn } = await acceptAndClaim(store, conversation, 't1');
    await store.recordStep(turn, { ...textStep('model.1', 9), anchor: { tokens: 500, version: 0 } });
    expect((await store.readConversation(conversation))?.size.anchor).toMatchObject({ seq: 10, version: 0 });
    await store.commitVersion(lease, commitOf(0, 4));
    const { size } = (await store.readConversation(conversation)) ?? {};
    expect([size?.version, size?.anchor?.version], 'the anchor is void by its version').toEqual([1, 0]);
    expect(await store.recordStep(turn, textStep('model.2', 10))).toMatchObject({ status: 'recorded' });
    const source = await store.readContext(conversation);
    expect(source?.entries.map(({ seq }) => seq)).toEqual([5, 6, 7, 8, 9, 10, 11]);
  });

  test('readContext at an old version and an old log end returns byte for byte what it returned before a later commit', async () => {
    const { store, conversation } = await given.log();
    await commitNext(conversation, commitOf(0, 4));
    const start = JSON.stringify(await store.readContext(conversation, { version: 0, head: 6 }));
    const first = buildContextText(await store.readContext(conversation, { version: 1, head: 8 }));
    await store.append(appendOf(conversation, 8, 20));
    await commitNext(conversation, commitOf(1, 24));
    await store.append(appendOf(conversation, 28, 2));
    expect(JSON.stringify(await store.readContext(conversation, { version: 0, head: 6 }))).toBe(start);
    expect(buildContextText(await store.readContext(conversation, { version: 1, head: 8 }))).toBe(first);
    const live = await store.readContext(conversation);
    expect([live?.version.number, live?.head, live?.entries.length]).toEqual([2, 30, 6]);
  });

  test('readContext refuses a log end before the last message that the version covers', async () => {
    const { store, conversation } = await given.log();
    await commitNext(conversation, commitOf(0, 4));
    const refused = { code: 'invalid_input', field: 'head' };
    await expect(store.readContext(conversation, { head: 3 })).rejects.toMatchObject(refused);
    await expect(store.readContext(conversation, { head: 9 })).rejects.toMatchObject(refused);
    await expect(store.readContext(conversation, { version: 0, head: -1 })).rejects.toMatchObject(refused);
    expect(await store.readContext(conversation, { version: 0, head: 0 })).toMatchObject({ head: 0, entries: [] });
    expect(await store.readContext(conversation, { version: 7 })).toBeUndefined();
  });
}

function buildContextText(source: Parameters<typeof buildContext>[0] | undefined): string {
  return JSON.stringify(source && buildContext(source));
}
