import { expect, it } from 'vitest';
import { findCountFault } from '../../src/domain/provider-count.ts';
import { NO_OVERHEAD, type SizeRecord } from '../../src/domain/size.ts';

const NO_BYTES = { tokens: 0, bytes: 0 };

/** The sizes of a context whose provider has counted its first `before` tokens as `tokens`. */
function recordOf(before: number, tokens: number): SizeRecord {
  const anchor = { seq: 1, tokens, total: { tokens: before, bytes: 0 }, version: 0, isWhole: true } as const;
  return { version: 0, weight: NO_BYTES, baseTotal: NO_BYTES, headTotal: NO_BYTES, anchor };
}

const { anchor: _, ...UNCOUNTED } = recordOf(0, 0);

function faultOf(reported: number, countedTokens: number, record = UNCOUNTED as SizeRecord, calibration = 1) {
  return findCountFault(reported, { countedTokens, pictureTokens: 0 }, record, { ...NO_OVERHEAD, calibration });
}

it.each([
  [10_000, 10_000, undefined],
  [5_000, 10_000, undefined],
  [4_999, 10_000, 'part'],
  [0, 10_000, 'part'],
  [22_000, 10_000, undefined],
  [22_001, 10_000, 'excess'],
  [40_000, 10_000, 'excess'],
  [2_300, 150, undefined],
])(
  'findCountFault judges a provider’s count of %i tokens for a request of %i tokens as the fault %s',
  (reported, counted, fault) => {
    expect(faultOf(reported, counted)).toBe(fault);
  },
);

it('a provider’s count of more than twice turnfold’s own count is accepted once the model is known to count that high', () => {
  expect(faultOf(25_000, 10_000)).toBe('excess');
  expect(faultOf(25_000, 10_000, UNCOUNTED, 1.5)).toBeUndefined();
});

it('a provider’s count is accepted if the provider counts pictures at a twentieth of turnfold’s count', () => {
  const counted = { countedTokens: 10_000, pictureTokens: 9_000 };
  expect(findCountFault(1_400, counted, UNCOUNTED, NO_OVERHEAD)).toBeUndefined();
});

it.each([
  [4_100, 8_000, 'truncated'],
  [3_900, 6_000, 'truncated'],
  [4_096, 4_500, 'stale'],
  [4_500, 4_500, undefined],
  [4_100, 4_100, undefined],
  [9_000, 8_000, undefined],
  [40, 8_000, 'part'],
])(
  'after a provider counted 4,096 tokens for 4,000, its count of %i for a request of %i tokens has the fault %s',
  (reported, counted, fault) => {
    expect(faultOf(reported, counted, recordOf(4_000, 4_096))).toBe(fault);
  },
);

it('a provider’s count is not compared with its earlier count for another context version', () => {
  const record = { ...recordOf(4_000, 4_096), version: 1 };
  expect(faultOf(4_100, 8_000, record)).toBeUndefined();
});
