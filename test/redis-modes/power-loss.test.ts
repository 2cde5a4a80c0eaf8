import { cp, mkdtemp, readdir, realpath, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openClient } from '../../src/client/index.ts';
import { isTurnfoldError } from '../../src/domain/errors.ts';
import { ROLES, startWorkers, type Workers } from '../../src/runtime/start-workers.ts';
import { agentOf } from '../runtime/agents.ts';
import { hasServer, type Server, startServer } from './servers.ts';

const SHARDS = 4;
const CONVERSATIONS = 8;
const WORK_MS = 2_500;
const SETTLE_MS = 20_000;

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

function startWorker(server: Server): Promise<Workers> {
  return startWorkers({
    redisUrl: server.url,
    agents: [agentOf()],
    roles: ROLES,
    shards: SHARDS,
    queueShards: 1,
    concurrency: { turn: 8, compaction: 2, summarization: 2 },
    shutdownMs: 2_000,
  });
}

interface Accepted {
  readonly conversation: string;
  readonly turn: string;
  readonly at: number;
  /** of the file once it was acknowledged: all of it was written by then */
  readonly fileBytes: number;
}

describe.skipIf(!hasServer)(
  'power is lost, and the append-only file with it behind a place (skipped where PATH has no server)',
  () => {
    // `always`: what is acknowledged was fsynced, the file as it was at the last acknowledgement. `everysec`: as it was a second
    // before the end, for less is never fsynced; and cut in the midst of a write.
    test.each(['always', 'everysec'] as const)('%s', { timeout: 90_000 }, async (fsync) => {
      const args = ['--appendonly', 'yes', '--appendfsync', fsync, '--aof-load-truncated', 'yes'];
      const before = await makeFolder();
      const server = await startServer({ dir: before, args });
      onTestFinished(() => server.stop());
      const tail = await findTail(before);
      const accepted: Accepted[] = [];
      const sizes: { readonly at: number; readonly bytes: number }[] = [];
      const workers = await startWorker(server);
      const client = await openClient({ redisUrl: server.url, shards: SHARDS });
      const startedAt = Date.now();
      await Promise.all(
        Array.from({ length: CONVERSATIONS }, async (_, index) => {
          const conversation = `c${index}`;
          for (let number = 1; Date.now() < startedAt + WORK_MS; number += 1) {
            const turn = `${conversation}.${number}`;
            await client.enqueueTurn({ conversation, agent: 'guide', turn, input: turn });
            const at = Date.now();
            const { size: fileBytes } = await stat(tail);
            accepted.push({ conversation, turn, at, fileBytes });
            sizes.push({ at, bytes: fileBytes });
            await delay(10);
          }
        }),
      );
      const failedAt = Date.now();
      server.signal('SIGKILL');
      const lastMs = fsync === 'always' ? failedAt : failedAt - 1_000;
      const bytes = sizes.findLast(({ at }) => at <= lastMs)?.bytes ?? 0;
      await Promise.all([client.close(), workers.close()]);
      const after = await makeFolder();
      await cp(before, after, { recursive: true });
      // Not at the end of a command, so that the last of them, and the transaction that it may be of, is half there.
      await truncate(await findTail(after), bytes - (fsync === 'always' ? 0 : 7));

      const restartedAt = Date.now();
      const again = await startServer({ dir: after, args });
      onTestFinished(() => again.stop());
      const others = await startWorker(again);
      const caller = await openClient({ redisUrl: again.url, shards: SHARDS });
      onTestFinished(async () => void (await Promise.all([caller.close(), others.close()])));
      const lost: Accepted[] = [];
      for (const turn of accepted) {
        const view = await caller
          .result(turn.conversation, turn.turn, { waitMs: SETTLE_MS })
          .catch((error: unknown) => {
            if (!isTurnfoldError(error, 'not_found')) throw error;
            return undefined;
          });
        if (view === undefined) lost.push(turn);
        else expect(view.state).toBe('completed');
      }
      const goneOnMs = Date.now() - restartedAt;
      const oldestLostMs = Math.max(0, ...lost.map(({ at }) => failedAt - at));
      process.stdout.write(
        `power loss, ${fsync}: ${JSON.stringify({ acknowledged: accepted.length, lost: lost.length, oldestLostMs, goneOnMs })}\n`,
      );
      if (fsync === 'always') expect(lost).toEqual([]);
      else {
        expect(lost.length).toBeGreaterThan(0);
        // Only what came behind the cut.
        expect(lost.filter(({ fileBytes }) => fileBytes < bytes - 7)).toEqual([]);
      }
      for (let index = 0; index < CONVERSATIONS; index += 1) {
        const conversation = `c${index}`;
        const log = await caller.log(conversation);
        expect(log.map(({ seq }) => seq)).toEqual(log.map((_, at) => at + 1));
        const inputs = log.flatMap(({ message }) => (message.role === 'user' ? [message.content] : []));
        const kept = accepted.filter((turn) => turn.conversation === conversation && !lost.includes(turn));
        expect(inputs.slice(0, kept.length)).toEqual(kept.map(({ turn }) => turn));
        expect(log).toHaveLength(2 * inputs.length);
        // What was lost is taken as new, and what was not as known.
        const last = kept.at(-1)?.turn ?? '';
        const repeat = await caller.enqueueTurn({ conversation, agent: 'guide', turn: last, input: last });
        expect(repeat).toMatchObject({ isNew: false, state: 'completed' });
      }
    });
  },
);
