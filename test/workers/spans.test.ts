import { AsyncLocalStorage } from 'node:async_hooks';
import { expect, test } from 'vitest';
import type { TraceParent } from '../../src/domain/ids.ts';
import type { SpanSubject, Tracing } from '../../src/domain/tracing.ts';
import { TURN_LIMITS } from '../../src/domain/turn.ts';
import { FIVE_SEQUENCES, Fixture, ref } from './compaction/fixture.ts';

/** Records trace spans in the order in which they began, each with its parent. */
class RecordedSpans implements Tracing {
  readonly all: { readonly about: SpanSubject; readonly within: TraceParent | undefined; readonly id: TraceParent }[] =
    [];
  readonly #open = new AsyncLocalStorage<TraceParent>();

  inSpan<T>(about: SpanSubject, work: () => Promise<T>): Promise<T> {
    const id = `00-${'a'.repeat(32)}-${String(this.all.length + 1).padStart(16, '0')}-01`;
    this.all.push({ about, within: this.current(), id });
    return this.#open.run(id, work);
  }

  current(): TraceParent | undefined {
    return this.#open.getStore();
  }

  get kinds(): string[] {
    return this.all.map(({ about }) => about.kind);
  }
}

async function open(): Promise<{ readonly world: Fixture; readonly spans: RecordedSpans }> {
  const spans = new RecordedSpans();
  return { world: await Fixture.open({ wrap: (ports) => ({ ...ports, tracing: spans }) }), spans };
}

test('the trace span of a compaction pass that a turn takes over is a child of the turn’s span', async () => {
  const { world, spans } = await open();
  await world.append(FIVE_SEQUENCES);
  await world.waitForPass(['hard_limit']);
  await world.timers.advance(TURN_LIMITS.compactionWaitMs);
  await world.turn(ref);
  expect(spans.kinds).toEqual(['turn', 'pass', 'model_call']);
  const [turn, pass, call] = spans.all;
  expect(pass?.about).toMatchObject({ kind: 'pass', traceParent: turn?.id, reasons: ['hard_limit'] });
  expect([pass?.within, call?.within]).toEqual([turn?.id, turn?.id]);
  expect(call?.about).toMatchObject({ isCompacted: true });
});

test('the trace span of a compaction pass is a child of its requester’s span, and the parent of its summaries’ spans', async () => {
  const { world, spans } = await open();
  await world.append(FIVE_SEQUENCES);
  await world.request('manual');
  const traceParent = `00-${'b'.repeat(32)}-${'c'.repeat(16)}-01`;
  const parked = await world.compaction({ conversation: ref, job: 'job1', haveChildrenEnded: false, traceParent });
  if (parked.status !== 'parked') throw new Error('nothing was fanned out');
  for (const child of parked.children) await world.summarize(child);
  await world.compaction({ conversation: ref, job: 'job1', haveChildrenEnded: true, traceParent });
  const [planned, ...others] = spans.all;
  expect(spans.kinds).toEqual(['pass', ...parked.children.map(() => 'summary'), 'pass']);
  expect(planned?.about).toMatchObject({ traceParent, agent: 'guide', attempt: 1 });
  expect(others.slice(0, -1).map(({ about }) => 'traceParent' in about && about.traceParent)).toEqual(
    parked.children.map(() => planned?.id),
  );
  expect(others.at(-1)?.about).toMatchObject({ traceParent, kind: 'pass' });
});
