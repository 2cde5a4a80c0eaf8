import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { LocalRedis } from '../../src/host/local-redis/local-redis.ts';
import { findOnPath } from '../../src/host/local-redis/local-server.ts';
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';
import { findServerFolder, isAlive, isGone, makeEnv, makeFolder, removeFolder, spawnHolder } from './fixture.ts';

const GONE = { timeout: 60_000, interval: 20 };

let home: string;
let env: NodeJS.ProcessEnv;
let obstacle: string | undefined;

beforeAll(async () => {
  home = await makeFolder();
  const found = await findServerFolder(home);
  if ('obstacle' in found) obstacle = found.obstacle;
  else env = makeEnv(home, found.folder);
});
afterAll(() => removeFolder(home));
beforeEach(({ skip }) => skip(obstacle !== undefined, obstacle));

async function startFromPath(serverArgs: string[] = []): Promise<LocalRedis> {
  const redis = await provideRedis({ env, sources: ['path'], serverArgs });
  onTestFinished(() => redis.stop());
  return redis;
}

function connect(url: string): Redis {
  const client = new Redis(url, { maxRetriesPerRequest: 0, retryStrategy: () => null });
  client.on('error', () => undefined);
  onTestFinished(() => client.disconnect());
  return client;
}

describe('a server from PATH', () => {
  test('a temporary Redis server from PATH listens on 127.0.0.1 only, is durable and evicts nothing', async () => {
    const redis = await startFromPath();
    const settings = await connect(redis.url).config(
      'GET',
      'bind',
      'dir',
      'appendonly',
      'appendfsync',
      'maxmemory-policy',
      'save',
    );

    const setting = (name: string): string | undefined => settings[settings.indexOf(name) + 1];
    expect(setting('bind')).toBe('127.0.0.1');
    expect(setting('dir')).toBe(redis.dataDir);
    expect(setting('appendonly')).toBe('yes');
    expect(setting('appendfsync')).toBe('everysec');
    expect(setting('maxmemory-policy')).toBe('noeviction');
    expect(setting('save')).toBe('');
    expect(redis.source).toBe('path');
    expect(redis.description).toMatch(/^(Redis|Valkey) \d+\.\d+\.\d+ from PATH, port \d+$/);
  });

  test('arguments of the caller override the defaults of a temporary Redis server, but not its address and folder', async () => {
    const redis = await startFromPath(['--appendonly', 'no', '--bind', '0.0.0.0', '--dir', '/']);
    const client = connect(redis.url);

    expect(await client.config('GET', 'appendonly')).toEqual(['appendonly', 'no']);
    expect(await client.config('GET', 'bind')).toEqual(['bind', '127.0.0.1']);
    expect(await client.config('GET', 'dir')).toEqual(['dir', redis.dataDir]);
  });

  test('two temporary Redis servers that start at once share neither data nor folder', async () => {
    const [one, other] = await Promise.all([startFromPath(), startFromPath()]);
    await connect(one.url).set('key', 'one');

    expect(await connect(other.url).get('key')).toBeNull();
    expect(one.dataDir).not.toBe(other.dataDir);
    expect(one.pid).not.toBe(other.pid);
  });

  test('the error of provideRedis contains the output of a server that refuses its arguments, and no process or folder is left', async () => {
    const dataRoot = await useDataRoot('refused');
    const start = provideRedis({ env, sources: ['path'], serverArgs: ['--no-such-setting', 'yes'] });

    await expect(start).rejects.toMatchObject({
      code: 'redis_unavailable',
      message: expect.stringMatching(/path: .*did not start: .*no-such-setting.*Bad directive/),
    });
    expect(await readdir(dataRoot)).toEqual([]);
  });

  test('provideRedis refuses a server that is too old, and leaves no process or folder behind', async ({ skip }) => {
    const folder = await makeOldServer();
    skip(folder === undefined, 'the server here is started by a script, or its program must not be changed');
    const dataRoot = await useDataRoot('old');
    const start = provideRedis({ env: makeEnv(home, folder ?? ''), sources: ['path'] });

    await expect(start).rejects.toMatchObject({
      code: 'redis_unavailable',
      message: expect.stringMatching(
        /path: \S+-server is (Redis 6\.\S+|Valkey \S+, compatible with Redis 6\.\S+), but turnfold needs Redis 7\.0/,
      ),
    });
    expect(await readdir(dataRoot)).toEqual([]);
  });

  test('an abort ends the start of a Redis server and leaves no process or folder behind', async () => {
    const dataRoot = await useDataRoot('aborted');
    const reason = new Error('enough');
    const aborting = new AbortController();
    // This server never listens, so the abort comes before its start has ended.
    const folder = join(home, 'silent');
    await mkdir(folder);
    await writeFile(join(folder, 'redis-server'), '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
    const start = provideRedis({ env: makeEnv(home, folder), sources: ['path'], signal: aborting.signal });
    await expect.poll(() => readdir(dataRoot)).toHaveLength(1);
    aborting.abort(reason);

    await expect(start).rejects.toBe(reason);
    expect(await readdir(dataRoot)).toEqual([]);
    await expect(provideRedis({ env, sources: ['path'], signal: aborting.signal })).rejects.toBe(reason);
  });
});

describe('the end of a server', () => {
  test('stop ends a temporary Redis server and removes its data, and a second stop does nothing', async () => {
    const redis = await startFromPath();
    await connect(redis.url).set('key', 'value');
    expect(isGone(redis)).toBe(false);

    await Promise.all([redis.stop(), redis.stop()]);
    expect(isGone(redis)).toBe(true);
    await redis.stop();
  });

  test('stop kills a frozen Redis server that ignores SIGTERM', async () => {
    const redis = await startFromPath();
    process.kill(redis.pid ?? 0, 'SIGSTOP');

    await redis.stop();
    expect(isGone(redis)).toBe(true);
  });

  test('a temporary Redis server that dies leaves no folder behind', async () => {
    const redis = await startFromPath();
    process.kill(redis.pid ?? 0, 'SIGKILL');

    await expect.poll(() => isGone(redis), GONE).toBe(true);
    await redis.stop();
  });

  test.each(['SIGKILL', 'SIGTERM', 'SIGINT'] as const)(
    'a temporary Redis server ends after its parent process gets a %s',
    async (signal) => {
      const holder = await spawnHolder(env);
      expect(isAlive(holder.redis.pid ?? 0)).toBe(true);
      holder.process.kill(signal);

      await expect.poll(() => isGone(holder.redis), GONE).toBe(true);
    },
  );

  test('a temporary Redis server ends after its parent process exits without a stop', async () => {
    const holder = await spawnHolder(env);
    expect(isAlive(holder.redis.pid ?? 0)).toBe(true);
    holder.process.stdin?.write('exit\n');

    await expect.poll(() => isGone(holder.redis), GONE).toBe(true);
    await expect.poll(() => holder.process.exitCode, GONE).toBe(0);
  });
});

/** Data folders of this test lie in a folder of its own, so that those of other runs do not count. */
async function useDataRoot(name: string): Promise<string> {
  const dataRoot = join(home, name);
  await mkdir(dataRoot);
  vi.stubEnv('TMPDIR', dataRoot);
  onTestFinished(() => void vi.unstubAllEnvs());
  return dataRoot;
}

/** A folder for PATH with the server that is here, in whose program text its version begins with a 6. */
async function makeOldServer(): Promise<string | undefined> {
  if (process.platform === 'darwin') return undefined; // programs are signed
  const redis = await startFromPath();
  const version = /^redis_version:(\d\S+)/m.exec(await connect(redis.url).info('server'))?.[1] ?? '';
  const path = (await findOnPath(['redis-server', 'valkey-server'], env['PATH'] ?? '')) ?? '';
  const program = await readFile(path, 'latin1');
  const old = program.replaceAll(`\0${version}\0`, `\x006${version.slice(1)}\0`);
  if (old === program) return undefined;
  const folder = join(home, 'old-bin');
  await mkdir(folder);
  await writeFile(join(folder, 'redis-server'), old, 'latin1');
  await chmod(join(folder, 'redis-server'), 0o755);
  return folder;
}
