import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { DEFAULT_PREFIX, hashTag, isPrefix, rulesFor, rulesOf } from '../../src/domain/namespace.ts';

const prefixes = fc.stringMatching(/^[A-Za-z0-9][\w.-]{0,20}$/).filter(isPrefix);

test('isPrefix accepts letters, digits and a few signs, and refuses names that could be mistaken for keys without a prefix', () => {
  for (const prefix of ['tf', 'shop', 'A9', 'a.b-c_d', 'x'.repeat(64)]) expect(isPrefix(prefix), prefix).toBe(true);
  for (const prefix of ['', 'tf1', 'tq', 'a/b', 'a b', 'a{b', 'a}b', 'a:b', '-a', 'ä', 'x'.repeat(65)])
    expect(isPrefix(prefix), prefix).toBe(false);
});

test('an application without a prefix uses the key names of earlier releases', () => {
  expect([hashTag(DEFAULT_PREFIX, 'tf', 3), hashTag(DEFAULT_PREFIX, 'tq', 0), hashTag('shop', 'tf')]).toEqual([
    '{tf3}',
    '{tq0}',
    '{shop/tf}',
  ]);
});

test('two prefixes have different hash tags, and neither tag starts with the other', () => {
  fc.assert(
    fc.property(prefixes, prefixes, fc.nat(300), fc.nat(300), (one, other, shard, otherShard) => {
      fc.pre(one !== other);
      const [first, second] = [hashTag(one, 'tf', shard), hashTag(other, 'tf', otherShard)];
      const start = (tag: string): string => tag.slice(0, tag.indexOf('tf') + 2);
      expect(first).not.toBe(second);
      if (one !== DEFAULT_PREFIX) expect(second.startsWith(start(first))).toBe(false);
    }),
  );
});

test('the ACL rules of Redis for an application cover the keys and channels of that application only', () => {
  expect(rulesOf(DEFAULT_PREFIX)).toEqual({ keys: { tf: '~{tf*', tq: '~{tq*' }, channels: '&{tf*' });
  expect(rulesOf('shop')).toEqual({ keys: { tf: '~{shop/*', tq: '~{shop/*' }, channels: '&{shop/*' });
});

test('rulesFor returns the ACL rules of the application that owns the keys of a failed command', () => {
  expect(rulesFor(['EVALSHA', 2, '{shop/tf3}:_:c:c1'])).toEqual(rulesOf('shop'));
  expect(rulesFor(['GET', '{tq0}:turn:1'])).toEqual(rulesOf(DEFAULT_PREFIX));
  expect(rulesFor([undefined, 'other:key'])).toEqual(rulesOf(DEFAULT_PREFIX));
});
