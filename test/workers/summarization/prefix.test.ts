import { expect, it } from 'vitest';
import type { RawItems } from '../../../src/domain/raw-items.ts';
import type { Summarizer, SummaryRequest } from '../../../src/domain/summarizer.ts';
import { brief, Fixture, ref, words } from '../compaction/fixture.ts';

const scope = 'prefix' as const;

/** A policy by which one summary covers all old messages. */
async function summaryText(world: Fixture): Promise<string | undefined> {
  const source = await world.store.readContext(ref);
  return [...(source?.summaries.values() ?? [])].at(-1)?.text;
}

it('a compaction pass with `scope: prefix` writes one summary that begins with copied user messages, and later passes update this summary', async () => {
  const summarizer = brief('guide');
  const world = await Fixture.open({ policy: { scope, maxTokens: 700 }, summarizers: [summarizer] });
  await world.append('u20 a20 u30 a20 u20 a580 u20 a20');
  await world.request('manual');
  await world.runPass();
  expect(await world.readSegments()).toEqual(['summary 1-6', 'raw 7-8']);
  const text = await summaryText(world);
  expect(text).toMatch(/^<users>\n1: /);
  expect(text?.match(/^\d+: /gm)).toHaveLength(3);
  expect(text?.endsWith('</users>\nwhat happened in 1-6')).toBe(true);

  await world.append('a20 u25 a580 u20 a20');
  await world.request('manual');
  await world.runPass('job2');
  expect(await world.readSegments()).toEqual(['summary 1-11', 'raw 12-13']);
  const copied = (await summaryText(world))?.match(/^\d+: /gm) ?? [];
  expect(copied.at(0), 'the first text stays').toBe('1: ');
  expect(copied.slice(-2), 'and the newest').toEqual(['7: ', '10: ']);
  expect(summarizer.requests.map(({ range }) => range)).toEqual([
    { from: 1, to: 6 },
    { from: 1, to: 11 },
  ]);
});

const longAnswers = 'u5 a600 a600 '.repeat(5);
it.each([
  ['a small cap', `${longAnswers}u5 a20`, { tokenThreshold: 3_000, maxTokens: 2_000 }, 120],
  ['the smallest cap', `${longAnswers}u5 a20`, { tokenThreshold: 3_000, maxTokens: 2_000 }, 16],
  ['short words in a short run', `${'u5 a80 '.repeat(5)}u5 a20`, { tokenThreshold: 300, maxTokens: 250 }, 2_000],
  ['long words in a short run', 'u40 a30 '.repeat(5), { tokenThreshold: 300, maxTokens: 290 }, 2_000],
])(
  'a compaction pass with scope prefix copies the user messages into the summary with %s, although an eviction would remove them',
  async (_, script, sizes, cap) => {
    const summarizer = brief();
    const policy = { scope, ...sizes, summarizer: { models: ['brief'], maxTokens: cap } };
    const world = await Fixture.open({ policy, summarizers: [summarizer] });
    await world.append(script);
    await world.request('token_threshold');
    await world.runPass();
    expect(await summaryText(world)).toMatch(/^<users>\n1: {2}word order/);
    expect(summarizer.requests).toHaveLength(1);
    expect(summarizer.requests[0]?.maxTokens).toBeGreaterThanOrEqual(8);
    expect((await world.readSegments()).some((segment) => segment.startsWith('evicted'))).toBe(false);
    expect((await world.readVersion())?.explained).toEqual([]);
  },
);

it('a compaction pass with `scope: prefix` copies some user messages and writes a summary even for a very small range', async () => {
  const summarizer = brief();
  const policy = { scope, tokenThreshold: 130, maxTokens: 125, minSequenceTokens: 16 };
  const world = await Fixture.open({ policy, summarizers: [summarizer] });
  await world.append('u60 a30 u10 a20');
  await world.request('token_threshold');
  await world.runPass();
  expect(world.eventsOf('summary_ended')).toMatchObject([{ outcome: 'written' }]);
  expect(summarizer.requests[0]?.maxTokens).toBeGreaterThanOrEqual(8);
  expect(world.eventsOf('pass_ended'), 'what was paid for is used').toMatchObject([{ outcome: 'committed' }]);
});

