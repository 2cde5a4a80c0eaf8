import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { LocalRedis } from '../../src/local-redis/local-redis.ts';
import { provideRedis } from '../../src/local-redis/provide-redis.ts';
import { endOf, runTurnfold, startTurnfold, writeTemporary } from './run-turnfold.ts';

let redis: LocalRedis;
beforeAll(async () => {
  redis = await provideRedis(process.env['TEST_REDIS'] === 'container' ? { sources: ['container'] } : {});
});
afterAll(() => redis.stop());

const AGENTS = fileURLToPath(new URL('../../src/demo/agents.ts', import.meta.url));

function startWorker(env: Readonly<Record<string, string>>, ...args: string[]): ChildProcess {
  return startTurnfold(['worker', '--agents', AGENTS, ...args], env);
}

/** The first log line that says so. */
async function untilSaid(worker: ChildProcess, what: string): Promise<Record<string, unknown>> {
  if (worker.stdout === null) throw new Error('its output is not piped');
  for await (const line of createInterface({ input: worker.stdout })) {
    if (line.includes(what)) return JSON.parse(line) as Record<string, unknown>;
  }
  throw new Error(`it ended without saying: ${what}`);
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

test('with no worker there, a caller that waits is told how to go on', async () => {
  const args = ['enqueue', 'w2', 'hello', '--agent', 'workspace', '--turn', 't1', '--wait', '0.2'];
  const run = await runTurnfold(args, { env: { REDIS_URL: redis.url } });
  expect(run).toMatchObject({ code: 1, stdout: 't1  queued\n' });
  expect(run.stderr).toContain('not settled within 0.2 s; the same call with --turn t1 goes on waiting');
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

describe('what it cannot work with is refused before anything is taken', () => {
  test.each<[string, string, string]>([
    ['no list', 'export const agents = 5;', 'invalid_config: agents: '],
    ['an empty list', 'export const agents = [];', 'invalid_config: agents: expected at least one agent'],
    ['no model', "export const agents = [{ name: 'a', system: '', tools: [], policy: {} }];", 'agents[0].model'],
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

  test('a policy that cannot work with an agent', async () => {
    const policy = await writeTemporary('policy.yaml', 'hard_ratio: 0.1');
    const run = await runTurnfold(['worker', '--agents', AGENTS, '--policy', policy], {
      env: { REDIS_URL: redis.url },
    });
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(/^turnfold: invalid_policy: tokenThreshold: /);
  });
});

describe('dev', () => {
  const talk = (input: string, ...args: string[]) =>
    runTurnfold(['dev', ...args], { input, env: { REDIS_URL: redis.url } });

  test('answers the lines of a pipe in order, looks inside, and ends on /quit', async () => {
    const input = ['list src/jobs', '/show', '/versions', '/compact', '/bogus', '', '/quit', 'never said'].join('\n');
    const { code, stdout } = await talk(input, '--conversation', 'd1');
    expect(code).toBe(0);
    const said = [
      'agents   workspace',
      'names.ts',
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

  test('a Redis that does not answer is said with what to do', async () => {
    const run = await runTurnfold(['dev'], { env: { REDIS_URL: 'redis://127.0.0.1:1' } });
    expect(run).toMatchObject({ code: 1, stdout: '' });
    expect(run.stderr).toMatch(/^turnfold: redis_unreachable: .*\nStart it, /);
  });
});

test('help is there without anything', async () => {
  expect(await endOf(startTurnfold(['help', 'worker']))).toMatchObject({ code: 0 });
});
