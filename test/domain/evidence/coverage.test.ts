import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CoverageRequest, chooseFragments } from '../../../src/compaction/evidence/coverage.ts';
import { type Ledger, readLedger } from '../../../src/compaction/evidence/ledger.ts';
import { runToEnd } from '../../../src/domain/interruptible.ts';
import type { Message } from '../../../src/domain/message.ts';
import { user } from '../messages.ts';

type Options = Partial<Omit<CoverageRequest, 'ledger' | 'values'>> & {
  readonly worth?: Readonly<Record<string, number>>;
};

function choose(
  messages: readonly Message[],
  { worth = {}, ...options }: Options,
): { ledger: Ledger; chosen: number[] } {
  const ledger = runToEnd(readLedger(messages));
  const values = Float64Array.from(ledger.terms, ({ text }) => worth[text] ?? 0);
  const tokens = new Float64Array(ledger.fragments.length).fill(10);
  const request = {
    ledger,
    values,
    tokens,
    maxTokens: 20,
    headTokens: 0,
    shown: [],
    mayChoose: () => true,
    ...options,
  };
  return { ledger, chosen: runToEnd(chooseFragments(request)) };
}

function textsOf(messages: readonly Message[], options: Options): string[] {
  const { ledger, chosen } = choose(messages, options);
  return chosen.map((index) => ledger.fragments[index]?.text ?? '');
}

describe('the choice of text fragments for an excerpt', () => {
  test('the choice of fragments takes the fragment with the most value per token first', () => {
    const worth = { alpha: 1, beta: 3, gamma: 2 };
    expect(textsOf([user('alpha\nbeta\ngamma')], { worth })).toEqual(['beta', 'gamma']);
  });

  test('the choice of fragments counts each term once, so that a repeated fragment has no value', () => {
    const worth = { alpha: 5, beta: 1 };
    expect(textsOf([user('alpha\nalpha\nbeta')], { worth })).toEqual(['alpha', 'beta']);
  });

  test('the choice of fragments gives no value to terms that an already shown fragment contains', () => {
    const worth = { alpha: 5, beta: 1 };
    expect(textsOf([user('alpha\nalpha\nbeta')], { worth, shown: [0] })).toEqual(['beta']);
  });

  test('the choice of fragments takes the line that introduces a fragment together with the fragment, and weighs both as one', () => {
    const worth = { alpha: 1, beta: 3, gamma: 4, delta: 4.5 };
    const leadOf = (index: number) => (index === 1 ? 0 : undefined);
    const messages = [user('alpha\nbeta\ngamma\ndelta')];
    expect(textsOf(messages, { worth, leadOf, maxTokens: 40 })).toEqual(['delta', 'gamma', 'alpha', 'beta']);
    expect(textsOf(messages, { worth, leadOf, maxTokens: 30 }), 'no room for both').toEqual([
      'delta',
      'gamma',
      'alpha',
    ]);
    expect(textsOf(messages, { worth, leadOf, maxTokens: 30, shown: [0] })).toEqual(['delta', 'gamma', 'beta']);
  });

  test('the choice of fragments never takes a forbidden fragment or a fragment that is already shown', () => {
    const messages = [user('alpha beta\ngamma delta\nomega theta')];
    expect(textsOf(messages, { maxTokens: 100, shown: [0], mayChoose: (index) => index !== 1 })).toEqual([
      'omega theta',
    ]);
  });

  test('the choice of fragments charges the tokens of a message’s heading only for the first fragment of that message', () => {
    const messages = [user('alpha\nbeta'), user('gamma\ndelta')];
    const worth = { alpha: 9, beta: 5, gamma: 8, delta: 4 };
    const options = { worth, maxTokens: 27, tokens: new Float64Array(4).fill(8), headTokens: 10 };
    expect(textsOf(messages, options)).toEqual(['alpha', 'beta']);
  });

  test('the choice of fragments takes a smaller fragment if a larger fragment does not fit the budget', () => {
    const worth = { alpha: 9, beta: 5, gamma: 1 };
    const tokens = Float64Array.from([10, 15, 9]);
    expect(textsOf([user('alpha\nbeta\ngamma')], { worth, tokens })).toEqual(['alpha', 'gamma']);
  });

  test('the choice of fragments fills leftover budget with the least harmful lines, and with no line that adds no new term', () => {
    const worth = { alpha: 5, beta: -3, gamma: -1 };
    const messages = [user('beta\ngamma\nalpha\nalpha gamma')];
    expect(textsOf(messages, { worth, maxTokens: 100 })).toEqual(['alpha', 'gamma', 'beta']);
  });

  test('the choice of fragments is empty for a source without fragments', () => {
    expect(choose([], {}).chosen).toEqual([]);
  });
});

