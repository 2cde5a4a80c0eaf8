import { expect, it } from 'vitest';
import { buildContext } from '../../../src/compaction/context.ts';
import { PASS_LIMITS } from '../../../src/domain/pass.ts';
import type { Summarizer } from '../../../src/domain/summarizer.ts';
import { renderWidestSummary } from '../../../src/domain/summary.ts';
import { Fixture, type FixtureOptions, ref, words } from './fixture.ts';

/** A summarizer that writes a new text each time: first a long one, then short ones. */
function changeable(): Summarizer & { asked: number } {
  const summarizer = {
    id: 'changeable',
    asked: 0,
    summarize: async () => {
      summarizer.asked += 1;
      const text = `text ${summarizer.asked}${words(summarizer.asked === 1 ? 140 : 20)}`;
      return { status: 'written', text } as const;
    },
  };
  return summarizer;
}

/**
 * A restore removed the only summary from the context, and its record has expired. The next compaction pass writes
 * another text for the same range.
 */
async function openRestored(options: FixtureOptions = {}) {
  const summarizer = changeable();
  const world = await Fixture.open({
    ...options,
    policy: { maxTokens: 600, ...options.policy },
    summarizers: [summarizer],
  });
  await world.append('u20 a20 a580 u20 a20');
  await world.request('manual');
  await world.runPass();
  await world.writeVersion('raw 1-5');
  await world.timers.advance(PASS_LIMITS.summaryTtlMs + 1_000);
  return { world, summarizer };
}

async function readSummary(world: Fixture, number?: number) {
  const version = number ?? (await world.readVersion())?.number;
  const source = await world.store.readContext(ref, { version });
  const item = source && buildContext(source).items.find(({ message }) => message.role === 'summary');
  if (item === undefined) throw new Error('no summary');
  const { content } = item.message;
  const { tokens } = await world.agent.weigh({ role: 'summary', content: renderWidestSummary(content, item) });
  return { text: content.slice(0, 'text 1'.length), believed: item.tokens, really: tokens };
}

it('a new summary text for a range appears only in its own context version, while an older version still shows the older text', async () => {
  const { world, summarizer } = await openRestored();
  await world.request('manual');
  await world.runPass('job2');
  expect(summarizer.asked).toBe(2);
  const [first, second] = [await readSummary(world, 1), await readSummary(world)];
  expect(first).toMatchObject({ text: 'text 1', believed: first.really });
  expect(second).toMatchObject({ text: 'text 2', believed: second.really });
  expect(second.really).toBeLessThan(first.really);
});

it('an approval commits the proposed summary text, although the range got another summary text meanwhile', async () => {
  const { world } = await openRestored({ policy: { tokenThreshold: 500, maxTokens: 400, mode: 'review' } });
  await world.request('token_threshold');
  await world.runPass('job2');
  const waiting = await world.store.readProposal(ref);
  const [proposed] = Object.values(waiting?.proposal.summaries ?? {});
  const decision = { operation: 'op', proposal: waiting?.proposal.id ?? '', wake: 'w' };
  await world.store.decideProposal({ conversation: ref, ...decision, verdict: { kind: 'approve', edits: {} } });
  await world.deliver('w');
  expect(await world.store.readDecision(ref, 'op')).toMatchObject({ status: 'approved' });
  expect(proposed?.text).toMatch(/^text 2/);
  const stands = await readSummary(world);
  expect(stands).toMatchObject({ text: 'text 2', believed: stands.really });
});

it('two context versions share one stored text if both summarize the same range of messages with the same text', async () => {
  const world = await Fixture.open({ policy: { maxTokens: 600 } });
  await world.append('u20 a20 a580 u20 a20');
  for (let pass = 1; pass <= 2; pass += 1) {
    await world.request('manual');
    await world.runPass(`job${pass}`);
    await world.writeVersion('raw 1-5');
  }
  expect((await world.db.find(ref))?.texts.summaries.size).toBe(1);
});
