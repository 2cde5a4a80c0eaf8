import { expect, it } from 'vitest';
import { TurnfoldError } from '../../../src/domain/errors.ts';
import { nameConversation } from '../../../src/domain/ids.ts';
import type { Summarizer } from '../../../src/domain/summarizer.ts';
import { bindPort, isCrash, WorkerDeath } from '../worker-death.ts';
import { FIVE_SEQUENCES, Fixture, ref, words } from './fixture.ts';

/** A summarizer that writes summaries of this many words. */
function wordy(count: number): Summarizer {
  return { id: 'wordy', summarize: () => Promise.resolve({ status: 'written', text: words(count) }) };
}

async function runSoftPass(world: Fixture): Promise<void> {
  await world.request('token_threshold');
  await world.runPass(world.nextId());
}

it('several compaction passes of a conversation commit one context version after the other, and leave the log unchanged', async () => {
  const world = await Fixture.open();
  for (let round = 1; round <= 4; round += 1) {
    await world.append(FIVE_SEQUENCES);
    await runSoftPass(world);
    expect(await world.readVersion()).toMatchObject({ number: round, parent: round - 1 });
    expect((await world.readVersion())?.tokensAfter).toBeLessThan((await world.readVersion())?.tokensBefore ?? 0);
    expect((await world.readVersion())?.tokensAfter).toBeLessThanOrEqual(1_100);
  }
  expect((await world.db.find(ref))?.log).toHaveLength(68);
  expect([...((await world.db.find(ref))?.versions.keys() ?? [])]).toEqual([1, 2, 3, 4]);
});

it('a later compaction pass replaces a summary by a new one over the log when enough newer messages follow it', async () => {
  const world = await Fixture.open({ policy: { tokenThreshold: 300, maxTokens: 250 }, summarizers: [wordy(150)] });
  await world.append('u20 a300 a300 a10 a10');
  await runSoftPass(world);
  expect(await world.readSegments()).toEqual(['raw 1-1', 'summary 2-3', 'raw 4-5']);

  // Only 156 tokens are new. New messages are evicted if they have fewer than 256 tokens or fewer than the summary.
  await world.append('a60 a60 a10 a10');
  await runSoftPass(world);
  expect((await world.readSegments()).filter((segment) => segment.startsWith('summary'))).toEqual(['summary 2-3']);
  await world.append('a150 a150 a10 a10');
  await runSoftPass(world);
  expect((await world.readSegments()).at(-2)).toMatch(/^summary 2-\d+$/);
  const { segments = [] } = (await world.readVersion()) ?? {};
  expect(segments.filter(({ kind }) => kind === 'summary')).toMatchObject([{ depth: 1 }]);
});

it('three compaction passes that make the context hardly smaller start a backoff, which ends when the context has grown by 15 %', async () => {
  // A pass evicts at most what leaves four messages, which saves less than nine tenths of the context.
  const world = await Fixture.open({
    policy: {
      tokenThreshold: 50_000,
      maxTokens: 40_000,
      messageThreshold: 3,
      minSequenceMessages: 50,
      strategy: { retain: 4 },
      minGain: 0.9,
    },
  });
  const readBackoff = async () => (await world.store.readConversation(ref))?.backoff;
  await world.append('u600 a300 u200 a100 a100');
  for (let pass = 1; pass <= 3; pass += 1) {
    await world.request('message_threshold');
    await world.runPass(world.nextId());
    expect(world.eventsOf('pass_ended').at(-1)).toMatchObject({ outcome: 'no_gain', strategy: 'none', sequences: 0 });
    expect(await readBackoff()).toMatchObject({ gainlessPasses: pass });
    if (pass < 3) await world.append('u256 a0 a0');
  }
  expect(await world.readVersion()).toBeUndefined();
  expect(world.eventsOf('pass_ended').map(({ startsBackoff = false }) => startsBackoff)).toEqual([false, false, true]);
  const { noGainBelowTokens = 0, nothingBelowTokens = 0 } = (await readBackoff()) ?? {};
  expect(noGainBelowTokens).toBeGreaterThan(nothingBelowTokens - 256);

  await world.append('u0 a0 a0');
  await world.request('message_threshold');
  await world.runPass(world.nextId());
  expect(world.eventsOf('pass_ended').at(-1)).toMatchObject({ outcome: 'no_reason', reasons: [] });
  const size = (await world.db.find(ref))?.log.at(-1)?.total.tokens ?? 0;
  await world.append(`u${noGainBelowTokens - size}`);
  await world.request('message_threshold');
  await world.runPass(world.nextId());
  expect(world.eventsOf('pass_ended').at(-1)?.reasons).toEqual(['message_threshold']);
});

