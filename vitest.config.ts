import { relative } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Folders whose tests talk to a real Redis; test/setup/redis.ts provides its URL as `redisUrl`. */
const integration = [
  'store',
  'redis-modes',
  'queue',
  'client',
  'cli',
  'runtime',
  'local-redis',
  'demo',
  'chaos',
  'deploy',
  'health',
];
const integrationFiles = integration.map((folder) => `test/${folder}/**/*.test.ts`);
const gateFiles = ['test/gates/**/*.test.ts'];
const domainFiles = ['test/domain/**/*.test.ts'];

/** What takes longest, longest first, of those that run together. */
export const LONGEST = [
  'test/domain/pass-properties.test.ts',
  'test/domain/version-properties.test.ts',
  'test/domain/rebase-properties.test.ts',
  'test/wire/provider-round.test.ts',
  'test/ladder/ladder-properties.test.ts',
  'test/cli-offline/replay-traces.test.ts',
  'test/protocol/interleavings.test.ts',
  'test/cli-offline/compact.test.ts',
  'test/tokens/event-loop.test.ts',
  'test/chaos/mutations.test.ts',
  'test/cli/redis-modes.test.ts',
  'test/redis-modes/cluster.test.ts',
  'test/cli/conversations.test.ts',
  'test/chaos/chaos.test.ts',
  'test/cli/worker.test.ts',
  'test/redis-modes/sentinel.test.ts',
  'test/deploy/live-dashboards.test.ts',
  'test/redis-modes/power-loss.test.ts',
  'test/queue/crash.test.ts',
];

/**
 * The longest first, so that no worker waits for the other at the end. vitest does so by what an earlier run took; of a fresh
 * clone it knows sizes alone, and the longest file, of 21 lines, began last.
 */
class LongestFirst extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- of a sequencer, not of an array
    const sorted = await super.sort(specifications);
    // Projects stay in their order.
    return [...Map.groupBy(sorted, ({ project }) => project).values()].flatMap((group) =>
      group.toSorted((one, other) => placeOf(one) - placeOf(other)),
    );
  }
}

function placeOf({ project, moduleId }: TestSpecification): number {
  const place = LONGEST.indexOf(relative(project.config.root, moduleId));
  return place === -1 ? LONGEST.length : place;
}

export default defineConfig({
  test: {
    pool: 'forks',
    // By default one less than there are cores: of two that is one, which waits more than it works.
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    coverage: {
      provider: 'v8',
      include: ['src/domain/**/*.ts'],
      reporter: ['text-summary', 'json-summary'],
      thresholds: { branches: 95 },
    },
    projects: [
      {
        extends: true,
        // Alone under coverage: it makes what counts tokens and renders up to six times slower.
        test: { name: 'domain', include: domainFiles, testTimeout: 60_000 },
      },
      {
        extends: true,
        // Whatever is not named below is a unit test, so that no folder of test/ is left out of every project.
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [...domainFiles, ...integrationFiles, ...gateFiles],
          testTimeout: 20_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          // After the rest, so that leases and locks do not compete with compilers for two cores.
          sequence: { groupOrder: 2 },
          // They wait, for a lease, a failover, a process, as long as they work.
          maxWorkers: 3,
          include: integrationFiles,
          globalSetup: ['test/setup/redis.ts'],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: { name: 'gates', include: gateFiles, testTimeout: 60_000, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