it('a compaction pass with `scope: prefix` evicts a range whose token limit is too small to keep any user message', async () => {
  const summarizer = brief();
  const policy = { scope, tokenThreshold: 80, maxTokens: 75, minSequenceTokens: 16 };
  const world = await Fixture.open({ policy, summarizers: [summarizer] });
  await world.append('u10 a30 u10 a20');
  await world.request('token_threshold');
  await world.runPass();
  expect(await summaryText(world)).toBeUndefined();
  expect(summarizer.requests, 'nothing is paid for').toEqual([]);
  expect(world.eventsOf('summary_ended')).toMatchObject([
    {
      outcome: 'refused',
      why: 'the sequence has 48 tokens, too few for a smaller summary that keeps a user message',
    },
  ]);
  expect(await world.readSegments()).toEqual(['raw 1-1', 'evicted 2-2', 'raw 3-4']);
  expect((await world.readVersion())?.explained).toEqual(['summaries_missing']);
  expect(await world.store.readLog(ref, [{ from: 1, to: 4 }])).toHaveLength(4);
});

it('a compaction pass with `scope: prefix` sends the model the earlier summary without its copied user messages, and code copies them again', async () => {
  const summarizer = brief('guide');
  const policy = { scope, maxTokens: 500, summarizer: { models: ['guide'] } };
  const world = await Fixture.open({ policy, summarizers: [summarizer] });
  for (const job of ['job1', 'job2']) {
    await world.append('u20 a20 u30 a580 u20 a20');
    await world.request('manual');
    await world.runPass(job);
  }
  expect(summarizer.requests[1]?.earlier?.map(({ text }) => text)).toEqual(['what happened in 1-4']);
});

it('a summary that opens the context names its version to the summarizer, unless other messages precede the summary', async () => {
  const first = brief();
  const opening = await Fixture.open({ policy: { scope, maxTokens: 600, summarizer: 'native' }, summarizers: [first] });
  await opening.append('u20 a20 a580 u20 a20');
  await opening.request('manual');
  await opening.runPass();
  expect(first.requests[0]).toMatchObject({ opensVersion: 0 });

  const behind = brief();
  const world = await Fixture.open({ policy: { scope, maxTokens: 600, summarizer: 'native' }, summarizers: [behind] });
  await world.append('s20 u20 a20 a580 u20 a20');
  await world.request('manual');
  await world.runPass();
  expect(behind.requests[0]).not.toHaveProperty('opensVersion');
});

const raw: RawItems = { format: 'anthropic', model: 'm', items: [{ type: 'compaction', content: 'All of it.' }] };

function compacting(tokens: number) {
  const requests: SummaryRequest[] = [];
  const summarizer: Summarizer = {
    id: 'native m',
    summarize: async (request) => {
      requests.push(request);
      return { status: 'written', text: 'All of it.', isUpdate: request.earlier !== undefined, own: { raw, tokens } };
    },
  };
  return { requests, summarizer };
}

async function openCompacted(tokens: number) {
  const { summarizer, requests } = compacting(tokens);
  const policy = { scope, maxTokens: 600, summarizer: 'native' } as const;
  const world = await Fixture.open({ policy, summarizers: [summarizer] });
  await world.append('u20 a20 u20 a580 u20 a20');
  await world.request('manual');
  await world.runPass();
  return { world, requests };
}

it('a provider’s own compaction items are stored beside the summary text and sent again with the context', async () => {
  const { world } = await openCompacted(150);
  const source = await world.store.readContext(ref);
  expect([...(source?.summaries.values() ?? [])][0]).toMatchObject({ raw, model: 'native m' });
});

it('the size of a provider’s own compaction is the larger of the size of its items and the size of its text', async () => {
  const { world } = await openCompacted(250);
  const [segment] = (await world.readVersion())?.segments ?? [];
  expect(segment?.weight.tokens).toBe(250);
});

it('a provider’s own compaction is refused if it is not smaller than the messages that it replaces', async () => {
  const { world } = await openCompacted(5_000);
  expect((await world.readSegments()).some((segment) => segment.startsWith('summary'))).toBe(false);
});

it('a provider’s own compaction can be compacted again with newer messages any number of times', async () => {
  const { world, requests } = await openCompacted(100);
  for (const job of ['job2', 'job3', 'job4']) {
    await world.append('u20 a20 u20 a580 u20 a20');
    await world.request('manual');
    await world.runPass(job);
  }
  expect(requests.map(({ earlier }) => earlier?.map((summary) => summary.raw))).toEqual([
    undefined,
    [raw],
    [raw],
    [raw],
  ]);
  expect((await world.readVersion())?.number).toBe(4);
  const log = await world.store.readLog(ref, [{ from: 1, to: 1 }]);
  expect(log[0]?.message.content).toBe(words(20));
});
