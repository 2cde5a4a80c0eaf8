import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { identifyServer, withConnection } from '../../src/local-redis/connection.ts';
import type { LocalRedis } from '../../src/local-redis/local-redis.ts';
import { findOnPath } from '../../src/local-redis/local-server.ts';
import { provideRedis } from '../../src/local-redis/provide-redis.ts';
import { isGone } from '../local-redis/fixture.ts';
import { readRedisSource } from '../setup/redis-source.ts';
import { endOf, runTurnfold, startTurnfold, writeTemporary } from './run-turnfold.ts';

let redis: LocalRedis;
beforeAll(async () => {
  redis = await provideRedis(readRedisSource());
});
afterAll(() => redis.stop());

const AGENTS = fileURLToPath(new URL('../setup/workspace-agents.ts', import.meta.url));

function startWorker(env: Readonly<Record<string, string>>, ...args: string[]): ChildProcess {
  return startTurnfold(['worker', '--agents', AGENTS, ...args], env);
}

interface Log {
  /** Log lines so far. */
  readonly lines: readonly Record<string, unknown>[];
  /** the next line that says so */
  readonly until: (what: string) => Promise<Record<string, unknown>>;
}

function readLog(worker: ChildProcess): Log {
  if (worker.stdout === null) throw new Error('its output is not piped');
  const lines: Record<string, unknown>[] = [];
  const source = createInterface({ input: worker.stdout })[Symbol.asyncIterator]();
  return {
    lines,
    async until(what) {
      for (;;) {
        const { done, value } = await source.next();
        if (done) throw new Error(`it ended without saying: ${what}`);
        const line = JSON.parse(value) as Record<string, unknown>;
        lines.push(line);
        if (value.includes(what)) return line;
      }
    },
  };
}

/** A Redis where another was. It ends with the test. */
async function startOnPort(port: string): Promise<void> {
  const binary = await findOnPath(['redis-server', 'valkey-server'], process.env['PATH'] ?? '');
  if (binary === undefined) throw new Error('no redis-server on PATH');
  const server = spawn(binary, ['--port', port, '--bind', '127.0.0.1', '--save', ''], { stdio: 'ignore' });
  onTestFinished(() => void server.kill('SIGKILL'));
}

/** The first log line with this text. Later lines are not read. */
async function untilSaid(worker: ChildProcess, what: string): Promise<Record<string, unknown>> {
  return await readLog(worker).until(what);
}

async function exitCodeOf(worker: ChildProcess): Promise<number | null> {
  worker.stdout?.resume();
  if (worker.exitCode === null) await once(worker, 'exit');
  return worker.exitCode;
}

test('answers turns until SIGTERM, then exits with 0', async () => {
  const env = { REDIS_URL: redis.url };
  const worker = startWorker(env);
  const started = await untilSaid(worker, 'worker started');
  expect(started).toMatchObject({ roles: ['turn', 'compaction', 'summarization'] });
  const metrics = await fetch(String(started['metrics']));
  expect(await metrics.text()).toContain('turnfold_');

  const run = await runTurnfold(['enqueue', 'w1', 'hello', '--agent', 'workspace', '--wait', '20'], { env });
  expect(run).toMatchObject({ code: 0, stderr: '' });
  worker.kill('SIGTERM');
  expect(await exitCodeOf(worker)).toBe(0);
});

test('without a worker, a waiting command prints how to continue', async () => {
  const args = ['enqueue', 'w2', 'hello', '--agent', 'workspace', '--turn', 't1', '--wait', '0.2'];
  const run = await runTurnfold(args, { env: { REDIS_URL: redis.url } });
  expect(run).toMatchObject({ code: 1, stdout: 't1  queued\n' });
  expect(run.stderr).toContain('turn not settled within 0.2 s. To keep waiting, run: turnfold result w2 t1 --wait 0.2');
});

test('takes the roles that it is given', async () => {
  const worker = startWorker({ REDIS_URL: redis.url }, '--roles', 'compaction, summarization');
  expect(await untilSaid(worker, 'worker started')).toMatchObject({ roles: ['compaction', 'summarization'] });
  worker.kill('SIGINT');
  expect(await exitCodeOf(worker)).toBe(0);
});

