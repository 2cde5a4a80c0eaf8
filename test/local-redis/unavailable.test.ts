import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { findOnPath } from '../../src/host/local-redis/local-server.ts';
import { describeInstallation, provideRedis } from '../../src/host/local-redis/provide-redis.ts';
import { makeEnv, makeFolder, removeFolder } from './fixture.ts';

const folder = await makeFolder();
afterAll(() => removeFolder(folder));

test('provideRedis fails with the reason of each source and installation advice if no Redis can be started', async () => {
  const log: string[] = [];
  const cacheDir = join(folder, 'a-file', 'cache');
  await writeFile(join(folder, 'a-file'), '');
  const start = provideRedis({
    env: makeEnv(folder, ''),
    cacheDir,
    redisUrl: '',
    sources: ['path', 'package'],
    log: (line) => log.push(line),
  });

  await expect(start).rejects.toMatchObject({
    code: 'redis_unavailable',
    message: expect.stringMatching(/path: no redis-server or valkey-server on PATH, package: .+\. (Install|Run)/),
    hint: expect.stringMatching(/Docker.*REDIS_URL/),
  });
  expect(log).toEqual([
    'not usable: path: no redis-server or valkey-server on PATH',
    expect.stringMatching(/^not usable: package: ./),
  ]);
});

describe('the hint to install Redis', () => {
  test.each([
    ['darwin', '', 'brew install redis'],
    ['linux', 'NAME="Ubuntu"\nID=ubuntu\nID_LIKE=debian\n', 'apt-get install redis-server'],
    ['linux', 'ID=linuxmint\nID_LIKE="ubuntu debian"\n', 'apt-get install redis-server'],
    ['linux', 'ID="rocky"\nID_LIKE="rhel centos fedora"\n', 'dnf install'],
    ['linux', 'ID=alpine\n', 'apk add redis'],
    ['linux', '', 'redis-server is on PATH'],
    ['win32', '', 'WSL'],
  ] as const)(
    'the hint to install Redis on the platform %s with the os-release file %j contains %s',
    (platform, osRelease, expected) => {
      expect(describeInstallation(platform, osRelease)).toContain(expected);
    },
  );
});

test('findOnPath finds only executable files in absolute folders, and prefers redis-server to valkey-server', async () => {
  const [one, two] = [join(folder, 'one'), join(folder, 'two')];
  await mkdir(join(one, 'redis-server'), { recursive: true }); // a folder
  await mkdir(two);
  await writeFile(join(one, 'valkey-server'), '');
  await writeFile(join(two, 'redis-server'), ''); // not executable
  const names = ['redis-server', 'valkey-server'];
  expect(await findOnPath(names, `:.:${one}:${two}`)).toBeUndefined();

  await chmod(join(one, 'valkey-server'), 0o755);
  expect(await findOnPath(names, `${one}:${two}`)).toBe(join(one, 'valkey-server'));
  await chmod(join(two, 'redis-server'), 0o755);
  expect(await findOnPath(names, `${one}:${two}`)).toBe(join(two, 'redis-server'));
});
