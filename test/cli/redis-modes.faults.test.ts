import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, test, vi } from 'vitest';
import { findClosedPort } from '../local-redis/fixture.ts';
import { startSentinels } from '../redis-modes/sentinels.ts';
import { hasServer, type Server } from '../redis-modes/servers.ts';
import { startSixNodes } from '../redis-modes/six-nodes.ts';
import { readJsonLines, runTurnfold, startTurnfold, writeTemporary } from './run-turnfold.ts';

const SOURCE = fileURLToPath(new URL('../../src', import.meta.url));
/** The agents to try workers with, and one that speaks long enough to be listened to. */
const AGENTS = `
  import { setTimeout as delay } from 'node:timers/promises';
  import { agents as shown } from '${SOURCE}/../test/setup/workspace-agents.ts';
  import { scriptedModel } from '${SOURCE}/models/scripted.ts';
  async function* speak() {
    for (let count = 1; count <= 20; count += 1) {
      await delay(100);
      yield \`\${count} \`;
    }
  }
  const model = scriptedModel({ decide: () => ({ content: speak() }) });
  export const agents = [...shown, { name: 'speaker', system: '', tools: [], policy: {}, model }];`;
/** A failover, and the second in which a command gives up. */
const GO_ON = { timeout: 60_000, interval: 100 };

interface Mode {
  readonly url: string;
  readonly master: Server;
  readonly expectDeath: () => void;
}

const modes: [name: string, start: () => Promise<Mode>][] = [
  ['Sentinels', startSentinels],
  [
    'a Cluster',
    async () => {
      const cluster = await startSixNodes();
      const { master } = await cluster.ownersOf('{tq0}');
      return { url: cluster.url, master, expectDeath: () => cluster.expectDeath(master) };
    },
  ],
];

interface Worker {
  readonly process: ChildProcess;
  /** Log lines so far. */
  readonly lines: readonly string[];
  readonly untilSaid: (what: string) => Promise<void>;
}

async function startWorker(redisUrl: string): Promise<Worker> {
  const agents = await writeTemporary('agents.ts', AGENTS);
  const worker = startTurnfold(['worker', '--agents', agents], { REDIS_URL: redisUrl });
  if (worker.stdout === null) throw new Error('its output is not piped');
  const lines: string[] = [];
  createInterface({ input: worker.stdout }).on('line', (line) => lines.push(line));
  return {
    process: worker,
    lines,
    untilSaid: (what) => vi.waitFor(() => expect(lines.join('\n')).toContain(what), GO_ON),
  };
}

async function stop({ process: worker }: Worker): Promise<number | null> {
  const exited = once(worker, 'exit');
  worker.kill('SIGTERM');
  await exited;
  return worker.exitCode;
}

describe.skipIf(!hasServer).each(modes)('over %s (skipped where PATH has no server)', (_, start) => {
  test('each command works before and after a failover', { timeout: 240_000 }, async () => {
    const { url, master, expectDeath } = await start();
    const turnfold = (...args: string[]) => runTurnfold(args, { env: { REDIS_URL: url } });
    const worker = await startWorker(url);
    const succeed = async (...args: string[]): Promise<string> => {
      const run = await turnfold(...args);
      const said = [args.join(' '), run.stderr, ...worker.lines].join('\n');
      expect(run, said).toMatchObject({ code: 0, stderr: '' });
      return run.stdout;
    };
    await worker.untilSaid('worker started');
    const parts = readJsonLines(await succeed('enqueue', 'c1', 'count', '--agent', 'speaker', '--stream', '--json'));
    expect(parts.filter(({ type }) => type === 'text').length).toBeGreaterThan(5);
    expect(parts.at(-1)).toMatchObject({ type: 'result', view: { state: 'completed' } });
    await succeed('redrive', 'c1');
    await succeed('fork', 'c1', 'c2');
    await succeed('restore', 'c2', '--version', '0', '--keep');
    expect(await succeed('versions', 'c2')).toContain('restore');
    expect(await turnfold('enqueue', 'c3', 'hello', '--agent', 'nobody', '--wait', '20')).toMatchObject({ code: 1 });
    expect(await succeed('failed')).toContain('unknown_agent');

    expectDeath();
    master.signal('SIGKILL');
    await vi.waitFor(() => succeed('enqueue', 'c4', 'hello', '--agent', 'speaker', '--turn', 't1'), GO_ON);
    expect(await succeed('enqueue', 'c4', 'hello', '--agent', 'speaker', '--turn', 't1', '--wait', '20')).toContain(
      '1 2 3',
    );
    expect(await stop(worker)).toBe(0);

    const dev = await runTurnfold(['dev'], { input: 'list src/jobs\n/quit\n', env: { REDIS_URL: url } });
    expect(dev.code, dev.stderr).toBe(0);
    expect(dev.stdout, 'and starts none of its own').toContain(`at ${url}`);
    expect(dev.stdout).toContain('queues.ts');
  });
});

test.skipIf(!hasServer)('dev that starts amid a failover waits for the next master, and talks then', async () => {
  const { url, master, expectDeath } = await startSentinels();
  expectDeath();
  master.signal('SIGKILL');
  const dev = await runTurnfold(['dev'], { input: 'list src/jobs\n/quit\n', env: { REDIS_URL: url } });
  expect(dev.code, dev.stderr).toBe(0);
  expect(dev.stderr).toMatch(/^the Redis at \S+ does not answer, retrying for up to 30 s/);
  expect(dev.stdout).toContain('queues.ts');
});

describe.each(['redis+sentinel', 'redis+cluster'])('names the nodes of %s if none answers', (scheme) => {
  async function findAbsent(): Promise<{ readonly url: string; readonly nodes: string }> {
    const nodes = `127.0.0.1:${await findClosedPort()},127.0.0.1:${await findClosedPort()}`;
    return { url: `${scheme}://me:hush@${nodes}${scheme.endsWith('l') ? '/main' : ''}`, nodes };
  }

  test('a command waits, then says so, with the nodes and without the password', async () => {
    const { url, nodes } = await findAbsent();
    for (const command of [['show', 'c1'], ['dev']]) {
      const run = await runTurnfold(command, { env: { REDIS_URL: url } });
      expect(run.code).toBe(1);
      expect(run.stderr).toMatch(
        /^the Redis at .* does not answer, retrying for up to \d+ s\nturnfold: redis_un(available|reachable): /,
      );
      expect(run.stderr).toContain(`${scheme}://***@${nodes}`);
      expect(run.stderr).not.toContain('hush');
    }
  });

  test('so does a worker, which waits for them', async () => {
    const { url, nodes } = await findAbsent();
    const worker = await startWorker(url);
    await worker.untilSaid('worker_failed');
    expect(worker.lines[0]).toContain(`${scheme}://[redacted]@${nodes}`);
    expect(worker.lines.join()).not.toContain('hush');
    expect(await stop(worker)).toBe(0);
    expect(worker.lines.filter((line) => line.includes('worker_failed'))).toHaveLength(1);
  });
});
