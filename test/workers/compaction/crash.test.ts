import { describe, expect, it } from 'vitest';
import type { Summarizer } from '../../../src/domain/summarizer.ts';
import { scriptedModel } from '../../../src/providers/scripted.ts';
import { bindPort, ignoreCrash, type When, WorkerDeath } from '../worker-death.ts';
import { type AllPorts, brief, FIVE_SEQUENCES, Fixture, type FixtureOptions, ref, words } from './fixture.ts';

/** ms after which the next sweep finds due entries. */
const STEP_MS = 5_000;
const MAX_SWEEPS = 60;

interface Run {
  readonly world: Fixture;
  readonly hasCrashed: boolean;
  readonly summaries: number;
}

interface Story {
  readonly options?: FixtureOptions;
  readonly begin: (world: Fixture) => Promise<void>;
}

/** A soft compaction pass over five sequences. No summarizer can summarize the third. */
const softPass: Story = {
  begin: async (world) => {
    await world.append(FIVE_SEQUENCES);
    await world.request('token_threshold');
  },
};

const eviction: Story = { ...softPass, options: { policy: { minSequenceTokens: 5_000 } } };

const profile = { windowTokens: 2_500, outputCapTokens: 500 };

/** A turn over the hard limit requests a compaction pass, waits for it, and is answered. */
const hardPass: Story = {
  options: {
    profile,
    policy: { tokenThreshold: 1_800 },
    model: scriptedModel({ profile, decide: ({ messages }) => ({ content: `after ${messages.at(-1)?.role}` }) }),
  },
  begin: async (world) => {
    await world.append('u20 a300 a300 u20 a300 a300 u20 a300');
    await world.accept('t1', words(250));
    await world.accept('t2', words(5));
  },
};

function bindToDeath(death: () => WorkerDeath): (ports: AllPorts) => AllPorts {
  return (ports) => ({
    ...ports,
    turns: bindPort(ports.turns, death),
    passes: bindPort(ports.passes, death),
    contexts: bindPort(ports.contexts, death),
    summaries: bindPort(ports.summaries, death),
    wakes: bindPort(ports.wakes, death),
    sweep: bindPort(ports.sweep, death),
    summarizers: (policy, agent) =>
      ports.summarizers(policy, agent).map((summarizer) => ({
        id: summarizer.id,
        summarize: (request) => death().pass(() => summarizer.summarize(request)),
      })),
  });
}

/**
 * Takes jobs until no work is left, and sweeps whenever the queue is empty. After a worker dies, another one continues.
 */
async function play(story: Story, at = 0, when: When = 'before'): Promise<Run> {
  let death = new WorkerDeath();
  let hasCrashed = false;
  const summarizer = brief();
  const some: Summarizer = {
    id: 'some',
    summarize: (request) =>
      request.range.from === 8 ? Promise.resolve({ status: 'refused', why: 'no' }) : summarizer.summarize(request),
  };
  const world = await Fixture.open({ ...story.options, summarizers: [some], wrap: bindToDeath(() => death) });
  await story.begin(world);
  death = new WorkerDeath(at, when);
  const survive = async (work: () => Promise<unknown>): Promise<void> => {
    await work().catch(ignoreCrash);
    if (!death.hasHappened) return;
    hasCrashed = true;
    death = new WorkerDeath();
  };
  for (let sweeps = 0; world.db.ready.size > 0; sweeps += 1) {
    if (sweeps === MAX_SWEEPS) throw new Error(`still at work after ${MAX_SWEEPS} sweeps`);
    for (let job = world.queue.take(); job !== undefined; job = world.queue.take())
      await survive(() => run(world, job));
    world.db.advance(STEP_MS);
    await survive(() => world.sweeper.sweepOnce());
  }
  expect(world.timers.pending, 'timers behind it').toBe(0);
  return { world, hasCrashed, summaries: summarizer.requests.length };
}

async function run(world: Fixture, job: NonNullable<ReturnType<Fixture['queue']['take']>>): Promise<void> {
  if (job.kind === 'turn') await world.turn(job.conversation);
  else if (job.kind === 'pass') {
    const result = await world.deliver(job.id, job.haveChildrenEnded);
    if (result.status === 'parked') world.queue.park(job, result.children);
  } else {
    await world.summarize(job.child, true);
    world.queue.endChild(job);
  }
}

/** The stored state of the conversation, without ids and times. */
async function normalize({ db, store }: Fixture) {
  const found = await db.find(ref);
  if (found === undefined) throw new Error('no conversation');
  const { log, versions, texts, size, pass, passed, backoff, mailbox } = found;
  const turns = await Promise.all(['t1', 't2'].map((turn) => store.readTurn(ref, turn)));
  return {
    log: log.map(({ message, total }) => ({ message, total })),
    versions: [...versions.values()].map((one) => ({ ...one, at: 0, durationMs: 0 })),
    summaries: [...texts.summaries],
    turns: turns.map((turn) => turn && { turn: turn.turn, state: turn.state, answer: turn.answer }),
    version: size.version,
    pass,
    passed,
    backoff,
    mailbox,
  };
}

describe.each(['before', 'after'] as const)(
  'a worker that dies at an await, %s the awaited call has its effect',
  (when) => {
    it.each([
      ['with summaries', softPass, 40],
      ['that evicts', eviction, 8],
    ] as const)(
      `a compaction pass %s reaches the same state if its worker dies at any await, ${when} the awaited call has its effect`,
      async (_, story, leastAwaits) => {
        const reference = await play(story);
        const expected = await normalize(reference.world);
        expect(reference.world.eventsOf('pass_ended')).toMatchObject([{ outcome: 'committed' }]);
        let at = 1;
        for (; ; at += 1) {
          const { world, hasCrashed, summaries } = await play(story, at, when);
          if (!hasCrashed) break;
          const label = `death ${when} await ${at}`;
          expect(await normalize(world), label).toEqual(expected);
          // Only the summary that was in flight at the crash is paid for twice.
          expect(summaries, label).toBeLessThanOrEqual(reference.summaries + 1);
        }
        expect(at, 'awaits at which a worker died').toBeGreaterThan(leastAwaits);
      },
    );

    it(`a turn that waits for compaction is completed later if the pass’s worker dies at any await, ${when} the awaited call has its effect`, async () => {
      const reference = await play(hardPass);
      expect(await reference.world.readVersion()).toMatchObject({ strategy: 'summarize' });
      let at = 1;
      for (; ; at += 1) {
        const { world, hasCrashed } = await play(hardPass, at, when);
        if (!hasCrashed) break;
        const label = `death ${when} await ${at}`;
        const { turns, log } = await normalize(world);
        const expected = await normalize(reference.world);
        expect({ turns, log }, label).toEqual({ turns: expected.turns, log: expected.log });
        // After its deadline, the turn takes over the compaction pass and clips or evicts the sequences that have no summary.
        expect(await world.readVersion(), label).toMatchObject({
          strategy: expect.stringMatching(/summarize|trim|evict/),
        });
        expect((await world.readVersion())?.tokensAfter, label).toBeLessThanOrEqual(1_100);
        expect((await world.db.find(ref))?.pass, label).toBeUndefined();
        const sizes = world.eventsOf('model_called').map(({ isOverLimit }) => isOverLimit);
        expect(sizes, label).not.toContain(true);
      }
      expect(at, 'awaits at which a worker died').toBeGreaterThan(40);
    });
  },
);
