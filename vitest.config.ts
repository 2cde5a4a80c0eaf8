import { defineConfig } from 'vitest/config';

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

export default defineConfig({
  test: {
    pool: 'forks',
    // By default one less than there are cores: of two that is one, which waits more than it works.
    maxWorkers: 2,
    coverage: {
      provider: 'v8',
      include: ['src/domain/**/*.ts'],
      reporter: ['text-summary', 'json-summary'],
      thresholds: { branches: 95 },
    },
    projects: [
      {
        extends: true,
        // Whatever is not named below is a unit test, so that no folder of test/ is left out of every project.
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [...integrationFiles, ...gateFiles],
          testTimeout: 20_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          // After the rest, so that leases and locks do not compete with compilers for two cores.
          sequence: { groupOrder: 2 },
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