describe('with Redis away', () => {
  test('since before its start: SIGTERM ends it', async () => {
    const worker = startWorker({ REDIS_URL: 'redis://127.0.0.1:1' });
    await untilSaid(worker, 'worker failed');
    worker.kill('SIGTERM');
    expect(await exitCodeOf(worker)).toBe(0);
  });

  test('for a while: one line for the outage and one for its end', async ({ skip }) => {
    const own = await provideRedis({ sources: ['path'] }).catch((error: Error) => error);
    if (own instanceof Error || own.pid === undefined) return skip('no Redis here that may be killed');
    onTestFinished(() => own.stop());
    const worker = startWorker({ REDIS_URL: own.url });
    const log = readLog(worker);
    await log.until('worker started');
    process.kill(own.pid, 'SIGKILL');
    await log.until('worker failed');
    await startOnPort(new URL(own.url).port);
    expect(await log.until('redis is back')).toMatchObject({ level: 'info', awayMs: expect.any(Number) as number });
    const run = await runTurnfold(['enqueue', 'w3', 'hello', '--agent', 'workspace', '--wait', '20'], {
      env: { REDIS_URL: own.url },
    });
    expect(run).toMatchObject({ code: 0 });
    worker.kill('SIGTERM');
    await log.until('worker stopped');
    expect(log.lines.filter(({ event }) => event === 'worker_failed')).toHaveLength(1);
  });

  // Without it the test would last as long as the deadline, which is more than any test may take.
  test('for good: SIGTERM ends it long before its deadline', async ({ skip }) => {
    const own = await provideRedis({ sources: ['path', 'package'] }).catch((error: Error) => error);
    if (own instanceof Error || own.pid === undefined) return skip('no Redis here that may be killed');
    onTestFinished(() => own.stop());
    const worker = startWorker({ REDIS_URL: own.url, TURNFOLD_SHUTDOWN_MS: '600000' });
    const lines = readLog(worker);
    await lines.until('worker started');
    process.kill(own.pid, 'SIGKILL');
    await lines.until('worker failed');
    worker.kill('SIGTERM');
    expect(await lines.until('worker stopped')).toMatchObject({ outcome: 'deadline' });
    expect(await exitCodeOf(worker), 'what it held could not be handed back').toBe(75);
  });

  test('since its start: SIGTERM ends it within its deadline', async ({ skip }) => {
    const own = await provideRedis({ sources: ['path', 'package'] }).catch((error: Error) => error);
    if (own instanceof Error || own.pid === undefined) return skip('no Redis here that may be frozen');
    onTestFinished(() => own.stop());
    const worker = startWorker({ REDIS_URL: own.url, TURNFOLD_SHUTDOWN_MS: '500' });
    await untilSaid(worker, 'worker started');
    process.kill(own.pid, 'SIGSTOP');
    onTestFinished(() => void process.kill(own.pid ?? 0, 'SIGCONT'));
    worker.kill('SIGTERM');
    expect(await exitCodeOf(worker)).toBe(0);
  });
});

describe('refuses wrong agents and policies before it claims anything', () => {
  test.each<[string, string, string]>([
    ['no list', 'export const agents = 5;', 'invalid_config: --agents: '],
    ['an empty list', 'export const agents = [];', 'invalid_config: --agents: expected at least one agent'],
    ['no model', "export const agents = [{ name: 'a', system: '', tools: [], policy: {} }];", 'agents.a.model'],
    ['what does not parse', 'export const = 5;', 'invalid_config: --agents: '],
    ['what throws', "throw new Error('out of reach');", 'out of reach'],
  ])('a module of agents with %s', async (_, source, words) => {
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
  ])('%s', async (field, args, env) => {
    const run = await runTurnfold(args, { env });
    expect(run).toMatchObject({ code: 1, stdout: '' });
    expect(run.stderr.startsWith(`turnfold: invalid_config: ${field}: `)).toBe(true);
  });

  test('TURNFOLD_METRICS_PORT: a port that another process has', async () => {
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

  test('a policy that cannot work with an agent', async () => {
    const policy = await writeTemporary('policy.yaml', 'hard_ratio: 0.1');
    const run = await runTurnfold(['worker', '--agents', AGENTS, '--policy', policy], {
      env: { REDIS_URL: redis.url },
    });
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(/^turnfold: invalid_policy: agents\.workspace: tokenThreshold: /);
  });
});

describe('dev', () => {
  const talk = (input: string, ...args: string[]) => runTurnfold(['dev', ...args], { input });

  test('answers the lines of a pipe in order, looks inside, and ends on /quit', async () => {
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

  test('ends with its input', async () => {
    const { code, stdout } = await talk('hello', '--conversation', 'd2');
    expect(code).toBe(0);
    expect(stdout).toContain('Ask me:');
  });

  test('an agent that it does not have is refused, with those that it has', async () => {
    const { code, stderr } = await talk('hello', '--agent', 'nobody');
    expect(code).toBe(1);
    expect(stderr).toMatch(/invalid_config: --agent: .*workspace/);
  });
});

describe('a signal to what runs in one process', () => {
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

  test('SIGTERM closes all that dev has opened, and then ends it', async () => {
    const dev = startTurnfold(['dev']);
    const server = await untilReady(dev);
    const said = dev.stderr === null ? '' : readText(dev.stderr);
    dev.kill('SIGTERM');
    expect(await exitCodeOf(dev)).toBe(143);
    // Without a stop the server ends too, but later than its parent.
    expect(isGone(server)).toBe(true);
    expect(await said).toContain('stopping (a second signal ends the process at once)\n');
  });

  test('SIGINT without a turn ends dev without an error', async () => {
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

  test('a second one waits for nothing', async () => {
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

  test('the demo ends in the middle of its turns', async () => {
    const demo = startTurnfold(['demo', '--json']);
    if (demo.stderr === null) throw new Error('its output is not piped');
    await untilLine(demo.stderr, 'turn   3/');
    demo.kill('SIGINT');
    expect(await exitCodeOf(demo)).toBe(130);
  });
});

test('help is there without anything', async () => {
  expect(await endOf(startTurnfold(['help', 'worker']))).toMatchObject({ code: 0 });
});
