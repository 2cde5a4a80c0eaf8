import { expect, test } from 'vitest';
import { isCounted } from '../../src/domain/pass.ts';

test('turns count from the end of a pass that took place', () => {
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
