import { rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openClient } from '../../src/api/client/index.ts';
import { endOf, runTurnfold, startTurnfold } from '../cli/run-turnfold.ts';
import { findClosedPort } from '../local-redis/fixture.ts';
import { hasServer, type Server, startServer, until } from './servers.ts';

const AGENTS = fileURLToPath(new URL('../setup/workspace-agents.ts', import.meta.url));
/** Seconds of a refusal in which connections and log lines are counted. */
const WATCHED_SECONDS = 8;

interface Worker {
  readonly log: readonly string[];
  readonly stderr: () => string;
}

async function startWorker(url: string, started = 'worker started'): Promise<Worker> {
  const child = startTurnfold(['worker', '--agents', AGENTS], { REDIS_URL: url, TURNFOLD_SHARDS: '4' });
  const ended = endOf(child);
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const log: string[] = [];
  if (child.stdout === null) throw new Error('the output of the worker is not piped');
  createInterface({ input: child.stdout }).on('line', (line) => log.push(line));
  let stderr = '';
  child.stderr?.on('data', (piece: Buffer) => void (stderr += piece.toString()));
  await expect.poll(() => log.join('\n'), { timeout: 60_000 }).toContain(started);
  return { log, stderr: () => stderr };
}

const infoOf = async ({ redis }: Server, name: string): Promise<number> =>
  Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(await redis.info())?.[1]);

/** Measures the connections per second that Redis accepts in the watched time. */
async function countConnections(server: Server): Promise<number> {
  const measure = async () => ({
    at: await infoOf(server, 'uptime_in_seconds'),
    connections: await infoOf(server, 'total_connections_received'),
  });
  const before = await measure();
  await until('time passes', async () => (await measure()).at >= before.at + WATCHED_SECONDS);
  const after = await measure();
  return (after.connections - before.connections) / (after.at - before.at);
}

const failuresOf = ({ log }: Worker): string[] => log.filter((line) => line.includes('"level":"error"'));

interface Refusal {
  readonly name: string;
  readonly begin: (server: Server) => Promise<unknown>;
  readonly end: (server: Server) => Promise<unknown>;
  readonly words: RegExp;
  readonly remedy: RegExp;
  /** Line of the log at the end. */
  readonly back?: string;
}

const set = (name: string, value: string) => (server: Server) => server.redis.config('SET', name, value);

const REFUSALS: readonly Refusal[] = [
  {
    name: 'it became a replica',
    begin: async ({ redis }) => redis.replicaof('127.0.0.1', await findClosedPort()),
    end: ({ redis }) => redis.replicaof('NO', 'ONE'),
    words: /it is a replica \(READONLY\)/,
    remedy: /REPLICAOF NO ONE/,
  },
  {
    name: 'it is a replica that serves no stale data',
    begin: async ({ redis }) => {
      await redis.config('SET', 'replica-serve-stale-data', 'no');
      await redis.replicaof('127.0.0.1', await findClosedPort());
    },
    end: ({ redis }) => redis.replicaof('NO', 'ONE'),
    words: /it is a replica/,
    remedy: /REPLICAOF NO ONE/,
  },
  {
    name: 'it lacks replicas',
    begin: set('min-replicas-to-write', '1'),
    end: set('min-replicas-to-write', '0'),
    words: /NOREPLICAS/,
    remedy: /lower min-replicas-to-write/,
  },
  {
    name: 'it cannot save to its disk',
    begin: async ({ redis, dir }) => {
      await redis.config('SET', 'save', '900 1');
      await rm(dir, { recursive: true });
      await redis.bgsave();
      await until('the save fails', async () => (await redis.info()).includes('rdb_last_bgsave_status:err'));
    },
    end: set('stop-writes-on-bgsave-error', 'no'),
    words: /MISCONF/,
    remedy: /Free space on the disk/,
  },
  {
    name: 'its memory is full',
    begin: set('maxmemory', '1mb'),
    end: set('maxmemory', '0'),
    words: /its maxmemory is reached|OOM command not allowed/,
    remedy: /Raise maxmemory/,
    back: 'redis has memory again',
  },
  {
    name: 'it has too many clients',
    begin: async ({ redis }) => {
      await redis.config('SET', 'maxclients', '1');
      await redis.call('CLIENT', ['KILL', 'TYPE', 'normal']);
    },
    end: set('maxclients', '1000'),
    words: /as many clients as its maxclients allows/,
    remedy: /Raise maxclients/,
  },
];

describe.skipIf(!hasServer)('a Redis that answers and refuses (skipped where PATH has no server)', () => {
  test.each(REFUSALS)(
    'a worker logs the cause once, opens at most two connections a second, and continues to work, if $name',
    {
      timeout: 120_000,
    },
    async ({ begin, end, words, back = 'redis is back' }) => {
      const server = await startServer();
      onTestFinished(() => server.stop());
      const worker = await startWorker(server.url);
      await begin(server);
      await expect.poll(() => failuresOf(worker).join('\n'), { timeout: 30_000 }).toMatch(words);
      expect(await countConnections(server)).toBeLessThanOrEqual(2);
      expect(failuresOf(worker), worker.log.join('\n')).toHaveLength(1);
      await end(server);
      await expect.poll(() => worker.log.join('\n'), { timeout: 30_000 }).toContain(back);
      const client = await openClient({ redisUrl: server.url, shards: 4 });
      onTestFinished(() => client.close());
      await client.enqueueTurn({ conversation: 'c1', agent: 'workspace', input: 'list src/jobs', turn: 't1' });
      expect(await client.result('c1', 't1', { waitMs: 60_000 })).toMatchObject({ state: 'completed' });
      expect(worker.stderr()).not.toContain('MaxListeners');
    },
  );

  test.each(REFUSALS.slice(0, -1))(
    'doctor names the cause and its own remedy if $name',
    async ({ begin, words, remedy }) => {
      const server = await startServer();
      onTestFinished(() => server.stop());
      await begin(server);
      const { stdout } = await runTurnfold(['doctor'], { env: { REDIS_URL: server.url } });
      expect(stdout).toMatch(words);
      expect(stdout).toMatch(remedy);
    },
  );

  test('a worker that starts at a replica logs the cause once, and starts working once the server is the master', async () => {
    const server = await startServer();
    onTestFinished(() => server.stop());
    await server.redis.replicaof('127.0.0.1', await findClosedPort());
    const worker = await startWorker(server.url, 'it is a replica (READONLY)');
    expect(await countConnections(server)).toBeLessThanOrEqual(2);
    expect(failuresOf(worker)).toHaveLength(1);
    await server.redis.replicaof('NO', 'ONE');
    await expect.poll(() => worker.log.join('\n'), { timeout: 30_000 }).toContain('worker started');
  });

  test('a command that is sent to a replica fails with the cause', async () => {
    const server = await startServer();
    onTestFinished(() => server.stop());
    await server.redis.replicaof('127.0.0.1', await findClosedPort());
    const { code, stderr } = await runTurnfold(['enqueue', 'c1', 'hi', '--agent', 'a'], {
      env: { REDIS_URL: server.url },
    });
    expect(code).not.toBe(0);
    expect(stderr).toContain('Redis refuses writes: it is a replica (READONLY)');
  });
});
