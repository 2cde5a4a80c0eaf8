import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { identifyServer, withConnection } from '../../src/host/local-redis/connection.ts';
import type { LocalRedis } from '../../src/host/local-redis/local-redis.ts';
import { findOnPath } from '../../src/host/local-redis/local-server.ts';
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';
import { isGone } from '../local-redis/fixture.ts';
import { hasServer } from '../redis-modes/servers.ts';
import { readRedisSource } from '../setup/redis-source.ts';
import { openHeldModel } from './held-model.ts';
import { openOwnRedis } from './own-redis.ts';
import { endOf, runTurnfold, spawnTurnfold, startTurnfold, writeTemporary } from './run-turnfold.ts';
import { AGENTS, startWorkerProcess } from './worker-process.ts';

let redis: LocalRedis;
beforeAll(async () => {
  redis = await provideRedis(readRedisSource());
});
afterAll(() => redis.stop());

/** Starts another Redis on the port of one that died. It ends with the test. */
async function startOnPort(port: string): Promise<void> {
  const binary = await findOnPath(['redis-server', 'valkey-server'], process.env['PATH'] ?? '');
  if (binary === undefined) throw new Error('no redis-server on PATH');
  const server = spawn(binary, ['--port', port, '--bind', '127.0.0.1', '--save', ''], { stdio: 'ignore' });
  onTestFinished(() => void server.kill('SIGKILL'));
}

async function exitCodeOf(dev: ChildProcess): Promise<number | null> {
  dev.stdout?.resume();
  if (dev.exitCode === null) await once(dev, 'exit');
  return dev.exitCode;
}

test('a worker answers turns until SIGTERM, then exits with 0', async () => {
  const env = { REDIS_URL: redis.url };
  const worker = startWorkerProcess(env);
  const started = await worker.untilLogged('worker started');
  expect(started).toMatchObject({ roles: ['turn', 'compaction', 'summarization'] });
  const metrics = await fetch(String(started['metrics']));
  expect(await metrics.text()).toContain('turnfold_');

  const run = await runTurnfold(['enqueue', 'w1', 'hello', '--agent', 'workspace', '--wait', '20'], { env });
  expect(run).toMatchObject({ code: 0, stderr: '' });
  expect(await worker.stop()).toBe(0);
});

test('turnfold enqueue --wait prints a command that continues to wait if no worker answers in time', async () => {
  const args = ['enqueue', 'w2', 'hello', '--agent', 'workspace', '--turn', 't1', '--wait', '0.2'];
  const run = await runTurnfold(args, { env: { REDIS_URL: redis.url } });
  expect(run).toMatchObject({ code: 1, stdout: 't1  queued\n' });
  expect(run.stderr).toContain('turn not settled within 0.2 s. To keep waiting, run: turnfold result w2 t1 --wait 0.2');
});

test('a worker processes only the jobs of its --roles, and exits with 0 after SIGINT', async () => {
  const worker = startWorkerProcess({ REDIS_URL: redis.url }, AGENTS, '--roles', 'compaction, summarization');
  expect(await worker.untilLogged('worker started')).toMatchObject({ roles: ['compaction', 'summarization'] });
  worker.process.kill('SIGINT');
  expect(await worker.untilExit()).toBe(0);
});

describe('a worker while Redis is away', () => {
  test('a worker that never reached Redis exits with 0 after SIGTERM', async () => {
    const worker = startWorkerProcess({ REDIS_URL: 'redis://127.0.0.1:1' });
    await worker.untilLogged('worker failed');
    expect(await worker.stop()).toBe(0);
  });

  test.skipIf(!hasServer)('a worker logs one line when Redis goes away and one when Redis is back', async () => {
    const own = await openOwnRedis();
    const worker = startWorkerProcess({ REDIS_URL: own.url });
    await worker.untilLogged('worker started');
    process.kill(own.pid, 'SIGKILL');
    await worker.untilLogged('worker failed');
    await startOnPort(new URL(own.url).port);
    const back = await worker.untilLogged('redis is back');
    expect(back).toMatchObject({ level: 'info', awayMs: expect.any(Number) as number });
    const run = await runTurnfold(['enqueue', 'w3', 'hello', '--agent', 'workspace', '--wait', '20'], {
      env: { REDIS_URL: own.url },
    });
    expect(run).toMatchObject({ code: 0 });
    await worker.stop();
    expect(worker.lines.filter(({ event }) => event === 'worker_failed')).toHaveLength(1);
  });

  test('a worker that lost Redis for good exits with 75 long before its shutdown deadline', async () => {
    const own = await openOwnRedis();
    const model = await openHeldModel();
    // A deadline longer than the time limit of any test.
    const worker = startWorkerProcess({ REDIS_URL: own.url, TURNFOLD_SHUTDOWN_MS: '600000' }, model.agents);
    await worker.untilLogged('worker started');
    // A worker without a lease may stop before it notices that Redis is lost.
    await runTurnfold(['enqueue', 'w4', 'hello', '--agent', 'held'], { env: { REDIS_URL: own.url } });
    await model.untilCalled(1);
    process.kill(own.pid, 'SIGKILL');
    await worker.untilLogged('worker failed');
    expect(await worker.stop(), 'the leases could not be handed back').toBe(75);
    expect(await worker.untilLogged('worker stopped')).toMatchObject({ outcome: 'deadline' });
  });

  test('an idle worker exits with 0 after SIGTERM while Redis is frozen', async () => {
    const own = await openOwnRedis();
    // A deadline that a busy machine does not reach while the worker gives up its last commands.
    const worker = startWorkerProcess({ REDIS_URL: own.url, TURNFOLD_SHUTDOWN_MS: '60000' });
    await worker.untilLogged('worker started');
    process.kill(own.pid, 'SIGSTOP');
    onTestFinished(() => void process.kill(own.pid, 'SIGCONT'));
    expect(await worker.stop()).toBe(0);
  });
});

