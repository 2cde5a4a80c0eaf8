import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Context } from '../../src/compaction/context.ts';
import { findLastModelSeq, layOutInSlices } from '../../src/compaction/layout.ts';
import { findSequences, type Span, SpanIndex } from '../../src/compaction/sequences.ts';
import { runToEnd } from '../../src/domain/interruptible.ts';
import { completePolicy, type PolicyInput } from '../../src/domain/policy.ts';
import { contextOf } from './alphabet.ts';
import { ownersOf } from './fates.ts';
import { requestOver } from './passes.ts';
import { firstRequest, scenarios } from './scenarios.ts';

const spans = fc
  .uniqueArray(fc.tuple(fc.nat(60), fc.integer({ min: 1, max: 40 })), { selector: ([first]) => first, maxLength: 40 })
  .map((pairs) =>
    pairs.toSorted(([a], [b]) => a - b).map(([first, length], group): Span => ({ first, last: first + length, group })),
  );

describe('span index', () => {
  test('the span index, which finds ranges by position, returns each range that contains a position exactly once', () => {
    fc.assert(
      fc.property(spans, fc.array(fc.nat(105), { maxLength: 20 }), (given, positions) => {
        const index = new SpanIndex(given);
        const left = new Set(given);
        for (const position of positions) {
          const around = [...left].filter(({ first, last }) => first < position && position < last);
          expect(index.takeAround(position)).toStrictEqual(around);
          for (const span of around) left.delete(span);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test('the span index, which finds ranges by position, returns nothing if it has no ranges', () => {
    expect(new SpanIndex([]).takeAround(0)).toStrictEqual([]);
  });
});

/** Finds the ranges by their definition: removes groups that would be split, until nothing changes. */
function runsByDefinition({ items }: Context, isKept: (position: number) => boolean): [number, number][] {
  const owners = ownersOf(items);
  const isIn = items.map((item, position) => item.message.role !== 'user' && !isKept(position));
  for (;;) {
    const runs: [number, number][] = [];
    isIn.forEach((inside, position) => {
      if (!inside) return;
      const last = runs.at(-1);
      if (last?.[1] === position - 1) last[1] = position;
      else runs.push([position, position]);
    });
    const runOf = (position: number): number => runs.findIndex(([from, to]) => from <= position && position <= to);
    const split = owners.findIndex((owner, position) => isIn[position] === true && runOf(owner) !== runOf(position));
    if (split === -1) return runs;
    owners.forEach((owner, position) => {
      if (owner === owners[split]) isIn[position] = false;
    });
  }
}

describe('ranges to summarize (sequences)', () => {
  test('the ranges to summarize are the longest ones that contain each tool round as a whole', () => {
    const policy = completePolicy({ minSequenceMessages: 1, minSequenceTokens: 0, retentionWindow: 3 });
    let interlocked = 0;
    fc.assert(
      fc.property(scenarios, (scenario) => {
        const { context, firstUserSeq } = firstRequest(scenario);
        const layout = runToEnd(
          layOutInSlices(context.items, policy, {
            firstUserSeq,
            lastModelSeq: findLastModelSeq(context.items),
            inputs: new Set(),
          }),
        );
        const isKept = (position: number): boolean =>
          layout.protections[layout.groupOf[position] as number] !== undefined;
        const { eligible } = runToEnd(
          findSequences(layout, policy, { isTokenBound: true, tailStart: layout.items.length, mayRelaxFloor: false }),
        );
        const runs = runsByDefinition(context, isKept).filter(([from, to]) =>
          // New messages must have tokens, so a range of summaries alone is not summarized.
          context.items.slice(from, to + 1).some((item) => item.message.role !== 'summary' && item.tokens > 0),
        );
        expect(eligible.map((run) => [run.fromPosition, run.toPosition])).toStrictEqual(runs);
        const free = context.items.filter((item, at) => item.message.role === 'tool' && !isKept(at)).length;
        const inRuns = runs.flatMap(([from, to]) => context.items.slice(from, to + 1));
        if (inRuns.filter((item) => item.message.role === 'tool').length < free) interlocked += 1;
      }),
      { numRuns: 2_000 },
    );
    expect(interlocked).toBeGreaterThan(50);
  });

  const sequencesOf = (line: string, policy: PolicyInput): string[] => {
    const { context, policy: complete, firstUserSeq } = requestOver(contextOf(line), { policy });
    const layout = runToEnd(
      layOutInSlices(context.items, complete, {
        firstUserSeq,
        lastModelSeq: findLastModelSeq(context.items),
        inputs: new Set(),
      }),
    );
    return runToEnd(
      findSequences(layout, complete, { isTokenBound: false, tailStart: layout.items.length, mayRelaxFloor: false }),
    ).eligible.map(({ from, to }) => `${from}-${to}`);
  };
  const prefix = { scope: 'prefix', retentionWindow: 2, minSequenceTokens: 0 } as const;

  test('with the setting `scope: prefix`, one range covers everything older than the retention window, including user messages', () => {
    expect(sequencesOf('s u a u tr a u a u a', prefix)).toEqual(['2-9']);
    expect(sequencesOf('s u a u tr a u a u a', { ...prefix, scope: 'sequences' })).toEqual(['5-7']);
  });

  test('with the setting `scope: prefix`, the range to summarize ends at a protected message', () => {
    expect(sequencesOf('s u a u! a u a u a', prefix)).toEqual(['2-3', '5-7']);
    // The last user message is followed by a long turn.
    expect(sequencesOf('s u a u tr tr tr tr', prefix)).toEqual(['2-3', '5-10']);
    expect(sequencesOf('s u t u a u r u a', prefix)).toEqual(['2-7']);
  });

  test('with the setting `scope: prefix`, an old summary is summarized again once the new messages have as many tokens as the summary', () => {
    expect(sequencesOf('s S:50 u a u a u a', prefix)).toEqual([]);
    expect(sequencesOf('s S:50 u a:40 u a u a', prefix)).toEqual(['2-6']);
  });
});