describe('the choice of fragments for random sources, values and budgets', () => {
  const words = ['alpha', 'beta', 'gamma', 'delta', 'omega'];
  const line = fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 4 }).map((some) => some.join(' '));
  const message = fc.record({
    role: fc.constantFrom('user' as const, 'assistant' as const, 'tool' as const),
    content: fc.array(line, { maxLength: 4 }).map((lines) => lines.join('\n')),
  });
  const source = fc.record({
    messages: fc.array(message, { maxLength: 8 }),
    worths: fc.array(fc.integer({ min: -2, max: 6 }), { minLength: words.length, maxLength: words.length }),
    sizes: fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 40, maxLength: 40 }),
    maxTokens: fc.integer({ min: 0, max: 120 }),
    headTokens: fc.integer({ min: 0, max: 5 }),
  });
  const chooseOf = ({
    messages,
    worths,
    sizes,
    maxTokens,
    headTokens,
  }: typeof source extends fc.Arbitrary<infer S> ? S : never) => {
    const worth = Object.fromEntries(words.map((word, index) => [word, worths[index] ?? 0]));
    return { worth, ...choose(messages, { worth, maxTokens, headTokens, tokens: Float64Array.from(sizes) }) };
  };

  test('the choice of fragments stays within its budget, takes no fragment twice, and is the same when repeated', () => {
    fc.assert(
      fc.property(source, (given) => {
        const { ledger, chosen } = chooseOf(given);
        const heads = new Set(chosen.map((index) => ledger.fragments[index]?.message)).size;
        const tokens = chosen.reduce((sum, index) => sum + (given.sizes[index] ?? 0), heads * given.headTokens);
        expect(tokens).toBeLessThanOrEqual(given.maxTokens);
        expect(new Set(chosen).size).toBe(chosen.length);
        expect(chooseOf(given).chosen).toEqual(chosen);
      }),
    );
  });

  test('the choice of fragments equals a full search over all fragments at every step, if messages have no heading', () => {
    fc.assert(
      fc.property(source, (given) => {
        const { ledger, chosen, worth } = chooseOf({ ...given, headTokens: 0 });
        const covered = new Set<number>();
        const open = new Set(ledger.fragments.keys());
        let left = given.maxTokens;
        const gainOf = (index: number): number => {
          const fresh = (ledger.fragments[index]?.terms ?? []).filter((term) => !covered.has(term));
          return fresh.reduce((sum, term) => sum + (worth[ledger.terms[term]?.text ?? ''] ?? 0), 0);
        };
        const expected: number[] = [];
        for (;;) {
          const best = [...open]
            .map((index) => ({ index, density: gainOf(index) / (given.sizes[index] ?? 1) }))
            .reduce((a, b) => (b.density > a.density ? b : a), { index: -1, density: 0 });
          if (best.index < 0) break;
          open.delete(best.index);
          if ((given.sizes[best.index] ?? 0) > left) continue;
          left -= given.sizes[best.index] ?? 0;
          for (const term of ledger.fragments[best.index]?.terms ?? []) covered.add(term);
          expected.push(best.index);
        }
        expect(chosen.slice(0, expected.length)).toEqual(expected);
      }),
    );
  });
});
