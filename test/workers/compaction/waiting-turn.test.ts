import { expect, it } from 'vitest';
import { TurnfoldError } from '../../../src/domain/errors.ts';
import type { ModelRequest } from '../../../src/domain/model.ts';
import { PASS_LIMITS, type Reason } from '../../../src/domain/pass.ts';
import { TURN_LIMITS } from '../../../src/domain/turn.ts';
import { type ScriptedOutcome, scriptedModel } from '../../../src/providers/scripted.ts';
import { takeOverPass } from '../../../src/workers/compaction/pass-delivery.ts';
import { createTurnHandler } from '../../../src/workers/turn/turn-delivery.ts';
import { brief, FIVE_SEQUENCES, Fixture, type FixtureOptions, ref, words } from './fixture.ts';

const profile = { windowTokens: 2_500, outputCapTokens: 500 };
/** The usable window is 2,000 tokens: a soft pass is due from 1,700, a hard one from 1,840. Both compact to 1,000. */
const small = { tokenThreshold: undefined, maxTokens: undefined } as unknown as NonNullable<FixtureOptions['policy']>;

function deciding(decide: (request: ModelRequest) => ScriptedOutcome = () => ({ content: 'ok' })) {
  return scriptedModel({ profile, decide });
}

/** Takes jobs, including child jobs, until the queue is empty. */
async function drain(world: Fixture): Promise<void> {
  for (let job = world.queue.take(); job !== undefined; job = world.queue.take()) {
    if (job.kind === 'turn') await world.turn(job.conversation);
    if (job.kind === 'pass') {
      const result = await world.deliver(job.id, job.haveChildrenEnded);
      if (result.status === 'parked') world.queue.park(job, result.children);
    }
    if (job.kind === 'summary') {
      await world.summarize(job.child);
      world.queue.endChild(job);
    }
  }
}

interface Ending {
  readonly outcome: string;
  readonly how: string;
  readonly options?: FixtureOptions;
  readonly reason?: Reason;
  /** Number of words in the turn's message. */
  readonly tokens?: number;
  readonly end: (world: Fixture) => Promise<unknown>;
}

const ENDINGS: readonly Ending[] = [
  { outcome: 'committed', how: 'with summaries', end: (world) => world.runPass() },
  { outcome: 'committed', how: 'taken over', end: (world) => takeOverPass(world.ports, ref) },
  {
    outcome: 'no_reason',
    how: 'switched off',
    options: { policy: { enabled: false } },
    end: (world) => world.deliver(),
  },
  {
    outcome: 'none',
    how: 'with nothing to remove',
    reason: 'turn_threshold',
    options: { policy: { turnThreshold: 1, tokenThreshold: 9_000, retentionWindow: 50 } },
    end: (world) => world.deliver(),
  },
  { outcome: 'infeasible', how: 'with one large message', tokens: 2_000, end: (world) => world.deliver() },
  {
    outcome: 'no_gain',
    how: 'with a gain of less than it takes',
    reason: 'token_threshold',
    options: { policy: { minGain: 0.9, maxTokens: 3_000, tokenThreshold: 3_200 } },
    end: (world) => world.runPass(),
  },
  {
    outcome: 'failed',
    how: 'by a claim too many',
    end: async (world) => {
      for (let claim = 0; claim < PASS_LIMITS.maxAttempts; claim += 1) {
        await world.store.claimPass(ref, `o${claim}`, 'job', `w${claim}`);
        world.db.advance(PASS_LIMITS.leaseMs + 1);
      }
      await world.deliver();
    },
  },
  {
    outcome: 'failed',
    how: 'for an agent that the compaction worker does not know',
    options: { wrap: (ports) => ({ ...ports, agents: { find: () => undefined } }) },
    end: (world) => world.deliver(),
  },
];

