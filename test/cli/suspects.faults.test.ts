import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { type OpenClient, openClient } from '../../src/api/client/index.ts';
import { openOwnRedis } from './own-redis.ts';
import { writeTemporary } from './run-turnfold.ts';
import { type LogLine, startWorkerProcess, type WorkerProcess } from './worker-process.ts';

const AGENTS = fileURLToPath(new URL('./crashing-agents.ts', import.meta.url));
const SETTLED_MS = 240_000;
const TEST_MS = 300_000;
const HEALTHY = Array.from({ length: 8 }, (_, index) => `good${index + 1}`);

interface Run {
  readonly conversation: string;
  readonly tool: string;
  readonly pid: number;
  readonly isChild: boolean;
}

interface World {
  readonly client: OpenClient;
  /** Worker processes so far. Each is started when the one before has ended. */
  readonly workers: readonly WorkerProcess[];
  /** The worker that was started last, once another process has become its child. */
  readonly untilChild: () => Promise<{ readonly worker: WorkerProcess; readonly pid: number }>;
  readonly runs: () => Run[];
  /** The lines that have come so far. A line may come after the result of which it tells. */
  readonly log: () => LogLine[];
  /** Waits for a line with these fields. */
  readonly untilLogged: (fields: LogLine) => Promise<void>;
  /** Lets the tool `hold` return. */
  readonly release: () => void;
  readonly enqueue: (conversation: string, input: string) => Promise<unknown>;
  /** Waits until the turn is settled. @returns its state, or the code of its failure */
  readonly outcome: (conversation: string) => Promise<string>;
}

/** Keeps one worker running, as an orchestrator does. */
async function openWorld(env: Readonly<Record<string, string>> = {}): Promise<World> {
  const redis = await openOwnRedis();
  const runsFile = await writeTemporary('runs', '');
  const releaseFile = `${runsFile}.release`;
  const settings = { REDIS_URL: redis.url, RUNS_FILE: runsFile, RELEASE_FILE: releaseFile, ...env };
  const client = await openClient({ redisUrl: redis.url });
  onTestFinished(() => client.close());
  const workers: WorkerProcess[] = [];
  const over = new AbortController();
  const keepWorking = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const worker = startWorkerProcess(settings, AGENTS);
      workers.push(worker);
      await once(worker.process, 'exit');
    }
  };
  void keepWorking();
  onTestFinished(() => {
    over.abort();
    workers.at(-1)?.process.kill('SIGKILL');
  });
  const runs = (): Run[] => {
    const lines = readFileSync(runsFile, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => {
      const [conversation = '', tool = '', pid, place] = line.split(' ');
      return { conversation, tool, pid: Number(pid), isChild: place === 'child' };
    });
  };
  const log = (): LogLine[] => workers.flatMap(({ lines }) => lines);
  return {
    client,
    workers,
    runs,
    log,
    async untilLogged(fields) {
      await expect.poll(log, { timeout: 30_000 }).toContainEqual(expect.objectContaining(fields));
    },
    release: () => writeFileSync(releaseFile, ''),
    enqueue: (conversation, input) => client.enqueueTurn({ conversation, agent: 'guide', turn: 't1', input }),
    async outcome(conversation) {
      const view = await client.result(conversation, 't1', { waitMs: SETTLED_MS });
      return view.state === 'failed' ? view.failure.code : view.state;
    },
    async untilChild() {
      await expect.poll(() => runs().some(({ isChild }) => isChild), { timeout: 60_000, interval: 50 }).toBe(true);
      const { pid = 0 } = runs().find(({ isChild }) => isChild) ?? {};
      return { worker: workers.at(-1) as WorkerProcess, pid };
    },
  };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function untilGone(pid: number): Promise<void> {
  await expect.poll(() => isAlive(pid), { timeout: 30_000, interval: 50 }).toBe(false);
}

/** Conversations whose turn a worker handed back. */
function handedBack(log: readonly LogLine[]): unknown[] {
  return log.filter(({ msg }) => String(msg).includes('handed back')).map(({ conversation }) => conversation);
}

it.each(['exit', 'abort', 'throw', 'memory'])(
  'a turn whose tool kills its process by %s fails after its third death, in a child process, and no other turn is moved',
  async (tool) => {
    const world = await openWorld({ NODE_OPTIONS: '--max-old-space-size=256' });
    await Promise.all([...HEALTHY.map((id) => world.enqueue(id, 'wait wait')), world.enqueue('bad', tool)]);
    expect(await world.outcome('bad')).toBe('poison');
    expect(await Promise.all(HEALTHY.map((id) => world.outcome(id)))).toEqual(HEALTHY.map(() => 'completed'));
    const deaths = world.runs().filter(({ conversation }) => conversation === 'bad');
    const inChild = deaths.map(({ isChild }) => isChild);
    // On a busy machine, the lease may lapse before the death is reported. Then the turn dies once more, again alone.
    expect(inChild).toEqual([false, false, ...inChild.slice(2).map(() => true)]);
    expect(inChild.length).toBeGreaterThan(2);
    expect(world.workers, 'no worker died of the third run').toHaveLength(3);
    expect(handedBack(world.log())).toEqual([]);
    await world.untilLogged({ outcome: 'died', conversation: 'bad', turn: 't1' });
  },
  TEST_MS,
);

