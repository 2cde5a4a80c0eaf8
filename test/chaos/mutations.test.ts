import { describe, expect, test } from 'vitest';
import { hasRedisServer } from './mortal-redis.ts';
import { MUTATIONS, runMutation } from './mutants.ts';

// Together: they wait more than they work. Beside each the same run over the code as it is: `npm run chaos -- --mutations`.
describe.skipIf(!hasRedisServer).concurrent('without one of its guarantees (skipped without redis-server)', () => {
  test.each(MUTATIONS)(
    'it is found out: $name',
    async (mutation) => {
      const rules: string[] = [];
      // What is found depends on chance besides the seed: a second one, where the first found nothing.
      for (const seed of [4, 5]) {
        if (rules.includes(mutation.rule)) break;
        const { findings } = await runMutation(mutation, seed);
        rules.push(...findings.map(({ rule }) => rule));
      }
      expect(rules).toContain(mutation.rule);
    },
    300_000,
  );
});
