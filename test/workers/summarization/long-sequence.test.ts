import { expect, test } from 'vitest';
import { completePolicy } from '../../../src/domain/policy.ts';
import { MAX_READ_MESSAGES } from '../../../src/domain/summarizer.ts';
import { findPlace } from '../../../src/workers/summarization/summary-request.ts';

type Arguments = Parameters<typeof findPlace>;

/** Finds the place of a sequence in a version whose summary stands for its first messages. */
async function findPlaceOf(messages: number): Promise<Awaited<ReturnType<typeof findPlace>>> {
  const segments = [{ kind: 'summary', from: 1, to: 100, summaryKey: 'k' }];
  const text = '<users>\n1: Send crate_88.\n</users>\nagent: Bring order_4711 to dock_9.';
  const source = { version: { number: 3, segments }, summaries: new Map([['k', { text }]]) };
  const sequence = { from: 1, to: messages, tokens: 9_000, maxTokens: 4_000, userTokens: 0 };
  const contexts = { readContext: async () => source } as unknown as Arguments[0];
  const task = { conversation: { tenant: 't', id: 'c' }, sequence } as Arguments[1];
  const state = { size: { version: 3 } } as Arguments[2]['state'];
  return await findPlace(contexts, task, { policy: completePolicy({}), state });
}

test('a sequence with more messages than code reads gets the texts of its earlier summaries, without the users’ words', async () => {
  expect(await findPlaceOf(MAX_READ_MESSAGES + 1)).toEqual({ older: 'agent: Bring order_4711 to dock_9.' });
});

test('code summarizes a shorter sequence from the log alone', async () => {
  expect(await findPlaceOf(MAX_READ_MESSAGES)).toEqual({});
});
