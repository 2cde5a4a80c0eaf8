import { expect, test } from 'vitest';
import { isCounted } from '../../src/domain/pass.ts';

test('turnThreshold counts turns since the last compaction pass that did not end as no_reason or thinking', () => {
  const kinds = [
    'committed',
    'none',
    'no_gain',
    'infeasible',
    'failed',
    'no_reason',
    'thinking',
    'superseded',
  ] as const;
  expect(kinds.filter((kind) => !isCounted(kind))).toEqual(['no_reason', 'thinking']);
});
