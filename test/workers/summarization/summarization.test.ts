import { expect, it } from 'vitest';
import { NO_BACKOFF } from '../../../src/domain/conversation.ts';
import { ModelError } from '../../../src/domain/model.ts';
import { PASS_LIMITS } from '../../../src/domain/pass.ts';
import type { PolicyInput } from '../../../src/domain/policy.ts';
import type { Summarizer, SummaryAnswer } from '../../../src/domain/summarizer.ts';
import { renderWidestSummary } from '../../../src/domain/summary.ts';
import { brief, FIVE_SEQUENCES, Fixture, type FixtureOptions, ref, words } from '../compaction/fixture.ts';
import type { Child } from '../compaction/memory-queue.ts';
import { settleTasks } from '../turn/manual-timers.ts';

interface World {
  readonly world: Fixture;
  /** Child job for the first sequence: seqs 2…3, 608 tokens. */
  readonly child: Child;
}

/** A budget that one sequence of 608 tokens exceeds. */
const ONE_SUMMARY = { maxTokens: 600 };

async function openChild(options: FixtureOptions = {}, log = FIVE_SEQUENCES): Promise<World> {
  const world = await Fixture.open(options);
  await world.append(log);
  await world.request('manual');
  const [child] = await world.fanOut();
  if (child === undefined) throw new Error('no child');
  return { world, child };
}

/** A summarizer that reports when it is called, and answers when the test releases it. */
function gated(answer: SummaryAnswer = { status: 'written', text: 'late' }) {
  const gate = Promise.withResolvers<SummaryAnswer>();
  const asked = Promise.withResolvers<void>();
  const summarizer: Summarizer = {
    id: 'gated',
    summarize: () => {
      asked.resolve();
      return gate.promise;
    },
  };
  return { summarizer, asked: asked.promise, release: () => gate.resolve(answer), fail: gate.reject };
}

function writing(text: string, id = 'writing'): Summarizer {
  return { id, summarize: () => Promise.resolve({ status: 'written', text }) };
}

function throwing(id = 'throwing'): Summarizer {
  return { id, summarize: () => Promise.reject(new Error('overloaded')) };
}

const refusing: Summarizer = { id: 'no', summarize: () => Promise.resolve({ status: 'refused', why: 'will not' }) };

async function readRecord({ world, child }: World) {
  const [record] = await world.store.readSummaries(ref, [child.hash]);
  return record;
}

it('a summarization job summarizes its sequence from the log, with the user message before it', async () => {
  const summarizer = brief();
  const opened = await openChild({ summarizers: [summarizer] }, 'u7 a20 a580 u20 a20 a580 u20 a20');
  const { world, child } = opened;
  expect(await world.summarize(child)).toMatchObject({ status: 'ended', outcome: 'written' });
  expect(summarizer.requests).toHaveLength(1);
  const [request] = summarizer.requests;
  expect(request).toMatchObject({ range: { from: 2, to: 3 }, userRequest: words(7), userTexts: '' });
  expect(request?.messages.map(({ content }) => content)).toEqual([words(20), words(580)]);
  expect(
    request?.later?.map(({ content }) => content),
    'the messages behind the sequence',
  ).toEqual([20, 20, 580, 20, 20].map(words));

  const text = 'what happened in 2-3';
  const content = renderWidestSummary(text, { from: 2, to: 3 });
  const { tokens, bytes } = await world.agent.weigh({ role: 'summary', content });
  expect(await readRecord(opened)).toEqual({
    status: 'accepted',
    summary: { text, covers: { from: 2, to: 3 }, sources: [], depth: 1, model: 'brief' },
    weight: { tokens, bytes },
  });
  expect(world.eventsOf('summary_ended')).toMatchObject([{ outcome: 'written', sourceTokens: 608, tokens }]);
});

