import { expect, test } from 'vitest';
import { isAtLeast } from '../../src/store/redis/server-checks.ts';

test.each([
  ['7.0.15', '7.0.15', true],
  ['7.0.15', '6.2.0', true],
  ['10.0.0', '9.9.9', true],
  ['6.2', '6.2.0', true],
  ['6.2.0', '6.2.1', false],
  ['5.9.9', '6.0', false],
  ['8.0-rc1', '8.0.0', true],
])('isAtLeast compares version %s with the required version %s and returns %s', (version, least, isSo) => {
  expect(isAtLeast(version, least)).toBe(isSo);
});
