import * as fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import type { ConversationRef } from '../../src/domain/ids.ts';
import { bindReadContext } from '../../src/store/contexts/read-context.ts';
import { openSuiteRedis } from './open-redis.ts';
import { claimPass, commitOf, makeConversation } from './pass-samples.ts';
import { openMemoryStoreHarness, openRedisStoreHarness } from './store-harness.ts';
import { HEAD, Story, steps } from './text-operations.ts';

const suite = openSuiteRedis();
const redis = openRedisStoreHarness(() => suite);
afterAll(() => redis.close());

describe.each([
  ['memory', openMemoryStoreHarness(), 300],
  ['Redis', redis, 120],
] as const)('texts of checkpoints, in %s', (_, harness, numRuns) => {
  test('whatever is committed, restored, rolled back and forked: those of kept versions are kept, and no others', {
    timeout: 120_000,
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

describe('a version whose texts are read', () => {
  async function commitNext(conversation: ConversationRef, live: number): Promise<void> {
    const { lease } = await claimPass(redis.store, conversation);
    await redis.store.commitVersion(lease, commitOf(live, 4, { keepVersions: 1 }));
  }

  /** Reads contexts; before the texts of one are read, something else happens. */
  function readBehind(act: () => Promise<unknown>) {
    const acting = Object.create(suite.redis, {
      hmget: {
        value: async (key: string, ...fields: string[]) => {
          if (key.includes(':cp:')) await act();
          return suite.redis.hmget(key, ...fields);
        },
      },
    });
    return bindReadContext(acting, suite.keyspace);
  }

  test('and that is dropped meanwhile is not there any more', async () => {
    const conversation = await makeConversation(redis.store, HEAD);
    await commitNext(conversation, 0);
    const read = readBehind(() => commitNext(conversation, 1));
    expect(await read(conversation, { version: 1 })).toBeUndefined();
  });

  test('and that is there, without one of them, is answered without it: that is damage, and no end', async () => {
    const conversation = await makeConversation(redis.store, HEAD);
    await commitNext(conversation, 0);
    const read = readBehind(() => suite.redis.del(suite.keyspace.key(conversation, 'cp')));
    expect(await read(conversation)).toMatchObject({ version: { number: 1 }, checkpoints: new Map() });
  });
});
