import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Budget, excessWeight, requestTokens } from '../../src/compaction/budget.ts';
import { contextSize, NO_OVERHEAD, upperBoundTokens } from '../../src/domain/size.ts';

const factors = fc.oneof(fc.constantFrom(1, 1.05, 1.1, 1.25), fc.double({ min: 1, max: 1.5, noNaN: true }));
const calibrations = fc.oneof(fc.constantFrom(1, 0.8, 0.9, 1.1, 1.2), fc.double({ min: 0.5, max: 2, noNaN: true }));
const overheads = fc.record({ tokens: fc.nat(5_000), bytes: fc.nat(20_000), calibration: calibrations });

const excessTokens = (budget: Budget, tokens: number): number => excessWeight(budget, { tokens, bytes: 0 }).tokens;

describe('size of a request', () => {
  test('requestTokens equals contextSize if no provider has counted a request of the conversation yet', () => {
    const none = { tokens: 0, bytes: 0 };
    fc.assert(
      fc.property(fc.nat(1e6), overheads, (tokens, overhead) => {
        const record = { version: 0, weight: none, baseTotal: none, headTotal: { tokens, bytes: 0 } };
        expect(requestTokens({ overhead }, tokens)).toBe(contextSize(record, overhead).tokens);
      }),
      { numRuns: 1_000 },
    );
  });

  test('excessWeight returns exactly what a request must lose: one token less would leave the request above maxTokens', () => {
    fc.assert(
      fc.property(
        fc.nat(2e5),
        fc.integer({ min: 1, max: 2e5 }),
        factors,
        overheads,
        (items, maxTokens, factor, overhead) => {
          const budget: Budget = { limits: { maxTokens, upperBoundFactor: factor }, overhead, reasons: ['ratio'] };
          const bound = (tokens: number): number => upperBoundTokens(requestTokens({ overhead }, tokens), factor);
          const excess = excessTokens(budget, items);
          expect(bound(items - excess)).toBeLessThanOrEqual(maxTokens);
          if (excess > 0) expect(bound(items - excess + 1)).toBeGreaterThan(maxTokens);
        },
      ),
      { numRuns: 10_000 },
    );
  });

  test('the excess of a request counts the bytes of system prompt and tools if the provider limits bytes', () => {
    const limits = { maxBytes: 1_000, upperBoundFactor: 1 };
    const budget = { limits, overhead: { ...NO_OVERHEAD, bytes: 200 } };
    expect(excessWeight({ ...budget, reasons: ['overflow'] }, { tokens: 5, bytes: 900 })).toEqual({
      tokens: 0,
      bytes: 100,
    });
    expect(excessWeight({ ...budget, reasons: ['overflow'] }, { tokens: 5, bytes: 800 })).toEqual({
      tokens: 0,
      bytes: 0,
    });
    expect(excessWeight({ ...budget, reasons: ['turn_end'] }, { tokens: 5, bytes: 900 })).toEqual({
      tokens: 0,
      bytes: 0,
    });
  });

  test('a request has no excess without maxTokens, or if no token limit was the reason for compaction', () => {
    const limits = { maxTokens: 10, upperBoundFactor: 1 };
    const budget = { limits, overhead: NO_OVERHEAD };
    expect(excessTokens({ ...budget, reasons: ['turn_end', 'message_threshold'] }, 1_000)).toBe(0);
    expect(excessTokens({ ...budget, limits: { upperBoundFactor: 1 }, reasons: ['manual'] }, 1_000)).toBe(0);
    expect(excessTokens({ ...budget, reasons: ['turn_end', 'manual'] }, 1_000)).toBe(993);
  });

  test('a request whose upper bound is exactly maxTokens has no excess', () => {
    // In binary floating point, 55 ÷ 1.1 is 49.99999999999999.
    const budget: Budget = {
      limits: { maxTokens: 55, upperBoundFactor: 1.1 },
      overhead: NO_OVERHEAD,
      reasons: ['ratio'],
    };
    expect(excessTokens(budget, 47)).toBe(0);
    expect(excessTokens(budget, 48)).toBe(1);
  });
});
