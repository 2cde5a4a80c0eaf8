import * as fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { isTurnfoldError } from '../../src/domain/errors.ts';
import type { Message } from '../../src/domain/message.ts';
import { WIRE_FORMATS } from '../../src/domain/raw-items.ts';
import { compactConversation } from '../../src/evaluation/compact.ts';
import type { SummarizerChain } from '../../src/evaluation/evaluated-passes.ts';
import { prepareOfflineAgent, weighConversation } from '../../src/evaluation/offline-agent.ts';
import { createSummarizers } from '../../src/host/summarizers.ts';
import { countRuns } from '../setup/count-runs.ts';
import { histories } from '../wire/histories.ts';
import { toolTurns, violationsOf } from './talks.ts';

const BUDGETS = [60, 200, 900];

let summarizers: SummarizerChain;

beforeAll(async () => {
  summarizers = await createSummarizers([], []);
});

/** Odd messages before or behind turns of a tool agent. */
const conversation = fc
  .tuple(
    fc.constantFrom(...WIRE_FORMATS).chain((format) => histories(format)),
    fc.integer({ min: 0, max: 4 }),
    fc.boolean(),
  )
  .map(([{ messages: odd }, turns, isBehind]) =>
    isBehind ? [...toolTurns(turns), ...odd] : [...odd, ...toolTurns(turns)],
  );

test('compactConversation makes any history fit the token budget or explains why it cannot, and a repetition gives the same result', async () => {
  await fc.assert(
    fc.asyncProperty(
      conversation,
      fc.constantFrom(...BUDGETS),
      fc.nat(8),
      async (given, maxTokens, retentionWindow) => {
        const prepared = await prepareOfflineAgent(
          { maxTokens, retentionWindow, maskToolResults: maxTokens < 100 },
          {},
        );
        const weighed = await weighConversation(given as Message[], prepared);
        const run = async () => {
          try {
            const { messages, report } = await compactConversation(weighed, prepared, summarizers);
            return { messages, report };
          } catch (error) {
            if (!isTurnfoldError(error, 'budget_infeasible') && !isTurnfoldError(error, 'invalid_context')) throw error;
            return error.toJSON();
          }
        };
        const compacted = await run();
        expect(await run()).toStrictEqual(compacted);
        if ('code' in compacted) {
          if (compacted.code === 'invalid_context') return;
          const { fixed, pinned, open, floor } = compacted.details as Record<string, number>;
          expect((fixed ?? 0) + (pinned ?? 0) + (open ?? 0) + (floor ?? 0)).toBeGreaterThan(maxTokens);
          return;
        }
        const { messages, report } = compacted;
        expect(report.tokensAfter).toBeLessThanOrEqual(Math.min(maxTokens, report.tokensBefore));
        expect(violationsOf(messages)).toStrictEqual([]);
      },
    ),
    { numRuns: countRuns(300) },
  );
});
