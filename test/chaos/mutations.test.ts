import { describe, expect, test } from 'vitest';
import { hasRedisServer } from './mortal-redis.ts';
import { MUTATIONS, runMutation } from './mutants.ts';

// Together: they wait more than they work. Beside each the same run over the code as it is: `npm run chaos -- --mutations`.
describe.skipIf(!hasRedisServer).concurrent('without one of its guarantees (skipped without redis-server)', () => {
  test.each(MUTATIONS)(
    'it is found out: $name',
    async (mutation) => {
      const rules: string[] = [];
      // A finding depends on chance besides the seed. A run without one is followed by a run with the next seed.
      for (const seed of [4, 5, 6, 7, 8, 9]) {
        if (rules.includes(mutation.rule)) break;
        const { findings } = await runMutation(mutation, seed);
        rules.push(...findings.map(({ rule }) => rule));
      }
      expect(rules).toContain(mutation.rule);
    },
    300_000,
  );
});