it('a summarization job sends no user message to the model if the log begins with the sequence', async () => {
  const summarizer = brief();
  const { world, child } = await openChild({ summarizers: [summarizer], policy: ONE_SUMMARY }, 'a20 a580 u20 a20');
  await world.summarize(child);
  expect(summarizer.requests[0]).not.toHaveProperty('userRequest');
});

it('a summarization job is delivered again later if another job summarizes the same messages', async () => {
  const { summarizer, asked, release } = gated();
  const { world, child } = await openChild({ summarizers: [summarizer] });
  const first = world.summarize(child);
  await asked;
  expect(await world.summarize(child)).toEqual({ status: 'in_flight' });
  expect(world.events.filter(({ type }) => type === 'summary_ended')).toEqual([]);
  release();
  expect(await first).toMatchObject({ outcome: 'written' });
  expect(await world.summarize(child)).toEqual({ status: 'ended', outcome: 'known' });
  expect(world.timers.pending).toBe(0);
});

it('a summarization job renews its claim on the sequence while it works', async () => {
  const { summarizer, asked, release } = gated();
  const { world, child } = await openChild({ summarizers: [summarizer] });
  const first = world.summarize(child);
  await asked;
  await world.timers.advance(5 * PASS_LIMITS.summaryClaimMs);
  expect(await world.summarize(child)).toEqual({ status: 'in_flight' });
  release();
  await first;
});

it('a summarization job that lost its claim on the sequence does not replace an accepted summary', async () => {
  const late = gated();
  const opened = await openChild({ summarizers: [late.summarizer] });
  const { world, child } = opened;
  const first = world.summarize(child);
  await late.asked;
  world.db.advance(PASS_LIMITS.summaryClaimMs + 1);
  world.summarizers = [writing('in time')];
  expect(await world.summarize(child)).toMatchObject({ outcome: 'written' });
  late.release();
  await first;
  expect(await readRecord(opened)).toMatchObject({ status: 'accepted', summary: { text: 'in time' } });
});

it('a summarization job does nothing if its compaction pass ended or was taken over, or if the conversation was erased', async () => {
  const summarizer = brief();
  const { world, child } = await openChild({ summarizers: [summarizer] });
  await world.store.takeOverPass(ref, 'o', 'p2');
  expect(await world.summarize(child)).toEqual({ status: 'ended', outcome: 'superseded' });
  const end = { outcome: { kind: 'none' }, backoff: NO_BACKOFF, wakeTurn: 'w' } as const;
  expect(await world.store.endPass({ conversation: ref, passId: 'p2', owner: 'o' }, end)).toEqual({ status: 'ended' });
  expect(await world.summarize(child)).toEqual({ status: 'ended', outcome: 'superseded' });
  await world.store.erase(ref);
  expect(await world.summarize(child)).toEqual({ status: 'ended', outcome: 'superseded' });
  expect(summarizer.requests).toEqual([]);
});

it('a summarization job writes nothing into a conversation that was erased meanwhile', async () => {
  const { summarizer, asked, release } = gated();
  const { world, child } = await openChild({ summarizers: [summarizer] });
  const running = world.summarize(child);
  await asked;
  await world.store.erase(ref);
  release();
  expect(await running).toEqual({ status: 'ended', outcome: 'superseded' });
  expect(await world.db.find(ref)).toBeUndefined();
});

it('a summarization job writes nothing into a conversation that was erased and created again meanwhile', async () => {
  const { asked, release, summarizer } = gated({ status: 'written', text: 'the secret of the erased' });
  const withPart: Summarizer = {
    id: 'parted',
    summarize: async (request) => {
      const answer = await summarizer.summarize(request);
      await request.parts?.write('k', 'a part of the secret');
      return answer;
    },
  };
  const { world, child } = await openChild({ summarizers: [withPart] });
  const running = world.summarize(child);
  await asked;
  await world.store.erase(ref);
  await world.append(FIVE_SEQUENCES);
  release();
  expect(await running).toEqual({ status: 'ended', outcome: 'superseded' });
  expect((await world.db.find(ref))?.summaryRecords).toEqual(new Map());
});

