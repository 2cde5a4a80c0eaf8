import { cp, mkdtemp, readdir, realpath, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openClient } from '../../src/api/client/index.ts';
import type { Durability } from '../../src/domain/durability.ts';
import { isTurnfoldError } from '../../src/domain/errors.ts';
import { openWorkers, SHARDS, useServer } from './fixture.ts';
import { FsyncWatch, knowsFsyncs, waitsForFsync } from './fsyncs.ts';
import { hasServer, type Server, startServer, until } from './servers.ts';

const WORK_MS = 2_500;
const SETTLE_MS = 20_000;
/** Milliseconds from the last fsync to the power loss, long enough that some writes are not on disk. */
const UNSYNCED_MS = 600;

/** The end of the append-only file, which a power loss cuts. */
async function findTail(dir: string): Promise<string> {
  const folder = join(dir, 'appendonlydir');
  const name = (await readdir(folder))
    .filter((file) => file.endsWith('.incr.aof'))
    .toSorted()
    .at(-1);
  return join(folder, name ?? '');
}

async function makeFolder(): Promise<string> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'turnfold-aof-')));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

interface Accepted {
  readonly conversation: string;
  readonly turn: string;
  readonly at: number;
  /** Size of the file at the acknowledgement. */
  readonly fileBytes: number;
}

interface Mode {
  readonly name: string;
  readonly fsync: 'always' | 'everysec';
  readonly durability?: Durability;
  readonly conversations: number;
}

const MODES: readonly Mode[] = [
  { name: 'loses nothing under appendfsync always', fsync: 'always', conversations: 8 },
  { name: 'loses only unsynced turns under appendfsync everysec', fsync: 'everysec', conversations: 8 },
  {
    name: 'loses nothing under everysec with durability on disk',
    fsync: 'everysec',
    durability: { replicas: 0, timeoutMs: 5_000, fsync: 'local' },
    // Each conversation accepts one turn a second.
    conversations: 100,
  },
];

let canWatch: boolean;

/** Accepts turns until the server is killed. @returns the turns, and the offset at which the power loss cuts the file */
async function loseServer(
  mode: Mode,
  server: Server,
): Promise<{ accepted: Accepted[]; failedAt: number; cutAt: number }> {
  const tail = await findTail(server.dir);
  const accepted: Accepted[] = [];
  const watch = canWatch && mode.fsync === 'everysec' ? new FsyncWatch(server) : undefined;
  const watching = watch?.run();
  const workers = await openWorkers({ redisUrl: server.url });
  const { durability } = mode;
  const client = await openClient({ redisUrl: server.url, shards: SHARDS, ...(durability && { durability }) });
  const killing = new AbortController();
  const produce = async (conversation: string): Promise<void> => {
    for (let number = 1; !killing.signal.aborted; number += 1) {
      const turn = `${conversation}.${number}`;
      try {
        await client.enqueueTurn({ conversation, agent: 'guide', turn, input: turn });
      } catch (error) {
        if (killing.signal.aborted) return;
        throw error;
      }
      accepted.push({ conversation, turn, at: Date.now(), fileBytes: (await stat(tail)).size });
      await delay(10);
    }
  };
  const producing = Promise.all(Array.from({ length: mode.conversations }, (_, at) => produce(`c${at}`)));
  await Promise.race([producing, delay(WORK_MS)]);
  if (watch) await until('the last fsync is long enough ago', () => Date.now() - watch.fsyncedAt > UNSYNCED_MS);
  killing.abort();
  // The replies that Redis has sent are read before it is killed.
  server.signal('SIGSTOP');
  const failedAt = Date.now();
  await delay(200);
  server.signal('SIGKILL');
  await producing;
  await Promise.all([client.close(), workers.close(), watching]);
  if (watch) return { accepted, failedAt, cutAt: await watch.findEnd(tail) };
  // With `appendfsync always` Redis fsyncs before it acknowledges, so all bytes up to the last acknowledgement survive. The
  // file sizes are read concurrently, so the largest size counts, not the last one.
  if (mode.fsync === 'always')
    return { accepted, failedAt, cutAt: Math.max(0, ...accepted.map((turn) => turn.fileBytes)) };
  // With `appendfsync everysec`, and if no fsync was observed, the file is cut a second back and inside a command. So only
  // half of the last transaction is left.
  const last = accepted.findLast(({ at }) => at <= failedAt - 1_000);
  return { accepted, failedAt, cutAt: (last?.fileBytes ?? 0) - 7 };
}