it(
  'a turn that blocks the event loop of its own child process fails as `poison`, and the child process ends',
  async () => {
    const world = await openWorld();
    await Promise.all([...HEALTHY.map((id) => world.enqueue(id, 'wait wait')), world.enqueue('bad', 'block')]);
    const { pid } = await world.untilChild();
    expect(await world.outcome('bad')).toBe('poison');
    await untilGone(pid);
    expect(await Promise.all(HEALTHY.map((id) => world.outcome(id)))).toEqual(HEALTHY.map(() => 'completed'));
    expect(world.workers).toHaveLength(3);
    await world.untilLogged({ outcome: 'blocked', conversation: 'bad' });
  },
  TEST_MS,
);

it(
  'a turn whose workers died twice for another reason completes in a child process, and the worker reports its steps',
  async () => {
    const world = await openWorld({ TURNFOLD_LOG_LEVEL: 'debug' });
    await world.enqueue('unlucky', 'unlucky wait');
    expect(await world.outcome('unlucky')).toBe('completed');
    expect(world.runs().map(({ tool, isChild }) => [tool, isChild])).toEqual([
      ['unlucky', false],
      ['unlucky', false],
      ['unlucky', true],
      ['wait', true],
    ]);
    const { pid = 0 } = world.runs().at(-1) ?? {};
    await untilGone(pid);
    await world.untilLogged({ msg: 'turn completed', conversation: 'unlucky' });
    const { lines = [] } = world.workers.at(-1) ?? {};
    const called = lines.filter(({ msg, outcome }) => msg === 'tool called' && outcome === 'done');
    expect(called.map(({ tool }) => tool)).toEqual(['unlucky', 'wait']);
  },
  TEST_MS,
);

it(
  'a turn that made progress in a child process gets three attempts again, each in a child process',
  async () => {
    const world = await openWorld();
    await world.enqueue('bad', 'unlucky exit');
    expect(await world.outcome('bad')).toBe('poison');
    const deaths = world.runs().filter(({ tool }) => tool === 'exit');
    expect(deaths.map(({ isChild }) => isChild)).toEqual([true, true, true]);
    expect(world.workers).toHaveLength(3);
  },
  TEST_MS,
);

it(
  'a worker that stops ends the child process of a turn, and another worker completes the turn',
  async () => {
    const world = await openWorld({ TURNFOLD_SHUTDOWN_MS: '2000', BROKEN_IN_CHILD: 'hides' });
    await world.enqueue('held', 'hold');
    const { worker, pid } = await world.untilChild();
    process.kill(pid, 'SIGTERM');
    await worker.stop();
    expect(isAlive(pid)).toBe(false);
    await expect.poll(() => handedBack(worker.lines)).toEqual(['held']);
    world.release();
    expect(await world.outcome('held')).toBe('completed');
  },
  TEST_MS,
);

it.each(['hold', 'block'])(
  'the child process of a turn ends after its worker was killed, even if the turn is in a tool that does %s',
  async (tool) => {
    const world = await openWorld();
    await world.enqueue('held', tool);
    const { worker, pid } = await world.untilChild();
    worker.process.kill('SIGKILL');
    await untilGone(pid);
    if (tool === 'block') return;
    world.release();
    expect(await world.outcome('held')).toBe('completed');
  },
  TEST_MS,
);

it(
  'a worker runs at most four suspects (turns whose workers died twice) at a time, and hands the others back for five seconds',
  async () => {
    const world = await openWorld();
    const ids = Array.from({ length: 6 }, (_, index) => `held${index + 1}`);
    await Promise.all(ids.map((id) => world.enqueue(id, 'hold')));
    const inChildren = (): Run[] => world.runs().filter(({ isChild }) => isChild);
    await expect.poll(() => inChildren().length, { timeout: 90_000, interval: 50 }).toBe(4);
    await expect.poll(() => new Set(handedBack(world.log())).size, { timeout: 30_000 }).toBe(2);
    expect(inChildren()).toHaveLength(4);
    world.release();
    for (const id of ids) expect(await world.outcome(id)).toBe('completed');
    expect(world.workers).toHaveLength(3);
  },
  TEST_MS,
);

it.each(['throws', 'exits'])(
  'if the agents module %s in the child process of a suspect, the suspect runs alone in the worker’s own process',
  async (way) => {
    const world = await openWorld({ BROKEN_IN_CHILD: way });
    await Promise.all([world.enqueue('bad', 'exit'), world.enqueue('unlucky', 'unlucky')]);
    expect(await Promise.all([world.outcome('bad'), world.outcome('unlucky')])).toEqual(['poison', 'completed']);
    expect(world.runs().every(({ isChild }) => !isChild)).toBe(true);
    await world.untilLogged({ level: 'error', outcome: 'not_started' });
  },
  TEST_MS,
);