it('a summarization job that lost its claim still records its paid summary while its compaction pass is in progress', async () => {
  const late = gated();
  const opened = await openChild({ summarizers: [late.summarizer] });
  const { world, child } = opened;
  const running = world.summarize(child);
  await late.asked;
  world.db.advance(PASS_LIMITS.summaryClaimMs + 1);
  late.release();
  expect(await running).toMatchObject({ outcome: 'written' });
  expect(await readRecord(opened)).toMatchObject({ status: 'accepted', summary: { text: 'late' } });
});

it('a summarization job returns a failure for an agent that this worker does not know, and releases its claim', async () => {
  const wrap: FixtureOptions['wrap'] = (ports) => ({ ...ports, agents: { find: () => undefined } });
  const knowing = await openChild();
  const world = await Fixture.open({ wrap });
  await world.append(FIVE_SEQUENCES);
  await world.request('manual');
  const child = { ...knowing.child, passId: (await world.db.find(ref))?.pass?.passId ?? '' };
  expect(await world.summarize(child)).toEqual({ status: 'ended', outcome: 'failed' });
  expect((await world.db.find(ref))?.summaryRecords).toEqual(new Map());
});

it('a summarization job whose summarizer throws fails and releases its claim, so that the next attempt asks the summarizer again', async () => {
  const opened = await openChild({ summarizers: [throwing(), brief()] });
  const { world, child } = opened;
  await expect(world.summarize(child)).rejects.toThrow('overloaded');
  expect((await world.db.find(ref))?.summaryRecords).toEqual(new Map());
  expect(world.eventsOf('summary_ended')).toEqual([]);
  expect(world.timers.pending).toBe(0);
});

it('on the last attempt of a summarization job, the next summarizer of the chain replaces a summarizer that throws', async () => {
  const opened = await openChild({ summarizers: [throwing(), brief('second')] });
  const { world, child } = opened;
  expect(await world.summarize(child, true)).toMatchObject({ outcome: 'written' });
  expect(await readRecord(opened)).toMatchObject({ summary: { model: 'second' } });
  expect(world.eventsOf('worker_failed')).toMatchObject([{ where: 'summarizer throwing' }]);
});

it('a summarization job whose only summarizer throws on the last attempt ends as failed, so that the next compaction pass may try again', async () => {
  const opened = await openChild({ summarizers: [throwing(), refusing] });
  const { world, child } = opened;
  expect(await world.summarize(child, true)).toEqual({ status: 'ended', outcome: 'failed' });
  expect(await readRecord(opened), 'a failure is no refusal').toBeUndefined();
  expect((await world.db.find(ref))?.summaryRecords).toEqual(new Map());
  world.summarizers = [brief()];
  expect(await world.summarize(child)).toMatchObject({ outcome: 'written' });
});

it('the last attempt of a summarization job ends as failed, even if the store failed', async () => {
  let isAway = false;
  const { world, child } = await openChild({
    wrap: (ports) => ({
      ...ports,
      contexts: {
        ...ports.contexts,
        readLog: (...read) => (isAway ? Promise.reject(new Error('away')) : ports.contexts.readLog(...read)),
      },
    }),
  });
  isAway = true;
  await expect(world.summarize(child)).rejects.toThrow('away');
  expect(await world.summarize(child, true)).toEqual({ status: 'ended', outcome: 'failed' });
});

function limited(retryAt: number, id = 'limited'): Summarizer {
  return { id, summarize: () => Promise.reject(new ModelError('retry', 'a rate limit', { retryAt })) };
}