it('a soft compaction pass asks for no summary if the context would become hardly smaller', async () => {
  const summarizer = { ...wordy(60), requests: 0 };
  const counting: Summarizer = {
    id: 'counting',
    summarize: (request) => {
      summarizer.requests += 1;
      return summarizer.summarize(request);
    },
  };
  const policy = { tokenThreshold: 1_000, maxTokens: 999, retentionWindow: 3, minGain: 0.5 };
  const world = await Fixture.open({ policy, summarizers: [counting] });
  await world.append('u600 a150 a150 u200 a100 a100');
  await runSoftPass(world);
  expect(world.eventsOf('pass_ended')).toMatchObject([{ outcome: 'no_gain', sequences: 0 }]);
  expect(summarizer.requests, 'nothing is paid for').toBe(0);
  expect((await world.db.find(ref))?.backoff).toMatchObject({ gainlessPasses: 1 });

  await world.request('manual');
  await world.runPass(world.nextId());
  expect(await world.readVersion(), 'a caller who asks gets it').toMatchObject({
    reasons: ['token_threshold', 'manual'],
  });
});

it('a compaction pass that commits a new context resets the backoff', async () => {
  const world = await Fixture.open();
  await world.append(FIVE_SEQUENCES);
  await world.leaveBackoff({ nothingBelowTokens: 10, gainlessPasses: 2, noGainBelowTokens: 20 });
  await runSoftPass(world);
  expect((await world.store.readConversation(ref))?.backoff).toEqual({
    nothingBelowTokens: 0,
    gainlessPasses: 0,
    noGainBelowTokens: 0,
  });
});

it('the turn threshold of a compaction pass counts no turn from before the last pass', async () => {
  const world = await Fixture.open({ policy: { turnThreshold: 6, tokenThreshold: 50_000 } });
  await world.append(FIVE_SEQUENCES);
  await world.request('turn_threshold');
  await world.runPass();
  expect(await world.readVersion()).toMatchObject({ reasons: ['turn_threshold'] });
  await world.append('u20 a20');
  await world.request('turn_threshold');
  await world.runPass('job2');
  expect(world.eventsOf('pass_ended').at(-1)).toMatchObject({ outcome: 'no_reason' });
});

/** A world whose passes read no context, because the read throws this error. */
async function openBroken(error: Error): Promise<Fixture> {
  const fail = async (): Promise<never> => {
    throw error;
  };
  const world = await Fixture.open({
    wrap: (ports) => ({ ...ports, contexts: { ...ports.contexts, readContext: fail } }),
  });
  await world.append(FIVE_SEQUENCES);
  await world.waitForPass();
  return world;
}

it('a compaction pass whose work throws an unexpected error fails at once with internal_error', async () => {
  const world = await openBroken(new TypeError('x is not a function'));
  await expect(world.deliver('job1')).rejects.toThrow('x is not a function');
  expect(world.eventsOf('pass_ended')).toMatchObject([{ outcome: 'failed', code: 'internal_error' }]);
  expect((await world.db.find(ref))?.pass).toBeUndefined();
});

it('a compaction pass that loses Redis is given back each time, and does not fail by the number of its claims', async () => {
  const outage = new TurnfoldError('redis_unavailable', 'Redis does not answer');
  const world = await openBroken(outage);
  for (const job of ['job1', 'job2', 'job3', 'job4', 'job5']) await expect(world.deliver(job)).rejects.toBe(outage);
  expect(world.eventsOf('pass_ended')).toEqual([]);
  expect((await world.db.find(ref))?.pass).toMatchObject({ attempts: 0 });
});

it('a compaction pass whose workers die before it has a plan fails at the fourth claim, and reports only known figures', async () => {
  let death = new WorkerDeath();
  const world = await Fixture.open({
    wrap: (ports) => ({
      ...ports,
      passes: bindPort(ports.passes, () => death),
      contexts: { ...ports.contexts, readContext: async () => death.happen() },
    }),
  });
  await world.append(FIVE_SEQUENCES);
  await world.waitForPass();
  for (const job of ['job1', 'job2', 'job3']) {
    await expect(world.deliver(job)).rejects.toSatisfy(isCrash);
    death = new WorkerDeath();
    expect(await world.deliver(`${job}b`), 'its lease stands').toEqual({ status: 'done' });
    world.db.advance(8_001);
  }
  expect(world.eventsOf('pass_ended')).toEqual([]);
  const { passId } = (await world.db.find(ref))?.pass ?? {};
  expect(await world.deliver('job4')).toEqual({ status: 'done' });
  expect(world.eventsOf('pass_ended')).toEqual([
    {
      type: 'pass_ended',
      ...nameConversation(ref),
      passId,
      outcome: 'failed',
      code: 'poison',
      strategy: 'none',
      reasons: [],
      sequences: 0,
    },
  ]);
  expect((await world.db.find(ref))?.pass).toBeUndefined();
  expect(world.timers.pending).toBe(0);
});
