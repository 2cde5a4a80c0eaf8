import { describe, expect, test } from 'vitest';
import { hasRedisServer } from './mortal-redis.ts';
import { MUTATIONS, runMutation } from './mutants.ts';

// Together: they wait more than they work. Beside each the same run over the code as it is: `npm run chaos -- --mutations`.
describe.skipIf(!hasRedisServer).concurrent('without one of its guarantees (skipped without redis-server)', () => {
  test.each(MUTATIONS)(
    'it is found out: $name',
    async (mutation) => {
      const report = await runMutation(mutation, 4);
      expect(report.findings.map(({ rule }) => rule)).toContain(mutation.rule);
    },
    180_000,
  );
});
