import { expect, it } from 'vitest';
import { hintProvider } from '../../src/workers/turn/model-request.ts';

const policy = { cacheTtl: '1h' } as never;
const hint = (safetyIdentifier: unknown, id = 'c1', context = {}) =>
  hintProvider({ agent: { safetyIdentifier } as never, policy }, { tenant: 'acme', id }, context);

it('a model request has a hash of its conversation as cache key, and the cache time of the policy', () => {
  const { cache } = hint(undefined);
  expect(cache).toEqual({ key: expect.stringMatching(/^[0-9a-f]{32}$/), ttl: '1h' });
  expect(hint(undefined).cache).toEqual(cache);
  expect(hint(undefined, 'c2').cache?.key).not.toBe(cache?.key);
});

it('a model request names the tenant, the conversation or a user as a hash, or has no such name', () => {
  const user = { context: 'userId' };
  expect(hint(undefined).safetyIdentifier).toBe(hint('tenant', 'c2').safetyIdentifier);
  expect(hint('conversation').safetyIdentifier).not.toBe(hint('conversation', 'c2').safetyIdentifier);
  expect(hint(user, 'c1', { userId: 'u1' }).safetyIdentifier).toMatch(/^[0-9a-f]{32}$/);
  expect(hint(user, 'c1', { userId: 'u1' })).not.toEqual(hint(user, 'c1', { userId: 'u2' }));
  expect(hint('off')).not.toHaveProperty('safetyIdentifier');
  expect(hint(user)).not.toHaveProperty('safetyIdentifier');
});
