import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { parseDependencies } from '../../src/host/local-redis/debian-package.ts';
import type { LocalRedis } from '../../src/host/local-redis/local-redis.ts';
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';
import { findPackageObstacle, isGone, makeEnv, makeFolder, removeFolder } from './fixture.ts';

const TIMEOUT_MS = 120_000;

describe('the package of the distribution', () => {
  let folder: string;
  let emptyPath: string;
  let obstacle: string | undefined;

  beforeAll(async () => {
    folder = await makeFolder();
    emptyPath = join(folder, 'empty');
    await mkdir(emptyPath);
    obstacle = await findPackageObstacle(folder);
  }, TIMEOUT_MS);
  afterAll(() => removeFolder(folder));
  beforeEach(({ skip }) => skip(obstacle !== undefined, obstacle));

  async function start(cacheDir: string, log: string[] = [], more: NodeJS.ProcessEnv = {}): Promise<LocalRedis> {
    const env = { ...makeEnv(folder, emptyPath), ...more };
    const redis = await provideRedis({ env, cacheDir, sources: ['path', 'package'], log: (line) => log.push(line) });
    onTestFinished(() => redis.stop());
    return redis;
  }

  test(
    'the package of the distribution provides Redis, and the next run does not download the package again',
    async () => {
      const cacheDir = join(folder, 'kept');
      const [first, second]: [string[], string[]] = [[], []];
      const redis = await start(cacheDir, first);
      expect(redis.source).toBe('package');
      expect(redis.description).toMatch(/^(Redis|Valkey) \d+\.\d+\.\d+ from the package in /);
      await redis.stop();
      expect(isGone(redis)).toBe(true);

      await start(cacheDir, second);
      expect(first.some((line) => line.startsWith('downloading'))).toBe(true);
      expect(second.some((line) => line.startsWith('downloading'))).toBe(false);
    },
    TIMEOUT_MS,
  );

  test(
    'two runs that fill the package cache at once both get a server, and leave no partial folder',
    async () => {
      const cacheDir = join(folder, 'shared');
      const servers = await Promise.all([start(cacheDir), start(cacheDir)]);

      expect(servers.map((server) => server.source)).toEqual(['package', 'package']);
      expect(await readdir(join(cacheDir, 'redis'))).toHaveLength(1);
    },
    TIMEOUT_MS,
  );

  test(
    'provideRedis replaces a cached package whose server does not run',
    async () => {
      const cacheDir = join(folder, 'broken');
      await (await start(cacheDir)).stop();
      const [system] = await readdir(join(cacheDir, 'redis'));
      const program = join(cacheDir, 'redis', system ?? '', 'usr/bin/redis-check-rdb');
      await writeFile(program, 'not a program');

      expect((await start(cacheDir)).source).toBe('package');
      expect((await stat(program)).size).toBeGreaterThan(100_000);
    },
    TIMEOUT_MS,
  );

  test(
    'provideRedis downloads the lists of Debian packages if the system has none',
    async () => {
      const lists = join(folder, 'no-lists');
      const config = join(folder, 'apt.conf');
      await mkdir(lists);
      await writeFile(config, `Dir::State::Lists "${lists}";\n`);
      const log: string[] = [];

      const redis = await start(join(folder, 'own-lists'), log, { APT_CONFIG: config });
      expect(redis.source).toBe('package');
      expect(log.some((line) => line.startsWith('fetching package lists'))).toBe(true);
    },
    TIMEOUT_MS,
  );
});

test.each([
  ['Depends: libc6 (>= 2.34), libssl3t64 (>= 3.0.0)', ['libc6', 'libssl3t64']],
  ['Pre-Depends: a\nDepends: b:any | c, d (= 1)\n', ['a', 'b', 'd']],
  ['', []],
])('parseDependencies returns the package names in the Debian control fields %j', (fields, names) => {
  expect(parseDependencies(fields)).toEqual(names);
});
