import { expect, test } from 'vitest';
import { isCounted } from '../../src/domain/pass.ts';

test('turnThreshold counts from the end of every compaction pass except no_reason and thinking', () => {
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