describe.skipIf(!hasServer)('a power loss (skipped where PATH has no server)', () => {
  beforeAll(async () => {
    const probe = await startServer({ args: ['--appendonly', 'yes', '--appendfsync', 'everysec'] });
    canWatch = (await knowsFsyncs(probe)) && (await waitsForFsync(probe));
    await probe.stop();
  });

  test.for(MODES)('a power loss of the Redis server $name', { timeout: 120_000 }, async (mode, { skip }) => {
    if (mode.durability !== undefined && !canWatch) {
      skip(
        'WAITAOF of this server is missing, or answers before its fsync: Redis 8 is right (choose a server by PATH)',
      );
    }
    const args = ['--appendonly', 'yes', '--appendfsync', mode.fsync, '--aof-load-truncated', 'yes'];
    const before = await makeFolder();
    const server = await useServer({ dir: before, args });
    const { accepted, failedAt, cutAt } = await loseServer(mode, server);
    const after = await makeFolder();
    await cp(before, after, { recursive: true });
    await truncate(await findTail(after), cutAt);

    const restartedAt = Date.now();
    const again = await useServer({ dir: after, args });
    const others = await openWorkers({ redisUrl: again.url });
    const caller = await openClient({ redisUrl: again.url, shards: SHARDS });
    onTestFinished(async () => void (await Promise.all([caller.close(), others.close()])));
    const lost: Accepted[] = [];
    for (const turn of accepted) {
      const view = await caller.result(turn.conversation, turn.turn, { waitMs: SETTLE_MS }).catch((error: unknown) => {
        if (!isTurnfoldError(error, 'not_found')) throw error;
        return undefined;
      });
      if (view === undefined) lost.push(turn);
      else expect(view.state).toBe('completed');
    }
    const goneOnMs = Date.now() - restartedAt;
    const oldestLostMs = Math.max(0, ...lost.map(({ at }) => failedAt - at));
    process.stdout.write(
      `power loss, ${mode.name}: ${JSON.stringify({ acknowledged: accepted.length, lost: lost.length, oldestLostMs, goneOnMs })}\n`,
    );
    if (mode.fsync === 'always' || mode.durability !== undefined) expect(lost).toEqual([]);
    else {
      expect(lost.length).toBeGreaterThan(0);
      // Turns before the cut survive.
      expect(lost.filter(({ fileBytes }) => fileBytes < cutAt)).toEqual([]);
    }
    for (let index = 0; index < mode.conversations; index += 1) {
      const conversation = `c${index}`;
      const log = await caller.log(conversation);
      expect(log.map(({ seq }) => seq)).toEqual(log.map((_, at) => at + 1));
      const inputs = log.flatMap(({ message }) => (message.role === 'user' ? [message.content] : []));
      const kept = accepted.filter((turn) => turn.conversation === conversation && !lost.includes(turn));
      expect(inputs.slice(0, kept.length)).toEqual(kept.map(({ turn }) => turn));
      expect(log).toHaveLength(2 * inputs.length);
      // A lost turn is accepted as new, and a kept turn is known.
      const last = kept.at(-1)?.turn ?? '';
      const repeat = await caller.enqueueTurn({ conversation, agent: 'guide', turn: last, input: last });
      expect(repeat).toMatchObject({ isNew: false, state: 'completed' });
    }
  });
});
