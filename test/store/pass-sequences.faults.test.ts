import * as fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { operations, type Side } from './pass-operations.ts';
import { appendOf } from './pass-samples.ts';
import { newConversation } from './samples.ts';
import { openEmbeddedStoreHarness, openRedisStoreHarness, type StoreHarness } from './store-harness.ts';

const embedded = openEmbeddedStoreHarness();
const redis = openRedisStoreHarness();
afterAll(async () => {
  await embedded.close();
  await redis.close();
});

test('the in-process Redis answers like a server under any sequence of operations on a compaction pass', {
  timeout: 600_000,
}, async () => {
  const run = fc.assert(
    fc.asyncProperty(operations, async (commands) => {
      const conversation = newConversation();
      const start = async (harness: StoreHarness): Promise<Side> => {
        await harness.store.append({ ...appendOf(conversation, 0, 12), operation: 'first' });
        await harness.rest(conversation);
        await harness.store.packLog(conversation);
        return { harness, conversation, passes: {}, proposals: [], count: 0 };
      };
      const setup = async () => ({ model: await start(embedded), real: await start(redis) });
      await fc.asyncModelRun(setup, commands);
    }),
    { numRuns: 40 },
  );
  await expect(run).resolves.toBeUndefined();
});