it.each(ENDINGS)(
  'a compaction pass that ends as $outcome, $how, wakes the waiting turn, and uses up its wait only if the pass decided on the size',
  async ({ outcome, options, reason, tokens, end }) => {
    const world = await Fixture.open(options);
    await world.append(outcome === 'infeasible' ? 'u20 a20' : FIVE_SEQUENCES);
    await world.waitForPass([reason ?? 'manual'], tokens);
    await end(world);
    expect(world.eventsOf('pass_ended')).toMatchObject([{ outcome }]);
    const { wake, head, passed } = (await world.db.find(ref)) ?? {};
    expect(world.db.hash(world.db.keyspace.turn(ref, 't1'))).toMatchObject({
      waitFor: 'compaction',
      waitFulfilled: ['failed', 'no_reason'].includes(outcome) ? '0' : '1',
    });
    expect(world.queue.wakes).toEqual([{ kind: 'turn', wake }]);
    expect(passed?.head).toBe(outcome === 'no_reason' ? 0 : head);
    expect([...world.db.ready.keys()]).toEqual(['t|_|talk']);
  },
);

it('a compaction pass that commits reports its end, also if a full Redis refuses the wake of the waiting turn', async () => {
  const world = await Fixture.open({
    wrap: (ports) => ({
      ...ports,
      wakes: {
        isPending: (...asked) => ports.wakes.isPending(...asked),
        eraseJobs: (...asked) => ports.wakes.eraseJobs(...asked),
        async wake(kind, ...rest) {
          if (kind === 'turn') throw new TurnfoldError('redis_full', 'Redis is full');
          await ports.wakes.wake(kind, ...rest);
        },
      },
    }),
  });
  await world.append(FIVE_SEQUENCES);
  await world.waitForPass(['manual']);
  await world.runPass();
  expect(world.eventsOf('pass_ended')).toMatchObject([{ outcome: 'committed' }]);
  expect([...world.db.ready.keys()], 'the sweeper finds the turn').toEqual(['t|_|talk']);
});

it('the end of a compaction pass wakes no turn if no turn waits for the pass', async () => {
  const world = await Fixture.open();
  await world.append(FIVE_SEQUENCES);
  await world.accept('t1', words(20));
  world.queue.clear();
  await world.request('manual');
  world.queue.clear();
  await world.runPass();
  expect(await world.readVersion()).toBeDefined();
  expect(world.queue.wakes).toEqual([]);
});

it('a turn over the hard limit waits until a compaction pass has its summaries, and then continues with the smaller context', async () => {
  const sizes: number[] = [];
  const model = deciding(({ tokens, messages }) => {
    sizes.push(tokens);
    return { content: messages.map(({ role }) => role).join(' ') };
  });
  const world = await Fixture.open({ profile, policy: small, model });
  await world.append('u20 a300 a300 u20 a300 a300 u20 a300');
  await world.accept('t1', words(250));
  await drain(world);
  expect(await world.store.readTurn(ref, 't1')).toMatchObject({
    state: 'completed',
    answer: { content: 'user summary user summary user assistant user' },
  });
  expect(sizes).toHaveLength(1);
  expect(sizes[0]).toBeLessThanOrEqual(1_000);
  expect(await world.readVersion()).toMatchObject({ reasons: ['ratio', 'hard_limit'], strategy: 'summarize' });
  expect(world.eventsOf('turn_suspended')).toMatchObject([{ for: 'compaction' }]);
});

it('a turn over the hard limit gets a smaller context from a compaction worker that has an older calibration factor', async () => {
  const world = await Fixture.open({ profile, policy: small, model: deciding() });
  await world.append('u20 a300 a300 u20 a300 a300 u20');
  const newer = { ...world.agent, overhead: { ...world.agent.overhead, calibration: 1.4 } };
  const turn = createTurnHandler({ ...world.ports, agents: { find: () => newer } });
  await world.accept('t1', words(50));
  await turn(ref);
  expect(world.eventsOf('pass_requested')).toMatchObject([{ reasons: ['ratio', 'hard_limit'] }]);
  await world.runPass();
  expect(await world.readVersion()).toMatchObject({ reasons: ['ratio', 'hard_limit'], strategy: 'summarize' });
  expect((await world.readVersion())?.tokensAfter, 'as the turn will count it').toBeLessThanOrEqual(1_000);
  await turn(ref);
  expect(await world.store.readTurn(ref, 't1')).toMatchObject({ state: 'completed' });
});

