import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, test, vi } from 'vitest';
import { findClosedPort } from '../local-redis/fixture.ts';
import { startSentinels } from '../redis-modes/sentinels.ts';
import { hasServer, type Server } from '../redis-modes/servers.ts';
import { startSixNodes } from '../redis-modes/six-nodes.ts';
import { endOf, readJsonLines, runTurnfold, spawnTurnfold, startTurnfold, writeTemporary } from './run-turnfold.ts';
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts';

const SOURCE = fileURLToPath(new URL('../../src', import.meta.url));
/** The built-in agent, and one that streams its answer for two seconds. */
const AGENTS = `
  import { setTimeout as delay } from 'node:timers/promises';
  import { agents as shown } from '${SOURCE}/../test/setup/workspace-agents.ts';
  import { scriptedModel } from '${SOURCE}/providers/scripted.ts';
  async function* speak() {
    for (let count = 1; count <= 20; count += 1) {
      await delay(100);
      yield \`\${count} \`;
    }
  }
  const model = scriptedModel({ decide: () => ({ content: speak() }) });
  export const agents = [...shown, { name: 'speaker', system: '', tools: [], policy: {}, model }];`;
/** Leaves time for a failover. */
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

async function startWorker(redisUrl: string): Promise<WorkerProcess> {
  return startWorkerProcess(
    { REDIS_URL: redisUrl, TURNFOLD_MISSING_AGENT_MS: '0' },
    await writeTemporary('agents.ts', AGENTS),
  );
}

describe.skipIf(!hasServer).each(modes)('over %s (skipped where PATH has no server)', (_, start) => {
  test('commands and a worker work before and after a Redis failover', { timeout: 240_000 }, async () => {
    const { url, master, expectDeath } = await start();
    const turnfold = (...args: string[]) => runTurnfold(args, { env: { REDIS_URL: url } });
    const worker = await startWorker(url);
    const succeed = async (...args: string[]): Promise<string> => {
      const run = await turnfold(...args);
      const said = [args.join(' '), run.stderr, JSON.stringify(worker.lines)].join('\n');
      expect({ code: run.code, stderr: run.stderr }, said).toEqual({ code: 0, stderr: '' });
      return run.stdout;
    };
    await worker.untilLogged('worker started');
    const parts = readJsonLines(await succeed('enqueue', 'c1', 'count', '--agent', 'speaker', '--stream', '--json'));
    expect(parts.filter(({ type }) => type === 'text').length).toBeGreaterThan(5);
    expect(parts.at(-1)).toMatchObject({ type: 'end', view: { state: 'completed' } });
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
    // On a busy machine, a connection may still look for the new master: then the worker gives up on it (75).
    expect([0, 75]).toContain(await worker.stop());

    const dev = await spawnTurnfold(['dev'], { input: 'list src/jobs\n/quit\n', env: { REDIS_URL: url } });
    expect(dev.code, dev.stderr).toBe(0);
    expect(dev.stdout, 'and starts none of its own').toContain(`at ${url}`);
    expect(dev.stdout).toContain('queues.ts');
  });
});

test.skipIf(!hasServer)(
  'turnfold dev that starts during a failover waits for the next master and then answers',
  async () => {
    const { url, master, expectDeath } = await startSentinels();
    master.signal('SIGKILL');
    const child = startTurnfold(['dev'], { REDIS_URL: url });
    child.stdin?.end('list src/jobs\n/quit\n');
    const ended = endOf(child);
    // On a busy machine, a failover may take less time than the start of a process.
    await Promise.race([once(child.stderr ?? child, 'data'), ended]);
    expectDeath();
    const dev = await ended;
    expect(dev.code, dev.stderr).toBe(0);
    expect(dev.stderr).toMatch(/^the Redis at \S+ does not answer, retrying for up to 30 s/);
    expect(dev.stdout).toContain('queues.ts');
  },
);

describe.each(['redis+sentinel', 'redis+cluster'])('if no node of %s answers', (scheme) => {
  async function findAbsent(): Promise<{ readonly url: string; readonly nodes: string }> {
    const nodes = `127.0.0.1:${await findClosedPort()},127.0.0.1:${await findClosedPort()}`;
    return { url: `${scheme}://me:hush@${nodes}${scheme.endsWith('l') ? '/main' : ''}`, nodes };
  }

  test('a command waits, then fails with the addresses of the nodes and without the password', async () => {
    const { url, nodes } = await findAbsent();
    for (const command of [['show', 'c1'], ['dev']]) {
      const run = await runTurnfold(command, { env: { REDIS_URL: url }, keepsWaitNote: true });
      expect(run.code).toBe(1);
      expect(run.stderr).toMatch(
        /^the Redis at .* does not answer, retrying for up to \d+ s\nturnfold: redis_un(available|reachable): /,
      );
      expect(run.stderr).toContain(`${scheme}://***@${nodes}`);
      expect(run.stderr).not.toContain('hush');
    }
  });

  test('a worker keeps waiting and logs the nodes once, without the password', async () => {
    const { url, nodes } = await findAbsent();
    const worker = await startWorker(url);
    await worker.untilLogged('worker_failed');
    expect(JSON.stringify(worker.lines[0])).toContain(`${scheme}://[redacted]@${nodes}`);
    expect(JSON.stringify(worker.lines)).not.toContain('hush');
    expect(await worker.stop()).toBe(0);
    expect(worker.lines.filter(({ event }) => event === 'worker_failed')).toHaveLength(1);
  });
});