it('a provider’s rate limit delays a summarization job until the limit ends, and the job holds no claim meanwhile', async () => {
  const opened = await openChild();
  const { world, child } = opened;
  const retryAt = world.timers.now() + PASS_LIMITS.parkMs / 2;
  world.summarizers = [limited(retryAt), brief()];
  expect(await world.summarize(child)).toEqual({ status: 'limited', retryAt });
  expect((await world.db.find(ref))?.summaryRecords).toEqual(new Map());
  expect(world.eventsOf('summary_ended')).toEqual([]);
  expect(world.eventsOf('worker_failed')).toEqual([]);
  expect(world.timers.pending).toBe(0);

  world.summarizers = [brief('first')];
  expect(await world.summarize(child)).toMatchObject({ outcome: 'written' });
  expect(await readRecord(opened)).toMatchObject({ summary: { model: 'first' } });
});

it.each([
  ['ends too late for its pass', 1, false],
  ['ends soon, but on the last attempt', 0, true],
])(
  'a summarization job asks the next summarizer at once if a provider’s rate limit %s',
  async (_, lateMs, isLastAttempt) => {
    const opened = await openChild();
    const { world, child } = opened;
    world.summarizers = [limited(world.timers.now() + PASS_LIMITS.parkMs / 2 + lateMs), brief('second')];
    expect(await world.summarize(child, isLastAttempt)).toMatchObject({ outcome: 'written' });
    expect(await readRecord(opened)).toMatchObject({ summary: { model: 'second' } });
    expect(world.eventsOf('worker_failed')).toMatchObject([{ where: 'summarizer limited' }]);
  },
);

it('a summarization job waits longer for a rate limit if its pass waits for the longest call of a model', async () => {
  const { world, child } = await openChild({ policy: { summarizer: { models: ['small'] } } });
  const retryAt = world.timers.now() + PASS_LIMITS.parkMs;
  world.summarizers = [limited(retryAt), brief()];
  expect(await world.summarize(child)).toEqual({ status: 'limited', retryAt });
  world.summarizers = [limited(world.timers.now() + 600_000), brief()];
  expect(await world.summarize(child)).toMatchObject({ outcome: 'written' });
});

it('a provider’s rate limit that ends too late does not count as a refusal, so that the next compaction pass may ask the provider again', async () => {
  const opened = await openChild();
  const { world, child } = opened;
  world.summarizers = [limited(world.timers.now() + PASS_LIMITS.parkMs), refusing];
  expect(await world.summarize(child)).toEqual({ status: 'ended', outcome: 'failed' });
  expect(await readRecord(opened)).toBeUndefined();
});

it('a summarization job stores the paid parts of a summary for its next attempt', async () => {
  const read: (string | undefined)[] = [];
  const { world, child } = await openChild({
    summarizers: [
      {
        id: 'parted',
        summarize: async ({ parts }) => {
          read.push(await parts?.read('k'));
          await parts?.write('k', 'paid for');
          if (read.length === 1) throw new Error('overloaded');
          return { status: 'written', text: 'done' };
        },
      },
    ],
  });
  await expect(world.summarize(child)).rejects.toThrow('overloaded');
  expect(await world.summarize(child)).toMatchObject({ outcome: 'written' });
  expect(read).toEqual([undefined, 'paid for']);
});

it('the usage of a stored part counts even if its attempt fails, and counts once', async () => {
  const call = { model: 'parted', outcome: 'answered', durationMs: 1, tokens: 700, isOverLimit: false } as const;
  let attempts = 0;
  const parted: Summarizer = {
    id: 'parted',
    summarize: async ({ parts, onCall }) => {
      attempts += 1;
      if (attempts === 1) {
        onCall?.({ ...call, inputTokens: 700, outputTokens: 30 });
        await parts?.write('k', 'paid for');
        throw new Error('overloaded');
      }
      onCall?.({ ...call, inputTokens: 100, outputTokens: 10 });
      await parts?.write('l', 'paid for, too');
      onCall?.({ ...call, inputTokens: 10, outputTokens: 1 });
      return { status: 'written', text: 'done' };
    },
  };
  const opened = await openChild({ summarizers: [parted] });
  const { world, child } = opened;
  await expect(world.summarize(child)).rejects.toThrow('overloaded');
  expect(await world.summarize(child)).toMatchObject({ outcome: 'written' });
  const { spent } = (await world.store.readConversation(ref)) ?? {};
  expect(spent).toMatchObject({ inputTokens: 810, outputTokens: 41 });
  expect(await readRecord(opened), 'the last attempt').toMatchObject({
    summary: { usage: { inputTokens: 110, outputTokens: 11 } },
  });
});