it('a turn over the hard limit takes over a compaction pass that missed the deadline, and completes the pass without new summaries', async () => {
  const summarizer = brief();
  const world = await Fixture.open({ profile, policy: small, model: deciding(), summarizers: [summarizer] });
  await world.append('u20 a300 a300 u20 a300 a300 u20 a300');
  await world.accept('t1', words(250));
  await world.turn(ref);
  const children = await world.fanOut('job1');
  world.queue.clear();
  world.db.advance(TURN_LIMITS.compactionWaitMs + 1);
  await world.turn(ref);
  expect(await world.store.readTurn(ref, 't1')).toMatchObject({ state: 'completed', answer: { content: 'ok' } });
  expect(await world.readVersion()).toMatchObject({ explained: ['summaries_missing'] });
  expect((await world.readSegments()).filter((segment) => segment.startsWith('summary'))).toEqual([]);
  expect((await world.readVersion())?.tokensAfter).toBeLessThanOrEqual(1_000);
  expect(world.eventsOf('pass_taken_over')).toHaveLength(1);
  expect(summarizer.requests).toEqual([]);

  // The worker that owned the compaction pass under its old id can write nothing more.
  const [child] = children;
  expect(child && (await world.summarize(child))).toMatchObject({ status: 'ended', outcome: 'superseded' });
  expect(await world.deliver('job1', true)).toEqual({ status: 'done' });
  expect((await world.db.find(ref))?.versions.size).toBe(1);
});

it('a turn over the hard limit is answered even if every worker died that claimed its compaction pass', async () => {
  const world = await Fixture.open({ profile, policy: small, model: deciding() });
  await world.append('u20 a300 a300 u20 a300 a300 u20 a300');
  await world.accept('t1', words(250));
  await world.turn(ref);
  for (let claim = 0; claim < PASS_LIMITS.maxAttempts; claim += 1) {
    await world.store.claimPass(ref, `o${claim}`, 'job', `w${claim}`);
    world.db.advance(PASS_LIMITS.leaseMs + 1);
    // The turn waits on, so that it does not take the pass over.
    const until = world.db.now() + TURN_LIMITS.compactionWaitMs;
    world.db.run('HSET', world.db.keyspace.turn(ref, 't1'), 'waitUntil', until);
  }
  await world.deliver();
  expect(world.eventsOf('pass_ended')).toMatchObject([{ outcome: 'failed', code: 'poison' }]);
  await drain(world);
  expect(await world.store.readTurn(ref, 't1')).toMatchObject({ state: 'completed', answer: { content: 'ok' } });
  expect(await world.readVersion()).toMatchObject({ strategy: 'summarize' });
});

it('a turn that takes over a late compaction pass uses the summaries that came in time', async () => {
  const world = await Fixture.open({ profile, policy: small, model: deciding() });
  await world.append('u20 a300 a300 u20 a300 a300 u20 a300');
  await world.accept('t1', words(250));
  await world.turn(ref);
  const [child] = await world.fanOut('job1');
  if (child !== undefined) await world.summarize(child);
  world.db.advance(TURN_LIMITS.compactionWaitMs + 1);
  await world.turn(ref);
  expect(await world.readSegments()).toContain('summary 2-3');
  expect(await world.readVersion()).toMatchObject({ explained: ['summaries_missing'] });
  expect((await world.readVersion())?.tokensAfter).toBeLessThanOrEqual(1_000);
});

it('a long turn’s context is compacted several times between its steps, and the log has every step at the end', async () => {
  const sizes: number[] = [];
  const model = deciding(({ tokens, idempotencyKey }) => {
    sizes.push(tokens);
    const step = Number(/model-(\d+)$/.exec(idempotencyKey)?.[1]);
    return step <= 20 ? { content: words(200), toolCalls: [{ name: 'nothing', arguments: {} }] } : { content: 'done' };
  });
  const world = await Fixture.open({ profile, policy: small, model });
  await world.accept('t1', words(50));
  await drain(world);
  expect(await world.store.readTurn(ref, 't1')).toMatchObject({ state: 'completed', answer: { content: 'done' } });
  expect((await world.db.find(ref))?.log).toHaveLength(1 + 20 * 2 + 1);
  expect((await world.db.find(ref))?.versions.size).toBeGreaterThanOrEqual(2);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(2_000);
  // The answered user message stays in the context, and each tool call in it has its result.
  const { segments = [] } = (await world.readVersion()) ?? {};
  expect(segments[0]).toMatchObject({ kind: 'raw', from: 1 });
});
