// Old and new workers side by side on one Redis: node test/upgrade/main.ts [commit], of which the old ones are (the last one).
// Needs git, tar and a Redis; takes about half a minute. Exit code 1 where a turn or a pass did not go on, or a kind did nothing.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type OpenClient, openClient } from '../../src/client/index.ts';
import { provideRedis } from '../../src/local-redis/provide-redis.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CONVERSATIONS = 12;
const TURNS = 24;
const WAIT_MS = 120_000;

/** What the workers of one program did, by their logs. */
interface Tally {
  turns: number;
  passes: number;
  failures: number;
}

/** Says what it looks up, at some length, so that passes of both kinds of workers have something to do. */
const agentsOf = (tree: string): string => `
  import { setTimeout as sleep } from 'node:timers/promises';
  import { z } from 'zod';
  import { scriptedModel } from '${tree}/src/models/scripted.ts';
  const look = { name: 'look', description: '', input: z.object({}), run: async () => ' word'.repeat(300) };
  const decide = async ({ messages }) => {
    await sleep(40);
    return messages.at(-1).role === 'tool'
      ? { content: 'seen' + ' word'.repeat(100) }
      : { content: 'I look.', toolCalls: [{ name: 'look', arguments: {} }] };
  };
  const policy = { tokenThreshold: 2_500, maxTokens: 1_500, retentionWindow: 2 };
  export const agents = [{ name: 'guide', system: 'You guide.', tools: [look], policy, model: scriptedModel({ decide }) }];
`;

async function unpack(folder: string, commit: string): Promise<string> {
  const tree = join(folder, 'old');
  const archive = execFileSync('git', ['archive', '--prefix=old/', commit], { cwd: ROOT, maxBuffer: 2 ** 30 });
  execFileSync('tar', ['x', '-C', folder], { input: archive });
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return tree;
}

async function startWorker(tree: string, agents: string, redisUrl: string, tally: Tally): Promise<ChildProcess> {
  const env = { PATH: process.env['PATH'], REDIS_URL: redisUrl, TURNFOLD_METRICS_PORT: '0' };
  const args = [join(tree, 'src/cli/main.ts'), 'worker', '--agents', agents];
  const worker = spawn(process.execPath, args, { cwd: tree, env, stdio: ['ignore', 'pipe', 'inherit'] });
  const started = Promise.withResolvers<void>();
  createInterface({ input: worker.stdout }).on('line', (text) => {
    const { event, msg, outcome } = JSON.parse(text) as Record<string, unknown>;
    if (msg === 'worker started') started.resolve();
    if (event === 'turn_settled') tally.turns += 1;
    if (event === 'pass_ended' && outcome === 'committed') tally.passes += 1;
    if (event === 'worker_failed') {
      tally.failures += 1;
      process.stderr.write(`${text}\n`);
    }
  });
  await Promise.race([started.promise, once(worker, 'exit').then(() => Promise.reject(new Error('it did not start')))]);
  return worker;
}

async function stop(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null || worker.signalCode !== null) return;
  const exited = once(worker, 'exit');
  worker.kill('SIGTERM');
  await exited;
}

/** Lives a conversation through, turn by turn. @returns what is wrong with it */
async function live(client: OpenClient, conversation: string, goOn: () => Promise<void>): Promise<string[]> {
  const wrong: string[] = [];
  for (let turn = 1; turn <= TURNS; turn += 1) {
    await client.enqueueTurn({ conversation, agent: 'guide', turn: `t${turn}`, input: `question ${turn}` });
    const view = await client.result(conversation, `t${turn}`, { waitMs: WAIT_MS });
    if (view.state !== 'completed') wrong.push(`${conversation}/t${turn} is ${view.state} ${view.failure?.code ?? ''}`);
    await goOn();
  }
  const log = await client.log(conversation);
  const asked = log.filter(({ message }) => message.role === 'user').map(({ message }) => message.content);
  const expected = Array.from({ length: TURNS }, (_, index) => `question ${index + 1}`);
  if (JSON.stringify(asked) !== JSON.stringify(expected)) wrong.push(`${conversation}: asked ${asked.join(', ')}`);
  if (log.length !== 4 * TURNS) wrong.push(`${conversation}: ${log.length} messages, not ${4 * TURNS}`);
  const numbers = (await client.versions(conversation)).map(({ number }) => number);
  if (numbers.length === 0) wrong.push(`${conversation}: no version`);
  numbers.forEach((number, index) => {
    if (number !== index + 1) wrong.push(`${conversation}: versions ${numbers.join(', ')}`);
  });
  for (const number of numbers) {
    await client
      .show(conversation, number)
      .catch((error) => wrong.push(`${conversation}: version ${number}: ${error}`));
  }
  return wrong;
}

const commit = process.argv[2] ?? 'HEAD';
const folder = await mkdtemp(join(tmpdir(), 'turnfold-upgrade-'));
const redis = await provideRedis({ log: (line) => process.stderr.write(`${line}\n`) });
const client = await openClient({ redisUrl: redis.url });
const workers: ChildProcess[] = [];
try {
  const trees = { old: await unpack(folder, commit), new: ROOT };
  const tallies = { old: { turns: 0, passes: 0, failures: 0 }, new: { turns: 0, passes: 0, failures: 0 } };
  const start = async (kind: 'old' | 'new'): Promise<ChildProcess> => {
    const agents = join(folder, `${kind}-agents.ts`);
    await writeFile(agents, agentsOf(trees[kind]));
    const worker = await startWorker(trees[kind], agents, redis.url, tallies[kind]);
    workers.push(worker);
    return worker;
  };
  const old = [await start('old'), await start('old')];
  let done = 0;
  const third = (CONVERSATIONS * TURNS) / 3;
  const reached = { first: Promise.withResolvers<void>(), second: Promise.withResolvers<void>() };
  const areBoth = Promise.withResolvers<void>();
  /** The second third begins when both kinds of workers run: they are quicker than a start. */
  const goOn = async (): Promise<void> => {
    done += 1;
    if (done >= third) reached.first.resolve();
    if (done >= 2 * third) reached.second.resolve();
    if (done >= third) await areBoth.promise;
  };
  const names = Array.from({ length: CONVERSATIONS }, (_, index) => `c${index}`);
  const lives = Promise.all(names.map((name) => live(client, name, goOn)));
  await reached.first.promise;
  const before = { ...tallies.old };
  await Promise.all([start('new'), start('new')]);
  areBoth.resolve();
  await reached.second.promise;
  const oldBesideNew = { turns: tallies.old.turns - before.turns, passes: tallies.old.passes - before.passes };
  const newBesideOld = { ...tallies.new };
  await Promise.all(old.map(stop));
  const wrong = (await lives).flat();
  const figures = { commit, turns: CONVERSATIONS * TURNS, ...tallies, oldBesideNew, newBesideOld };
  process.stdout.write(`${JSON.stringify({ ...figures, wrong })}\n`);
  const isIdle = [oldBesideNew, newBesideOld].some(({ turns, passes }) => turns === 0 || passes === 0);
  const failures = tallies.old.failures + tallies.new.failures;
  if (wrong.length > 0 || isIdle || failures > 0) process.exitCode = 1;
} finally {
  for (const worker of workers) await stop(worker);
  await client.close();
  await redis.stop();
  await rm(folder, { recursive: true });
}