it('the usage of a part counts, although another job recorded the part first', async () => {
  const call = { model: 'parted', outcome: 'answered', durationMs: 1, tokens: 700, isOverLimit: false } as const;
  const parted: Summarizer = {
    id: 'parted',
    summarize: async ({ parts, onCall }) => {
      onCall?.({ ...call, inputTokens: 700, outputTokens: 30 });
      await world.store.recordPart({ ...child, conversation: ref, owner: 'another' }, 'k', 'written first');
      await parts?.write('k', 'written second');
      return { status: 'written', text: 'done' };
    },
  };
  const { world, child } = await openChild({ summarizers: [parted] });
  expect(await world.summarize(child)).toMatchObject({ outcome: 'written' });
  expect(await world.store.readPart(ref, 'k')).toBe('written first');
  expect((await world.store.readConversation(ref))?.spent).toMatchObject({ inputTokens: 700, outputTokens: 30 });
});

it.each([
  ['refused', refusing, /no: will not/],
  ['empty', writing(' \n\t '), /writing: the summary is empty/],
])('a summary is refused if it is %s, and the refusal is recorded', async (_, summarizer, why) => {
  const opened = await openChild({ summarizers: [summarizer] });
  const { world, child } = opened;
  expect(await world.summarize(child)).toEqual({ status: 'ended', outcome: 'refused' });
  expect(await readRecord(opened)).toEqual({ status: 'refused', why: expect.stringMatching(why) });
  expect(world.eventsOf('summary_ended')[0]).not.toHaveProperty('tokens');
  expect(await world.summarize(child)).toEqual({ status: 'ended', outcome: 'refused' });
});

it('a summarization job accepts the summary of the first summarizer in the chain that writes a valid text', async () => {
  const opened = await openChild({ summarizers: [refusing, writing(''), writing('good', 'third')] });
  await opened.world.summarize(opened.child);
  expect(await readRecord(opened)).toMatchObject({ status: 'accepted', summary: { model: 'third' } });
});

it('a summary is clipped to its token limit if the summarizer wrote too much', async () => {
  const opened = await openChild({ summarizers: [writing(words(400))] });
  await opened.world.summarize(opened.child);
  const { maxTokens } = opened.child.sequence;
  const record = await readRecord(opened);
  if (record?.status !== 'accepted') throw new Error('not accepted');
  expect(record.summary.text).toMatch(/^ word order/);
  expect(record.weight.tokens).toBeLessThanOrEqual(maxTokens);
  expect(record.weight.tokens).toBeGreaterThan(0.9 * maxTokens);
});

it('a summary is accepted only if its rendered text has fewer tokens than the messages that it replaces', async () => {
  // Rendering escapes each tag, so a text within its token limit becomes larger in the context.
  const policy = { minSequenceTokens: 100, maxTokens: 600 };
  const tags = '<summary>'.repeat(30);
  const opened = await openChild({ summarizers: [writing(tags)], policy }, 'u20 a20 a580 u20 a20');
  const { world, child } = opened;
  const sequence = { ...child.sequence, tokens: 90 };
  expect(await world.summarize({ ...child, sequence })).toMatchObject({ outcome: 'refused' });
  expect(await readRecord(opened)).toMatchObject({
    why: expect.stringMatching(/\d+ tokens, but must have fewer than the 90 of the messages that it replaces/),
  });
});

