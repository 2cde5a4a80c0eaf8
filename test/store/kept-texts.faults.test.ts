import * as fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import type { ConversationRef } from '../../src/domain/ids.ts';
import { bindReadContext } from '../../src/store/contexts.ts';
import { openSuiteRedis } from './open-redis.ts';
import { claimPass, commitOf, makeConversation, summaryOf } from './pass-samples.ts';
import { openEmbeddedStoreHarness, openRedisStoreHarness } from './store-harness.ts';
import { HEAD, Story, steps } from './text-operations.ts';

const suite = openSuiteRedis();
const redis = openRedisStoreHarness(() => suite);
afterAll(() => redis.close());

describe.each([
  ['the in-process Redis', openEmbeddedStoreHarness(), 300],
  ['Redis', redis, 120],
] as const)('summary texts in %s', (_, harness, numRuns) => {
  test('after any sequence of commits, restores, rollbacks and forks, exactly the summary texts that kept versions show are stored', {
    timeout: 600_000,
  }, async () => {
    const run = fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 4 }), async (taken, keepVersions) => {
        const story = new Story(harness, await makeConversation(harness.store, HEAD), keepVersions);
        for (const step of taken) await story.take(step);
      }),
      { numRuns },
    );
    await expect(run).resolves.toBeUndefined();
  });
});

describe('summary texts that no version shows any more', () => {
  const VERSIONS = 20;
  const { store } = redis;

  /** Commits a version that shows a new text, and optionally the given text as well. */
  async function commitNext(conversation: ConversationRef, live: number, keepVersions: number, shown?: string) {
    const { lease } = await claimPass(store, conversation);
    const commit = commitOf(live, 4, { keepVersions });
    const [own] = commit.version.segments;
    const segments = own?.kind === 'summary' && shown ? [own, { ...own, summaryKey: shown }] : commit.version.segments;
    await store.commitVersion(lease, { ...commit, version: { ...commit.version, segments } });
    return [...commit.summaries.keys()][0] ?? '';
  }

  /** Commits several versions, each with a new text. Returns the keys of these texts. */
  async function commitVersions(conversation: ConversationRef): Promise<string[]> {
    const keys = [];
    for (let live = 0; live < VERSIONS; live += 1) keys.push(await commitNext(conversation, live, 200));
    return keys;
  }

  /** Makes each version a quarter of a megabyte, so that one commit searches four of them. */
  async function swell(conversation: ConversationRef): Promise<void> {
    const key = suite.keyspace.key(conversation, 'ver');
    const padding = ' '.repeat(250_000);
    for (const [number, version] of Object.entries(await suite.redis.hgetall(key))) {
      await suite.redis.hset(key, number, `${version.trim()}${padding}`);
    }
  }

  async function swellOne(conversation: ConversationRef, number: number): Promise<void> {
    const key = suite.keyspace.key(conversation, 'ver');
    await suite.redis.hset(key, number, `${await suite.redis.hget(key, String(number))}${' '.repeat(1_100_000)}`);
  }

  async function readKeys(conversation: ConversationRef): Promise<string[]> {
    return (await suite.redis.hkeys(suite.keyspace.key(conversation, 'txt'))).map((field) => field.slice('k:'.length));
  }

  test('a summary text that no version shows is removed even if each version is larger than the search limit of a commit', async () => {
    const conversation = await makeConversation(store, HEAD);
    const [first = ''] = await commitVersions(conversation);
    for (let number = 1; number <= VERSIONS; number += 1) await swellOne(conversation, number);
    let live = VERSIONS;
    for (; live < 3 * VERSIONS && (await readKeys(conversation)).includes(first); live += 1) {
      await commitNext(conversation, live, VERSIONS);
      await swellOne(conversation, live + 1);
    }
    expect(await readKeys(conversation)).not.toContain(first);
  });

  test('each commit searches a few large versions, and later commits search on until they remove a summary text that no version shows', async () => {
    const conversation = await makeConversation(store, HEAD);
    const keys = await commitVersions(conversation);
    await swell(conversation);
    const [first = '', second = ''] = keys;
    await commitNext(conversation, VERSIONS, VERSIONS);
    expect(await readKeys(conversation), 'looked for in some').toContain(first);
    await commitNext(conversation, VERSIONS + 1, VERSIONS, second);
    let live = VERSIONS + 2;
    for (; live < 2 * VERSIONS && (await readKeys(conversation)).includes(first); live += 1) {
      await commitNext(conversation, live, VERSIONS);
    }
    expect(await readKeys(conversation)).not.toContain(first);
    const left = keys.slice(0, live - VERSIONS);
    for (const last = live + VERSIONS / 2; live < last; live += 1) await commitNext(conversation, live, VERSIONS);
    expect(
      (await readKeys(conversation)).filter((key) => left.includes(key)),
      'shown again',
    ).toEqual([second]);
  });

  test('a summary text that no version shows is removed when the next version is dropped', async () => {
    const conversation = await makeConversation(store, HEAD);
    const keys = await commitVersions(conversation);
    await suite.redis.hset(suite.keyspace.key(conversation, 'txt'), 'k:left', JSON.stringify(summaryOf(2).summary));
    await commitNext(conversation, VERSIONS, 200);
    expect(await readKeys(conversation), 'none is dropped').toContain('left');
    const newest = await commitNext(conversation, VERSIONS + 1, VERSIONS);
    const kept = await readKeys(conversation);
    expect(kept).not.toContain('left');
    expect(kept).toEqual(expect.arrayContaining([...keys.slice(2), newest]));
  });
});

describe('readContext of a version whose summary texts are removed meanwhile', () => {
  async function commitNext(conversation: ConversationRef, live: number): Promise<void> {
    const { lease } = await claimPass(redis.store, conversation);
    await redis.store.commitVersion(lease, commitOf(live, 4, { keepVersions: 1 }));
  }

  /** Returns a reader of contexts that runs `act` after it has read the version and before it reads the texts. */
  function readBehind(act: () => Promise<unknown>) {
    const acting = Object.create(suite.redis, {
      hmget: {
        value: async (key: string, ...fields: string[]) => {
          if (key.includes(':txt:')) await act();
          return suite.redis.hmget(key, ...fields);
        },
      },
    });
    return bindReadContext(acting, suite.keyspace);
  }

  test('readContext returns undefined if the version is dropped while readContext reads its summary texts', async () => {
    const conversation = await makeConversation(redis.store, HEAD);
    await commitNext(conversation, 0);
    const read = readBehind(() => commitNext(conversation, 1));
    expect(await read(conversation, { version: 1 })).toBeUndefined();
  });

  test('readContext returns the version without a summary whose text is missing', async () => {
    const conversation = await makeConversation(redis.store, HEAD);
    await commitNext(conversation, 0);
    const read = readBehind(() => suite.redis.del(suite.keyspace.key(conversation, 'txt')));
    expect(await read(conversation)).toMatchObject({ version: { number: 1 }, summaries: new Map() });
  });
});
