import { expect, test } from 'vitest';
import { listExpressions, readProven } from './linear-expressions.ts';

test('every regular expression of src is in the file of expressions that were proven linear (npm run expressions)', () => {
  expect([...listExpressions().keys()].toSorted()).toEqual(readProven());
});