it('the token limit of a summary is that of the plan, without the tags around the summary', async () => {
  const summarizer = brief();
  const { world, child } = await openChild({ summarizers: [summarizer] });
  await world.summarize(child);
  const [{ maxTokens } = { maxTokens: 0 }] = summarizer.requests;
  expect(maxTokens).toBeGreaterThan(100);
  const content = renderWidestSummary(words(maxTokens), child.sequence);
  const { tokens } = await world.agent.weigh({ role: 'summary', content });
  expect(tokens).toBeLessThanOrEqual(child.sequence.maxTokens);
  expect(tokens, 'no token is left unused but for rounding').toBeGreaterThan(child.sequence.maxTokens - 3);
});

it.each<{ who: string; log: string; summarizer: PolicyInput['summarizer']; maxTokens: number; most: number }>([
  { who: 'without a model', log: 'u20 a20 a580 u20 a20', summarizer: 'structural', maxTokens: 600, most: 456 },
  { who: 'by a model', log: 'u20 a20 a9000 u20 a20', summarizer: { models: ['small'] }, maxTokens: 8_000, most: 2_040 },
  {
    who: 'by a model with a limit',
    log: 'u20 a20 a580 u20 a20',
    summarizer: { models: ['small'], maxTokens: 90 },
    maxTokens: 600,
    most: 130,
  },
])(
  'the plan limits a summary $who to the token limit of the policy, tags included',
  async ({ log, summarizer, maxTokens, most }) => {
    const policy: PolicyInput = { maxTokens, tokenThreshold: maxTokens, minGain: 0, ...(summarizer && { summarizer }) };
    const { world, child } = await openChild({ summarizers: [brief()], policy }, log);
    expect(child.sequence.maxTokens).toBeLessThanOrEqual(most);
    expect(await world.summarize(child)).toMatchObject({ outcome: 'written' });
  },
);

it('the token limit of a summary keeps its rendered text smaller than a small merged sequence', async () => {
  const summarizer = brief();
  const { world, child } = await openChild({ summarizers: [summarizer] });
  const sequence = { ...child.sequence, tokens: 100 };
  await world.summarize({ ...child, sequence });
  const cap = summarizer.requests[0]?.maxTokens ?? 0;
  expect(cap).toBeGreaterThan(0);
  const content = renderWidestSummary(words(cap), sequence);
  expect((await world.agent.weigh({ role: 'summary', content })).tokens).toBeLessThan(100);
});

it('a summarization job refuses a sequence that is too small for any summary, and asks no summarizer', async () => {
  const summarizer = brief();
  const opened = await openChild({ summarizers: [summarizer] });
  const { world, child } = opened;
  expect(await world.summarize({ ...child, sequence: { ...child.sequence, tokens: 30 } })).toMatchObject({
    outcome: 'refused',
  });
  expect(summarizer.requests).toEqual([]);
  expect(await readRecord(opened)).toMatchObject({ status: 'refused', why: expect.stringMatching(/too few/) });
});

it('a summarization job continues to renew its claim after the store failed to answer once', async () => {
  let heartbeats = 0;
  const { summarizer, asked, release } = gated();
  const { world, child } = await openChild({
    summarizers: [summarizer],
    wrap: (ports) => ({
      ...ports,
      summaries: {
        ...ports.summaries,
        heartbeatSummary: () => {
          heartbeats += 1;
          return Promise.reject(new Error('away'));
        },
      },
    }),
  });
  const running = world.summarize(child);
  await asked;
  await world.timers.advance(3 * PASS_LIMITS.heartbeatMs);
  expect(heartbeats).toBe(3);
  release();
  expect(await running).toMatchObject({ outcome: 'written' });
  await settleTasks();
  expect(world.timers.pending).toBe(0);
});

it('a small summary by code copies only the first user text, so that other user texts compete with all other lines', async () => {
  const summarizer = brief();
  const policy = { maxTokens: 500, summarizer: 'structural' } as const;
  const { world, child } = await openChild({ summarizers: [summarizer], policy }, 'u7 a300 u20 a300 u20 a300 u9');
  await world.summarize(child);
  expect(summarizer.requests[0]?.userTexts).toBe(`<users>\n1: ${words(7)}\n</users>\n`);
});
