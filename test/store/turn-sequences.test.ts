import * as fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { newConversation, turnFor } from './samples.ts';
import { openMemoryHarness, openRedisHarness, type TurnHarness } from './turn-harness.ts';
import { operations, Side } from './turn-operations.ts';

const memory = openMemoryHarness();
const redis = openRedisHarness();
afterAll(() => redis.close());

test('any sequence of two workers keeps the invariants, and the memory store equals Redis', {
  timeout: 120_000,
}, async () => {
  const run = fc.assert(
    fc.asyncProperty(operations, async (commands) => {
      const conversation = newConversation();
      const start = async (harness: TurnHarness): Promise<Side> => {
        for (const turn of ['turn.0', 'turn.1']) await harness.store.accept(turnFor(conversation, turn));
        return new Side(harness, conversation);
      };
      const setup = async () => ({ model: await start(memory), real: await start(redis) });
      await fc.asyncModelRun(setup, commands);
    }),
    { numRuns: 100 },
  );
  await expect(run).resolves.toBeUndefined();
});
