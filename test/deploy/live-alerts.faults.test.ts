import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import { openClient } from '../../src/api/client/index.ts';
import { openHeldModel } from '../cli/held-model.ts';
import { openOwnRedis } from '../cli/own-redis.ts';
import { startTurnfold } from '../cli/run-turnfold.ts';
import { eventually } from '../runtime/fixture.ts';
import { findPrometheusProgram, startPrometheus } from './prometheus.ts';
import { ALERTS, pathOf, RULE_FILES } from './rule-files.ts';

interface TurnWorker {
  readonly child: ChildProcess;
  /** host:port of its metrics page */
  readonly target: string;
}

const TURNS = 4;
/** A killed worker is found after 25 s on a quiet machine. */
const FOUND_SILENT_MS = 90_000;
/** Two workers are full with the turns, so that each of them holds some. */
const CONCURRENCY = 2;

async function startTurnWorker(redisUrl: string, agents: string): Promise<TurnWorker> {
  const env = { REDIS_URL: redisUrl, TURNFOLD_TURN_CONCURRENCY: String(CONCURRENCY) };
  const child = startTurnfold(['worker', '--roles', 'turn', '--agents', agents], env);
  if (child.stdout === null) throw new Error('its output is not piped');
  const { promise, resolve } = Promise.withResolvers<string>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { metrics } = JSON.parse(line) as Record<string, unknown>;
    if (typeof metrics === 'string') resolve(new URL(metrics).host);
  });
  return { child, target: await promise };
}

async function end({ child }: TurnWorker, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}

/** Alerts whose expression holds, though their `for` of some minutes has not passed. */
function exprOf(name: string): string {
  const found = ALERTS.find(({ alert }) => alert === name);
  if (found === undefined) throw new Error(`no alert ${name}`);
  return found.expr;
}

it('alerts report killed workers but not stopped ones, and page a person after three early deaths', async ({
  skip,
}) => {
  const program = await findPrometheusProgram('prometheus');
  if (program === undefined) return skip('no prometheus on PATH, and no apt that could download it');
  const redis = await openOwnRedis();
  const model = await openHeldModel();
  const [stays, dies] = [
    await startTurnWorker(redis.url, model.agents),
    await startTurnWorker(redis.url, model.agents),
  ];
  const client = await openClient({ redisUrl: redis.url });
  onTestFinished(() => client.close());
  const prometheus = await startPrometheus({
    program,
    targets: [stays.target, dies.target],
    ruleFiles: RULE_FILES.map(pathOf),
  });
  onTestFinished(() => prometheus.stop());
  const ask = async (query: string): Promise<Record<string, string>[]> =>
    (await prometheus.query(query)).map(({ metric }) => metric);
  const untilWorkers = (count: number): Promise<unknown> =>
    eventually(
      () => prometheus.query('job_role:turnfold_worker_concurrency:sum{role="turn"}'),
      ([sample]) => expect(Number(sample?.value[1])).toBe(count * CONCURRENCY),
    );
  const lost = exprOf('TurnfoldWorkersLost');
  const restarts = exprOf('TurnfoldWorkerRestarts');

  for (let turn = 0; turn < TURNS; turn += 1) {
    await client.enqueueTurn({ conversation: `c${turn}`, agent: 'held', turn: 't1', input: 'hello' });
  }
  await model.untilCalled(TURNS);
  const stops = await startTurnWorker(redis.url, model.agents);
  await prometheus.setTargets([stays, dies, stops].map(({ target }) => target));
  await untilWorkers(3);
  await end(stops, 'SIGTERM');
  await prometheus.setTargets([stays.target, dies.target]);
  await untilWorkers(2);
  expect(await ask(lost)).toEqual([]);

  await end(dies, 'SIGKILL');
  await prometheus.setTargets([stays.target]);
  model.release();
  await untilWorkers(1);
  await eventually(
    () => ask(lost),
    (found) => expect(found).toEqual([expect.objectContaining({ job: 'turnfold', role: 'turn' })]),
    FOUND_SILENT_MS,
  );
  for (let turn = 0; turn < TURNS; turn += 1) {
    expect(await client.result(`c${turn}`, 't1', { waitMs: 25_000 })).toMatchObject({ state: 'completed' });
  }
  // Once it has left the discovery, what asks for `up` sees nothing.
  await eventually(
    () => ask(exprOf('TurnfoldWorkerDown')),
    (found) => expect(found).toEqual([]),
  );

  expect(await ask(restarts)).toEqual([]);
  const [second, third] = [
    await startTurnWorker(redis.url, model.agents),
    await startTurnWorker(redis.url, model.agents),
  ];
  await prometheus.setTargets([stays, second, third].map(({ target }) => target));
  await untilWorkers(3);
  await Promise.all([end(second, 'SIGKILL'), end(third, 'SIGKILL')]);
  await prometheus.setTargets([stays.target]);
  await eventually(
    () => ask(restarts),
    (found) => expect(found).toEqual([{ job: 'turnfold' }]),
    FOUND_SILENT_MS,
  );
  // The three that were killed: the one that stopped has had longer to be missed than any of them.
  const [count] = await prometheus.query('sum(turnfold_workers_lost_total)');
  expect(count?.value[1]).toBe('3');
});
