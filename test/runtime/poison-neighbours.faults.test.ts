import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { TURN_LIMITS } from '../../src/domain/turn.ts';
import { Keyspace, readyMember } from '../../src/store/keys.ts';
import { type Fixture, openFixture, SHARDS, settled } from './fixture.ts';

const SETTLED_WITHIN_MS = 240_000;
const TEST_MS = 300_000;

/** As if the leases of the dead process had run out: their 8 s need not pass. */
async function lapseLeases({ redis }: Fixture, ids: readonly string[]): Promise<void> {
  const keyspace = new Keyspace(SHARDS);
  for (const id of ids) {
    const ref = { tenant: '_', id };
    if ((await redis.hexists(keyspace.key(ref, 'c'), 'owner')) === 0) continue;
    await redis.hset(keyspace.key(ref, 'c'), 'lease', 1);
    await redis.zadd(keyspace.ready(keyspace.shardOf(ref)), 1, readyMember('t', ref));
  }
}

/** One worker process after the other, each until it dies. @returns what ends it */
function keepWorking(fixture: Fixture, ids: readonly string[]): () => void {
  const script = fileURLToPath(new URL('./crashing-worker.ts', import.meta.url));
  const over = new AbortController();
  let child: ReturnType<typeof spawn> | undefined;
  const work = async (): Promise<void> => {
    while (!over.signal.aborted) {
      child = spawn(process.execPath, [script, fixture.redisUrl], { stdio: ['pipe', 'inherit', 'inherit'] });
      await once(child, 'exit');
      if (!over.signal.aborted) await lapseLeases(fixture, ids);
    }
  };
  void work();
  return () => {
    over.abort();
    child?.kill('SIGKILL');
  };
}

interface Played {
  /** conversations whose turn became poison */
  readonly poisoned: readonly string[];
  readonly completed: readonly string[];
  /** Calls of the crashing tool, by conversation. */
  readonly runs: Readonly<Record<string, number>>;
}

async function play(guilty: readonly string[], innocent: readonly string[]): Promise<Played> {
  const fixture = await openFixture();
  onTestFinished(() => fixture.close());
  const ids = [...guilty, ...innocent];
  for (const conversation of ids) {
    const input = guilty.includes(conversation) ? 'guilty' : 'innocent';
    await fixture.client.enqueueTurn({ conversation, agent: 'guide', turn: 't1', input });
  }
  onTestFinished(keepWorking(fixture, ids));
  const views = await Promise.all(
    ids.map(async (id) => ({ id, ...(await settled(fixture, id, 't1', SETTLED_WITHIN_MS)) })),
  );
  const runs = await fixture.redis.hgetall('runs');
  return {
    poisoned: views.filter(({ failure }) => failure?.code === 'poison').map(({ id }) => id),
    completed: views.filter(({ state }) => state === 'completed').map(({ id }) => id),
    runs: Object.fromEntries(Object.entries(runs).map(([id, count]) => [id, Number(count)])),
  };
}

function name(kind: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${kind}${index + 1}`);
}

it(
  'a tool that kills its process runs three times, and no other turn fails as poison',
  async () => {
    const [guilty, innocent] = [name('bad', 1), name('good', 6)];
    const { poisoned, completed, runs } = await play(guilty, innocent);
    expect({ poisoned, completed }).toEqual({ poisoned: guilty, completed: innocent });
    expect(runs).toEqual({ bad1: TURN_LIMITS.maxAttempts });
  },
  TEST_MS,
);

it(
  'only turns whose tools kill the process fail as poison, although many turns share the process',
  async () => {
    const [guilty, innocent] = [name('bad', 3), name('good', 12)];
    const { poisoned, completed, runs } = await play(guilty, innocent);
    expect({ poisoned, completed }).toEqual({ poisoned: guilty, completed: innocent });
    // One may die of another before its tool runs: that is an attempt, too.
    for (const id of guilty) expect(runs[id], id).toBeLessThanOrEqual(TURN_LIMITS.maxAttempts);
  },
  TEST_MS,
);
