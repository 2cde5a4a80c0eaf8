import * as fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { appendOf } from './pass-samples.ts';
import { newConversation, turnFor } from './samples.ts';
import { openEmbeddedStoreHarness, openRedisStoreHarness, type StoreHarness } from './store-harness.ts';
import { operations, Side } from './turn-operations.ts';

const embedded = openEmbeddedStoreHarness();
const redis = openRedisStoreHarness();
afterAll(async () => {
  await embedded.close();
  await redis.close();
});

test('any sequence of turn operations by two workers keeps the invariants, and the in-process Redis answers like a server', {
  timeout: 600_000,
}, async () => {
  const run = fc.assert(
    fc.asyncProperty(operations, async (commands) => {
      const conversation = newConversation();
      const start = async (harness: StoreHarness): Promise<Side> => {
        await harness.store.append({ ...appendOf(conversation, 0, 12), operation: 'first' });
        await harness.rest(conversation);
        expect((await harness.store.packLog(conversation)).entries).toBe(11);
        for (const turn of ['turn.0', 'turn.1']) await harness.store.accept(turnFor(conversation, turn));
        return new Side(harness, conversation);
      };
      const setup = async () => ({ model: await start(embedded), real: await start(redis) });
      await fc.asyncModelRun(setup, commands);
    }),
    { numRuns: 50 },
  );
  await expect(run).resolves.toBeUndefined();
});
