import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SummaryRecord, SummaryStore } from '../../../src/store/summaries.ts';
import { findRecords, sequenceKey } from '../../../src/workers/compaction/sequence-summaries.ts';
import { brief, FIVE_SEQUENCES, Fixture, ref } from './fixture.ts';

const policy = { summarizer: 'structural' } as const;
const sequence = { from: 3, to: 9, tokens: 5_000, maxTokens: 1_024, userTokens: 128 };
const keyWith = (changes: Partial<typeof sequence>): string => sequenceKey({ ...sequence, ...changes }, policy);

test('two compaction plans with nearly the same token caps share the key of a summary', () => {
  expect(keyWith({ maxTokens: 1_100, userTokens: 90 })).toBe(keyWith({}));
});

test.each([
  ['range', { to: 10 }],
  ['source tokens', { tokens: 5_001 }],
  ['cap by a tenth', { maxTokens: 1_127 }],
  ['cap below its step', { maxTokens: 1_023 }],
] as const)('a compaction plan with another %s has another key for its summary', (_, changes) => {
  expect(keyWith(changes)).not.toBe(keyWith({}));
});

test('caps of a summary with the same key differ by less than a tenth', () => {
  const caps = fc.integer({ min: 1, max: 200_000 });
  fc.assert(
    fc.property(caps, caps, (one, other) => {
      if (keyWith({ maxTokens: one }) !== keyWith({ maxTokens: other })) return;
      expect(Math.max(one, other) / Math.min(one, other)).toBeLessThan(1.1);
    }),
  );
});

/** A store that has one summary of `tokens`, written under a cap of `maxTokens`. */
function storeWith(tokens: number, maxTokens: number): Pick<SummaryStore, 'readSummaries'> {
  const text = { text: 'x', covers: sequence, sources: [], depth: 1, model: 'm' };
  const record: SummaryRecord = { status: 'accepted', summary: text, weight: { tokens, bytes: tokens } };
  const hash = keyWith({ maxTokens });
  return { readSummaries: async (_, keys) => keys.map((key) => (key === hash ? record : undefined)) };
}

test.each([
  ['is used again under a larger cap', 500, 600, true],
  ['is used again under a smaller cap that it fits', 900, 1_500, true],
  ['is not used under a smaller cap that it exceeds', 1_200, 1_500, false],
  ['is not used under a cap of more than twice its own', 400, 450, false],
])('a stored summary of a sequence %s', async (_, tokens, writtenUnder, isFound) => {
  const records = await findRecords(storeWith(tokens, writtenUnder), ref, [sequence], policy);
  expect(records.map((record) => record !== undefined)).toEqual([isFound]);
});

test('a compaction pass that plans again with nearly the same caps pays for no summary twice', async () => {
  const summarizer = brief();
  const world = await Fixture.open({ summarizers: [summarizer], policy: { tokenThreshold: 2_000, maxTokens: 1_600 } });
  await world.append(FIVE_SEQUENCES);
  await world.request('token_threshold');
  const children = await world.fanOut();
  for (const child of children) await world.summarize(child);
  // The added reason makes the pass plan again. The message leaves a little less for the summaries.
  await world.append('u20');
  await world.request('turn_threshold', 'manual');
  await world.deliver('job1', true);
  expect(children.length).toBeGreaterThan(1);
  expect(summarizer.requests).toHaveLength(children.length);
  expect(await world.readVersion()).toMatchObject({ strategy: 'summarize', base: 18 });
});
