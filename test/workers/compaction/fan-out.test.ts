import { expect, it } from 'vitest';
import { PASS_LIMITS } from '../../../src/domain/pass.ts';
import { sequenceKey } from '../../../src/workers/compaction/sequence-summaries.ts';
import { bindPort, isCrash, WorkerDeath } from '../worker-death.ts';
import { FIVE_SEQUENCES, Fixture, type FixtureOptions, ref } from './fixture.ts';
import type { Child } from './memory-queue.ts';

async function openPass(options: FixtureOptions = {}): Promise<Fixture> {
  const world = await Fixture.open(options);
  await world.append(FIVE_SEQUENCES);
  await world.request('token_threshold');
  return world;
}

const SEQUENCES = [2, 5, 8, 11, 14].map((from) => ({ from, to: from + 1, tokens: 608 }));

function withoutCaps({ from, to, tokens }: Child['sequence']) {
  return { from, to, tokens };
}

it('a compaction pass adds one summarization job per sequence of messages, under job ids that no other delivery uses', async () => {
  const world = await openPass();
  const children = await world.fanOut();
  expect(children.map(({ sequence }) => withoutCaps(sequence))).toEqual(SEQUENCES);
  const { passId } = (await world.store.readConversation(ref)) ?? {};
  expect(children).toMatchObject(SEQUENCES.map(() => ({ conversation: ref, passId })));
  for (const { sequence, hash } of children) expect(hash).toBe(sequenceKey(sequence, world.agent.policy));
  expect(new Set(children.map(({ child }) => child)).size).toBe(5);
  expect(world.eventsOf('pass_fanned_out')).toMatchObject([{ jobs: 5, sequences: 5 }]);
  expect(world.eventsOf('pass_ended')).toEqual([]);
});

it('a compaction pass records its plan before it adds summarization jobs', async () => {
  let death = new WorkerDeath();
  const world = await openPass({
    wrap: (ports) => ({
      ...ports,
      passes: bindPort(ports.passes, () => death),
      summaries: {
        ...ports.summaries,
        readSummaries: async () => {
          const { plan } = (await world.db.find(ref))?.pass ?? {};
          expect(plan).toMatchObject({ kind: 'summarize', sequences: SEQUENCES });
          return death.happen();
        },
      },
    }),
  });
  await expect(world.deliver()).rejects.toSatisfy(isCrash);
  death = new WorkerDeath();
  // The next delivery continues with the recorded plan, although a new plan would be different now.
  await world.append('u20 a20 a580 u20 a20');
  world.db.advance(PASS_LIMITS.leaseMs + 1);
  await expect(world.deliver('job2')).rejects.toSatisfy(isCrash);
  expect.assertions(4);
});

it('while a compaction pass waits for summaries, no worker has its lease, and only the parent job of its summarization jobs may claim it', async () => {
  const world = await openPass();
  await world.fanOut('job1');
  const { pass } = (await world.db.find(ref)) ?? {};
  const parkedUntil = world.db.now() + PASS_LIMITS.parkMs;
  expect(pass).toMatchObject({ owner: undefined, leaseUntil: undefined, parked: 'job1', parkedUntil });
  expect(world.db.ready.get('p|_|talk')).toBe(parkedUntil);
  expect(world.timers.pending, 'no heartbeat behind it').toBe(0);

  expect(await world.deliver('job2')).toEqual({ status: 'done' });
  expect((await world.db.find(ref))?.pass).toEqual(pass);
  expect(world.eventsOf('pass_ended')).toEqual([]);
  await world.deliver('job1', true);
  expect(world.eventsOf('pass_ended')).toHaveLength(1);
});

it('a compaction pass adds summarization jobs only for missing summaries', async () => {
  const world = await openPass();
  const lost = await world.fanOut('job1');
  await world.summarize(lost[1] as (typeof lost)[1]);
  await world.summarize(lost[3] as (typeof lost)[3]);
  world.db.advance(PASS_LIMITS.parkMs + 1);
  const children = await world.fanOut('job2');
  expect(children.map(({ sequence }) => withoutCaps(sequence))).toEqual([0, 2, 4].map((index) => SEQUENCES[index]));
  const ids = new Set(lost.map(({ child }) => child));
  expect(children.filter(({ child }) => ids.has(child))).toEqual([]);
  expect(world.eventsOf('pass_fanned_out').at(-1)).toMatchObject({ jobs: 3, sequences: 5 });
});

it('a compaction pass ends in its first delivery if an earlier pass left all the summaries that it needs', async () => {
  const world = await openPass();
  for (const child of await world.fanOut()) await world.summarize(child);
  await world.store.takeOverPass(ref, 'o', 'p2');
  world.db.advance(PASS_LIMITS.leaseMs + 1);
  expect(await world.deliver('job2')).toEqual({ status: 'done' });
  expect(await world.readVersion()).toMatchObject({ strategy: 'summarize', archived: 10 });
});

it('a compaction pass at its third attempt uses only existing summaries and adds no summarization jobs', async () => {
  const world = await openPass();
  const [first] = await world.fanOut('job1');
  if (first !== undefined) await world.summarize(first);
  world.db.advance(PASS_LIMITS.parkMs + 1);
  expect(await world.fanOut('job2')).toHaveLength(4);
  world.db.advance(PASS_LIMITS.parkMs + 1);
  expect(await world.deliver('job3')).toEqual({ status: 'done' });
  expect(await world.readSegments()).toContain('summary 2-3');
  expect((await world.db.find(ref))?.pass).toBeUndefined();
});

