import { expect, it } from 'vitest';
import type { Summarizer } from '../../../src/domain/summarizer.ts';
import { FIVE_SEQUENCES, Fixture, ref } from '../compaction/fixture.ts';
import type { Child } from '../compaction/memory-queue.ts';

const DEADLINE_MS = 10_000;

/** A summarizer that never answers. If `listens`, it throws when its signal is aborted. */
function stuck(listens: boolean) {
  const asked = Promise.withResolvers<void>();
  const summarizer: Summarizer = {
    id: 'stuck',
    summarize: ({ signal }) => {
      asked.resolve();
      const { promise, reject } = Promise.withResolvers<never>();
      if (listens) signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      return promise;
    },
  };
  return { summarizer, asked: asked.promise };
}

async function openChild(summarizers: readonly Summarizer[]): Promise<{ world: Fixture; child: Child }> {
  const world = await Fixture.open({ summarizers });
  await world.append(FIVE_SEQUENCES);
  await world.request('manual');
  const [child] = await world.fanOut();
  if (child === undefined) throw new Error('no child');
  return { world, child };
}

it.each([
  ['listens to its signal', true],
  ['ignores its signal', false],
])(
  'a stopping worker releases its claim on a summary if the summarizer %s, and asks no other summarizer of the chain',
  async (_, listens) => {
    const { summarizer, asked } = stuck(listens);
    const others: string[] = [];
    const next: Summarizer = {
      id: 'next',
      summarize: async () => {
        others.push('asked');
        return { status: 'written', text: 'brief' };
      },
    };
    const { world, child } = await openChild([summarizer, next]);
    // If the last attempt of a summarizer fails, the next summarizer of the chain would be asked.
    const job = world.summarize(child, true);
    await asked;
    world.shutdown.begin(DEADLINE_MS, world.timers);
    await world.timers.advance(DEADLINE_MS);
    expect(await job).toEqual({ status: 'postponed', delayMs: 0 });
    expect(others).toEqual([]);
    expect(world.eventsOf('lease_returned')).toMatchObject([{ what: 'summary', isCutOff: true }]);
    expect(world.eventsOf('worker_failed')).toEqual([]);
    expect(world.shutdown.cutOff).toBe(1);
    expect(await world.store.claimSummary(ref, child.hash, 'next worker')).toEqual({ status: 'claimed' });
  },
);

it('a stopping worker records a summary that is written before the deadline', async () => {
  const gate = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const summarizer: Summarizer = {
    id: 'slow',
    summarize: async () => {
      asked.resolve();
      await gate.promise;
      return { status: 'written', text: 'brief' };
    },
  };
  const { world, child } = await openChild([summarizer]);
  const job = world.summarize(child);
  await asked.promise;
  world.shutdown.begin(DEADLINE_MS, world.timers);
  gate.resolve();
  expect(await job).toMatchObject({ status: 'ended', outcome: 'written' });
  expect(world.shutdown.cutOff).toBe(0);
});

it('a worker that stops before it calls a summarizer releases its claim on the summary', async () => {
  const { summarizer } = stuck(true);
  const { world, child } = await openChild([summarizer]);
  const job = world.summarize(child);
  world.shutdown.begin(DEADLINE_MS, world.timers);
  expect(await job).toEqual({ status: 'postponed', delayMs: 0 });
  expect(world.eventsOf('lease_returned')).toMatchObject([{ what: 'summary', isCutOff: false }]);
  expect(world.shutdown.cutOff).toBe(0);
});

it('a stopping worker claims no summarization job', async () => {
  const { summarizer } = stuck(true);
  const { world, child } = await openChild([summarizer]);
  world.shutdown.begin(DEADLINE_MS, world.timers);
  expect(await world.summarize(child)).toEqual({ status: 'postponed', delayMs: 0 });
  expect(world.eventsOf('lease_returned')).toEqual([]);
});