describe('a worker refuses to start', () => {
  test.each<[string, string, string]>([
    ['a number instead of a list', 'export const agents = 5;', 'invalid_config: --agents: '],
    ['an empty list', 'export const agents = [];', 'invalid_config: --agents: expected at least one agent'],
    [
      'an agent without a model',
      "export const agents = [{ name: 'a', system: '', tools: [], policy: {} }];",
      'agents.a.model',
    ],
    ['a syntax error', 'export const = 5;', 'invalid_config: --agents: '],
    ['an error at import', "throw new Error('out of reach');", 'out of reach'],
  ])('a worker does not start with an agents module that has %s', async (_, source, words) => {
    const agents = await writeTemporary('agents.ts', source);
    const run = await runTurnfold(['worker', '--agents', agents], { env: { REDIS_URL: redis.url } });
    expect(run).toMatchObject({ code: 1, stdout: '' });
    expect(run.stderr).toMatch(/^turnfold: invalid_config: /);
    expect(run.stderr).toContain(words);
  });

  test.each<[string, string[], Record<string, string>]>([
    ['--agents', ['worker', '--agents', '/nowhere/agents.ts'], { REDIS_URL: 'redis://127.0.0.1:1' }],
    ['REDIS_URL', ['worker', '--agents', AGENTS], {}],
    ['--roles', ['worker', '--agents', AGENTS, '--roles', 'turn,cook'], {}],
    ['TURNFOLD_LOG_LEVEL', ['worker', '--agents', AGENTS], { TURNFOLD_LOG_LEVEL: 'loud' }],
  ])(
    'a worker with an invalid or missing %s does not start, and the error names that setting',
    async (field, args, env) => {
      const run = await runTurnfold(args, { env });
      expect(run).toMatchObject({ code: 1, stdout: '' });
      expect(run.stderr.startsWith(`turnfold: invalid_config: ${field}: `)).toBe(true);
    },
  );

  test('a worker does not start on a metrics port that another process uses, and names the setting', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const run = await runTurnfold(['worker', '--agents', AGENTS], {
      env: { REDIS_URL: redis.url, TURNFOLD_METRICS_PORT: String(port) },
    });
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(/^turnfold: invalid_config: TURNFOLD_METRICS_PORT: .*EADDRINUSE/);
  });

  test('a worker does not start with a policy that cannot work for an agent, and the error names the policy and the agent', async () => {
    const policy = await writeTemporary('policy.yaml', 'hard_ratio: 0.1');
    const run = await runTurnfold(['worker', '--agents', AGENTS, '--policy', policy], {
      env: { REDIS_URL: redis.url },
    });
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(/^turnfold: invalid_policy: agents\.workspace: tokenThreshold: /);
  });
});

describe('dev', () => {
  const talk = (input: string, ...args: string[]) => spawnTurnfold(['dev', ...args], { input });

  test('turnfold dev answers the lines of a pipe in order, runs slash commands, and ends at /quit', async () => {
    const input = ['list src/jobs', '/show', '/versions', '/compact', '/bogus', '', '/quit', 'never said'].join('\n');
    const { code, stdout } = await talk(input, '--conversation', 'd1');
    expect(code).toBe(0);
    const said = [
      'agents   workspace',
      'queues.ts',
      'd1  version 0, head 4',
      'no version yet',
      'no new version',
      '/bogus',
    ];
    const places = said.map((text) => stdout.indexOf(text));
    expect(places).not.toContain(-1);
    expect(places).toStrictEqual(places.toSorted((a, b) => a - b));
    expect(stdout).not.toContain('never said');
    expect(stdout).not.toContain('workspace> ');
  });

  test('turnfold dev ends when its input ends', async () => {
    const { code, stdout } = await talk('hello', '--conversation', 'd2');
    expect(code).toBe(0);
    expect(stdout).toContain('Ask me:');
  });

  test('turnfold dev refuses an unknown --agent and lists the known agents', async () => {
    const { code, stderr } = await talk('hello', '--agent', 'nobody');
    expect(code).toBe(1);
    expect(stderr).toMatch(/invalid_config: --agent: .*workspace/);
  });
});