it('a compaction pass renews its lease while it works', async () => {
  const gate = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const world = await openPass({
    wrap: (ports) => ({
      ...ports,
      contexts: {
        ...ports.contexts,
        readContext: async (conversation, at) => {
          reached.resolve();
          await gate.promise;
          return ports.contexts.readContext(conversation, at);
        },
      },
    }),
  });
  const running = world.deliver('job1');
  await reached.promise;
  await world.timers.advance(3 * PASS_LIMITS.leaseMs);
  expect(await world.store.claimPass(ref, 'other', 'job2', 'w')).toMatchObject({ status: 'leased' });
  gate.resolve();
  expect(await running).toMatchObject({ status: 'parked' });
  expect(world.timers.pending).toBe(0);
});

it('a compaction pass that needs no summaries evicts messages in its first delivery', async () => {
  const world = await Fixture.open({ policy: { minSequenceTokens: 5_000 } });
  await world.append(FIVE_SEQUENCES);
  await world.request('token_threshold');
  expect(await world.deliver()).toEqual({ status: 'done' });
  expect(await world.readVersion()).toMatchObject({
    strategy: 'evict',
    cause: 'pass',
    parent: 0,
    reasons: ['token_threshold'],
  });
  expect((await world.readVersion())?.tokensAfter).toBeLessThanOrEqual(1_100);
  expect(world.eventsOf('pass_ended')).toMatchObject([{ outcome: 'committed', strategy: 'evict', sequences: 0 }]);
});

it('a compaction pass whose reasons no longer hold ends as no_reason, starts a backoff, and keeps the turn and message counts', async () => {
  const world = await Fixture.open();
  await world.append('u20 a300 a300 u20 a20');
  await world.request('token_threshold', 'hard_limit');
  expect(await world.deliver()).toEqual({ status: 'done' });
  const ended = world.eventsOf('pass_ended');
  expect(ended).toMatchObject([{ outcome: 'no_reason', strategy: 'none', reasons: [], sequences: 0 }]);
  const { pass, size, backoff, passed } = (await world.db.find(ref)) ?? {};
  expect({ pass, version: size?.version, passed }).toEqual({
    pass: undefined,
    version: 0,
    passed: { head: 0, turns: 0 },
  });
  // Tokens: 24 + 2 × 304 + 24 + 24 for messages, 3 for the system prompt, 3 for framing. The backoff adds one smallest
  // sequence.
  const shut = { nothingBelowTokens: 686 + 256, appendsBelowMessageTokens: 683 + 256 };
  expect(backoff).toEqual({ ...shut, gainlessPasses: 0, noGainBelowTokens: 0 });
});

it('a compaction pass that can remove no messages ends with outcome none, starts a backoff, and restarts the count of turns', async () => {
  const world = await Fixture.open({ policy: { turnThreshold: 2 } });
  await world.append('u20 a20 u20');
  await world.request('turn_threshold');
  await world.deliver();
  expect(world.eventsOf('pass_ended')).toMatchObject([{ outcome: 'none', reasons: ['turn_threshold'] }]);
  const { backoff, passed } = (await world.db.find(ref)) ?? {};
  expect(backoff).toMatchObject({ nothingBelowTokens: 3 * 24 + 6 + 256 });
  expect(passed).toEqual({ head: 3, turns: 2 });
});

it.each([
  ['is switched off', { enabled: false }],
  ['is manual', { mode: 'manual' }],
] as const)(
  'a compaction pass ends as no_reason, although the context exceeds a threshold, if compaction %s',
  async (_, policy) => {
    const world = await Fixture.open({ policy });
    await world.append(FIVE_SEQUENCES);
    await world.request('token_threshold', 'turn_end');
    expect(await world.deliver()).toEqual({ status: 'done' });
    expect(world.eventsOf('pass_ended')).toMatchObject([{ outcome: 'no_reason', reasons: [] }]);
  },
);

it('a compaction pass that a caller requested compacts the context in mode manual', async () => {
  const world = await Fixture.open({ policy: { mode: 'manual' } });
  await world.append(FIVE_SEQUENCES);
  await world.request('manual');
  await world.runPass();
  expect(await world.readVersion()).toMatchObject({ strategy: 'summarize', reasons: ['manual'] });
});

it('a compaction pass ends as infeasible if every message is protected from removal', async () => {
  const world = await Fixture.open();
  await world.append('u2000');
  await world.request('manual');
  await world.deliver();
  expect(world.eventsOf('pass_ended')).toMatchObject([{ outcome: 'infeasible' }]);
  expect((await world.db.find(ref))?.pass).toBeUndefined();
});

it('a worker does nothing at the wake of a compaction pass that has ended or whose conversation is erased', async () => {
  const world = await openPass();
  await world.store.erase(ref);
  expect(await world.deliver()).toEqual({ status: 'done' });
  const other = await Fixture.open();
  await other.append('u20');
  expect(await other.deliver()).toEqual({ status: 'done' });
  expect([...world.events, ...other.events]).toEqual([]);
});

it('a worker fails a compaction pass whose agent it does not know', async () => {
  const world = await Fixture.open();
  await world.append(FIVE_SEQUENCES, 'stranger');
  await world.request('token_threshold');
  expect(await world.deliver()).toEqual({ status: 'done' });
  expect(world.eventsOf('pass_ended')).toMatchObject([{ outcome: 'failed', code: 'unknown_agent' }]);
  expect((await world.db.find(ref))?.pass).toBeUndefined();
  expect(await world.readVersion()).toBeUndefined();
});
