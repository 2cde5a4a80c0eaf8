import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import type { Reporter, TestCase, Vitest } from 'vitest/node';

const allFiles = 'test/**/*.test.ts';
const gateFiles = ['test/gates/**/*.test.ts'];
const domainFiles = ['test/domain/**/*.test.ts'];
const filesOf = (folders: readonly string[]): string[] => folders.map((folder) => `test/${folder}/**/*.test.ts`);

/** Tests of these folders talk to a real Redis. `test/setup/redis.ts` starts it and provides `redisUrl`. */
const integrationFiles = filesOf([
  'store',
  'queue',
  'client',
  'inbox',
  'http-client',
  'http',
  'cli',
  'runtime',
  'webhooks',
  'local-redis',
  'demo',
  'inspector',
  'deploy',
  'examples',
  'health',
  'schema',
]);

/** Behaviour that the client over Redis and the client over HTTP share. Each file runs over both. */
const clientContract = filesOf(['client/both']);

/**
 * `npm run test:faults`: whole folders, and elsewhere the files with this suffix. Sentinels, Clusters, TLS, kills, searches
 * and live alerts: they start many servers and processes, or wait for failovers and leases.
 */
const faultFiles = [...filesOf(['chaos', 'fuzz', 'loop', 'protocol', 'redis-modes']), 'test/**/*.faults.test.ts'];

/** Properties that `npm test` tries a few times, and `npm run test:faults` again at length (test/setup/count-runs.ts). */
const propertyFiles = ['test/**/*-properties.test.ts'];

/** Prints each failure when it happens. The summary at the end would be missing if a time limit ended the run. */
class FailuresAtOnce implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestCaseResult(test: TestCase): void {
    const { state, errors = [] } = test.result();
    if (state !== 'failed') return;
    for (const { message, diff, stacks = [] } of errors) {
      const places = stacks.map(({ file, line }) => `    at ${file}:${line}`);
      this.#vitest?.logger.error([`FAILED ${test.fullName}`, message, diff ?? '', ...places].join('\n'));
    }
  }
}

export default defineConfig({
  // Examples import the package by its name, which has no build here.
  resolve: { alias: [{ find: /^turnfold$/, replacement: fileURLToPath(new URL('src/index.ts', import.meta.url)) }] },
  test: {
    pool: 'forks',
    // By default one less than there are cores: of two that is one, which waits more than it works.
    maxWorkers: 2,
    // A time limit ends what hangs. It is no measurement: a busy machine may take ten times as long as a quiet one.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    reporters: ['default', new FailuresAtOnce()],
    expect: { poll: { timeout: 60_000, interval: 20 } },
    setupFiles: ['test/setup/property-seed.ts'],
    // Compile cache of Node: a worker process that a test starts takes 1.3 s of CPU time with it, 2.2 s without.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/turnfold-tests', import.meta.url)) },
    provide: { isThorough: false, clientKind: 'redis' },
    coverage: {
      provider: 'v8',
      include: ['src/domain/**/*.ts', 'src/compaction/**/*.ts'],
      reporter: ['text-summary', 'json-summary'],
      thresholds: { branches: 95 },
    },
    projects: [
      {
        extends: true,
        // Alone under coverage: it makes what counts tokens and renders up to six times slower.
        test: { name: 'domain', include: domainFiles, isolate: false },
      },
      {
        extends: true,
        // Whatever is not named elsewhere is a unit test, so that no folder of test/ is left out of every project.
        test: {
          name: 'unit',
          include: [allFiles],
          exclude: [...domainFiles, ...integrationFiles, ...gateFiles, ...faultFiles],
          // Files share a process: to load sources and packages once for each file took half of the time.
          isolate: false,
        },
      },
      {
        extends: true,
        test: { name: 'gates', include: gateFiles, exclude: faultFiles },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          // After the rest, so that leases and locks do not compete with compilers for two cores.
          sequence: { groupOrder: 1 },
          // They wait, for a lease, a process, as long as they work.
          maxWorkers: 4,
          // To load the sources once for each file took a third of the time. Each test has keys of its own.
          isolate: false,
          include: integrationFiles,
          exclude: faultFiles,
          globalSetup: ['test/setup/redis.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'http-client',
          sequence: { groupOrder: 1 },
          maxWorkers: 4,
          isolate: false,
          include: clientContract,
          provide: { isThorough: false, clientKind: 'http' },
          globalSetup: ['test/setup/redis.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'searches',
          include: propertyFiles,
          isolate: false,
          provide: { isThorough: true, clientKind: 'redis' },
          testTimeout: 600_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'faults',
          sequence: { groupOrder: 2 },
          maxWorkers: 4,
          include: faultFiles,
          globalSetup: ['test/setup/redis.ts'],
          testTimeout: 300_000,
        },
      },
    ],
  },
});