describe('a signal to a command that runs all in one process', () => {
  const GONE = { timeout: 60_000, interval: 20 };

  /** Address of the temporary Redis of `dev`, once its prompt is ready. */
  async function untilReady(dev: ChildProcess): Promise<{ pid: number; dataDir: string }> {
    if (dev.stdout === null) throw new Error('its output is not piped');
    const port = /port (\d+)$/.exec(await untilLine(dev.stdout, 'Redis '))?.[1];
    return await withConnection({ url: `redis://127.0.0.1:${port}` }, 5_000, async (client) => {
      const [, dataDir = ''] = await client.config('GET', 'dir');
      return { pid: (await identifyServer(client)).pid ?? 0, dataDir };
    });
  }

  async function untilLine(stream: Readable, start: string): Promise<string> {
    const lines = createInterface({ input: stream });
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    lines.on('line', (line) => line.startsWith(start) && resolve(line));
    lines.once('close', () => reject(new Error(`it ended without saying: ${start}`)));
    return await promise;
  }

  test('SIGTERM to dev stops its temporary Redis before dev exits', async () => {
    const dev = startTurnfold(['dev']);
    const server = await untilReady(dev);
    const said = dev.stderr === null ? '' : readText(dev.stderr);
    dev.kill('SIGTERM');
    expect(await exitCodeOf(dev)).toBe(143);
    // Without a stop the server ends too, but later than its parent.
    expect(isGone(server)).toBe(true);
    expect(await said).toContain('stopping (a second signal ends the process at once)\n');
  });

  test('SIGINT to dev without a running turn ends dev without an error', async () => {
    const dev = startTurnfold(['dev']);
    if (dev.stdout === null || dev.stderr === null) throw new Error('its output is not piped');
    const said = readText(dev.stderr);
    await untilLine(dev.stdout, 'Type a message');
    dev.kill('SIGINT');
    expect(await exitCodeOf(dev)).toBe(0);
    expect(await said).not.toContain('turnfold: ');
  });

  test('SIGINT cancels the turn of dev, and a second one ends dev without an error', async () => {
    const agents = await writeTemporary('agents.ts', SILENT);
    const dev = startTurnfold(['dev', '--agents', agents]);
    if (dev.stdout === null || dev.stderr === null) throw new Error('its output is not piped');
    dev.stdin?.write('hello\n');
    await untilLine(dev.stdout, 'called');
    dev.kill('SIGINT');
    await untilLine(dev.stderr, '(canceling');
    dev.kill('SIGINT');
    expect(await exitCodeOf(dev)).toBe(0);
  });

  const SILENT = `export const agents = [{ name: 'silent', system: '', tools: [], policy: {}, model: {
    profile: { id: 'silent', encoding: 'o200k_base', windowTokens: 32000, outputCapTokens: 4096, upperBoundFactor: 1 },
    generate() { console.log('called'); return new Promise(() => undefined); },
  } }];`;

  test('a second SIGTERM ends dev at once, in spite of a long shutdown deadline', async () => {
    const agents = await writeTemporary('agents.ts', SILENT);
    const dev = startTurnfold(['dev', '--agents', agents], { TURNFOLD_SHUTDOWN_MS: '600000' });
    if (dev.stdout === null || dev.stderr === null) throw new Error('its output is not piped');
    const server = await untilReady(dev);
    dev.stdin?.write('hello\n');
    await untilLine(dev.stdout, 'called');
    dev.kill('SIGTERM');
    await untilLine(dev.stderr, 'stopping');
    dev.kill('SIGTERM');
    await exitCodeOf(dev);
    expect(dev.signalCode).toBe('SIGTERM');
    await expect.poll(() => isGone(server), GONE).toBe(true);
  });

  test('SIGINT ends the demo in the middle of its turns with exit code 130', async () => {
    const demo = startTurnfold(['demo', '--json']);
    if (demo.stderr === null) throw new Error('its output is not piped');
    await untilLine(demo.stderr, 'turn   3/');
    demo.kill('SIGINT');
    expect(await exitCodeOf(demo)).toBe(130);
  });
});

test('the process of turnfold help exits with 0', async () => {
  expect(await endOf(startTurnfold(['help', 'worker']))).toMatchObject({ code: 0 });
});
