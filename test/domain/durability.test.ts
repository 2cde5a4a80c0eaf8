import { describe, expect, test } from 'vitest';
import { durabilitySchema } from '../../src/domain/durability.ts';

describe('a durability', () => {
  test.each([
    { replicas: 1, timeoutMs: 500 },
    { replicas: 0, timeoutMs: 500, fsync: 'local' },
    { replicas: 1, timeoutMs: 500, fsync: 'replica' },
  ])('%o is a valid durability', (durability) => {
    expect(durabilitySchema.parse(durability)).toEqual(durability);
  });

  test.each([
    { replicas: 0, timeoutMs: 500 },
    { replicas: 0, timeoutMs: 500, fsync: 'replica' },
  ])('%o would wait for no server, and is refused by its field', (durability) => {
    expect(durabilitySchema.safeParse(durability).error?.issues[0]).toMatchObject({ path: ['replicas'] });
  });
});
