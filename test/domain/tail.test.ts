import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findTail } from '../../src/compaction/choose-sequences.ts';
import type { Context } from '../../src/compaction/context.ts';
import { findLastModelSeq, isFixed, type Layout, layOutInSlices } from '../../src/compaction/layout.ts';
import { runToEnd } from '../../src/domain/interruptible.ts';
import { completePolicy } from '../../src/domain/policy.ts';
import { contextOf } from './alphabet.ts';
import { firstRequest, scenarios } from './scenarios.ts';

function layOut({ items }: Context, retentionWindow: number): Layout {
  const policy = completePolicy({ retentionWindow, keepFirstUser: false });
  return runToEnd(layOutInSlices(items, policy, { lastModelSeq: findLastModelSeq(items), inputs: new Set() }));
}

const tailOf = (line: string, maxTokens: number, { window = 0, mayRelaxFloor = false } = {}) =>
  findTail(layOut(contextOf(line), window), maxTokens, mayRelaxFloor);

describe('findTail, which finds the newest messages that stay word for word', () => {
  test.each([
    ['takes the newest messages that fit', 'su a:100 a:100 a:100', 250, { start: 3, tokens: 200 }],
    ['is empty if the newest message does not fit', 'su a:100 a:100', 99, { start: 4, tokens: 0 }],
    ['takes a tool round whole or not at all', 'su a:100 t:100 r:100 a:50', 249, { start: 5, tokens: 50 }],
    ['begins with the first message of a round', 'su a:100 t:100 r:100 a:50', 250, { start: 3, tokens: 250 }],
    ['does not pay for the last user message', 'su a:100 u:500 a:100', 200, { start: 2, tokens: 200 }],
  ])('the verbatim tail of a context %s', (_, line, maxTokens, tail) => {
    expect(tailOf(line, maxTokens)).toEqual(tail);
  });

  test('the retention window belongs to the verbatim tail, unless a hard reason permits removing messages of the window', () => {
    const line = 'su a:100 a:100 a:100';
    expect(tailOf(line, 0, { window: 2 })).toEqual({ start: 3, tokens: 200 });
    expect(tailOf(line, 120, { window: 2, mayRelaxFloor: true })).toEqual({ start: 4, tokens: 100 });
  });

  test('the verbatim tail never exceeds its token limit, and a higher limit never gives a shorter tail', () => {
    fc.assert(
      fc.property(scenarios, fc.nat(5_000), fc.nat(5_000), (scenario, maxTokens, more) => {
        const request = firstRequest(scenario);
        const layout = layOut(request.context, 4);
        const tail = findTail(layout, maxTokens, true);
        expect(tail.tokens).toBeLessThanOrEqual(maxTokens);
        expect(findTail(layout, maxTokens + more, true).start).toBeLessThanOrEqual(tail.start);
        const begun = new Set(layout.groupOf.slice(tail.start));
        const sum = [...begun].reduce((total, group) => {
          const isPaid = !isFixed(layout.protections[group]);
          return total + (isPaid ? (layout.groupWeights[group]?.tokens ?? 0) : 0);
        }, 0);
        // A late result counts with its round, which begins before the tail.
        expect(tail.tokens).toBe(sum);
      }),
      { numRuns: 500 },
    );
  });
});
