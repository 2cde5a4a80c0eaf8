import { expect, test } from 'vitest';
import { describeThrown, hasBrand } from '../../src/domain/thrown.ts';
import { HOSTILE_THROWN, hostileProxy } from '../fakes/hostile-values.ts';

test.each(HOSTILE_THROWN)(
  'describeThrown describes a thrown value, %s, in a text of limited length, without throwing',
  (_, make) => {
    const { name, message, code = '' } = describeThrown(make());
    expect([typeof name, typeof message, typeof code]).toEqual(['string', 'string', 'string']);
    expect(name.length).toBeLessThanOrEqual(100);
    expect(message.length).toBeLessThanOrEqual(2_000);
  },
);

test('describeThrown keeps the name, message and code of an ordinary error', () => {
  const error = Object.assign(new RangeError('too far'), { code: 'E_FAR' });
  expect(describeThrown(error)).toEqual({ name: 'RangeError', message: 'too far', code: 'E_FAR' });
});

test('describeThrown does not split a surrogate pair when it clips a message', () => {
  expect(describeThrown(new Error('👍'.repeat(10)), 4).message).toBe('👍\uFFFD…');
});

test('hasBrand returns false for a proxy that throws when it is read', () => {
  expect(hasBrand(hostileProxy(), Symbol.for('turnfold.TurnfoldError'))).toBe(false);
});
