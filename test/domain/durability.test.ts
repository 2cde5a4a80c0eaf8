import { describe, expect, test } from 'vitest';
import { durabilitySchema } from '../../src/domain/durability.ts';

describe('the durability setting of a client', () => {
  test.each([
    { replicas: 1, timeoutMs: 500 },
    { replicas: 0, timeoutMs: 500, fsync: 'local' },
    { replicas: 1, timeoutMs: 500, fsync: 'replica' },
  ])('the durability setting %o is accepted', (durability) => {
    expect(durabilitySchema.parse(durability)).toEqual(durability);
  });

  test.each([
    { replicas: 0, timeoutMs: 500 },
    { replicas: 0, timeoutMs: 500, fsync: 'replica' },
  ])(
    'the durability setting %o is refused with an error for the field `replicas`, because it asks no replica for confirmation',
    (durability) => {
      expect(durabilitySchema.safeParse(durability).error?.issues[0]).toMatchObject({ path: ['replicas'] });
    },
  );
});
