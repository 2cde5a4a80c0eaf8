import { inspect } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { TURN_LIMITS } from '../../src/domain/turn.ts';
import { agentOf, countSteps, toolOf, words } from './agents.ts';
import { eventsOf, eventually, type Fixture, openFixture, settled } from './fixture.ts';

/** Longer than a lease: only heartbeats that a full Redis takes keep the turn. */
const FULL_MS = TURN_LIMITS.leaseMs + 3_000;

async function fill({ redis }: Fixture): Promise<void> {
  await redis.config('SET', 'maxmemory-policy', 'noeviction');
  await redis.config('SET', 'maxmemory', 1);
  // Redis takes the first command behind it.
  await eventually(
    () => redis.set('probe', 1).catch((error: Error) => error.message),
    (said) => expect(said).toMatch(/^OOM/),
  );
}

async function free({ redis }: Fixture): Promise<void> {
  await redis.config('SET', 'maxmemory', 0);
}

it('a turn whose tools end while Redis is full continues with their results afterwards', async () => {
  const fixture = await openFixture();
  onTestFinished(() => fixture.close());
  onTestFinished(() => free(fixture));
  const runs: string[] = [];
  const both = Promise.withResolvers<void>();
  const run = (name: string) => async (): Promise<string> => {
    runs.push(name);
    if (runs.length === 2) both.resolve();
    await both.promise;
    await fill(fixture);
    return `result of ${name}`;
  };
  const call = (name: string) => ({ name, arguments: {} });
  const agent = agentOf({
    tools: [toolOf('one', run('one')), toolOf('two', run('two'))],
    decide: (request) =>
      countSteps(request) === 0 ? { toolCalls: [call('one'), call('two')] } : { content: 'both are there' },
  });
  const workers = await fixture.startWorkers(agent);
  await fixture.client.enqueueTurn({ conversation: 'c1', agent: 'guide', turn: 't1', input: 'go' });
  await eventually(
    () => eventsOf(workers, 'write_deferred'),
    (deferred) => expect(deferred).toHaveLength(2),
  );
  const since = Date.now();
  await eventually(
    () => Date.now() - since,
    (ms) => expect(ms).toBeGreaterThan(FULL_MS),
  );
  await free(fixture);
  expect(await settled(fixture, 'c1', 't1')).toMatchObject({
    state: 'completed',
    answer: { content: 'both are there' },
  });
  expect(runs.toSorted()).toEqual(['one', 'two']);
  expect(eventsOf(workers, 'turn_claimed')).toHaveLength(1);
  expect(eventsOf(workers, 'write_deferred')).toMatchObject([
    { write: 'step', code: 'redis_full' },
    { write: 'step', code: 'redis_full' },
  ]);
  expect(eventsOf(workers, 'lease_lost')).toEqual([]);
});

/** A turn of two parallel calls, which have ended and whose results a full Redis refuses. */
async function holdResults(retry: 'safe' | 'never') {
  const fixture = await openFixture();
  onTestFinished(() => fixture.close());
  onTestFinished(() => free(fixture));
  let runs = 0;
  const both = Promise.withResolvers<void>();
  const act = async (): Promise<string> => {
    runs += 1;
    const run = runs;
    if (run === 2) await fill(fixture).then(both.resolve);
    await both.promise;
    return `result of run ${run}`;
  };
  const call = { name: 'act', arguments: {} };
  const agent = agentOf({
    tools: [{ ...toolOf('act', act), retry }],
    decide: ({ messages }) => {
      const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
      return results.length === 0 ? { toolCalls: [call, call] } : { content: results.toSorted().join(', ') };
    },
  });
  const workers = await fixture.startWorkers(agent);
  await fixture.client.enqueueTurn({ conversation: 'c1', agent: 'guide', turn: 't1', input: 'go' });
  await eventually(
    () => eventsOf(workers, 'write_deferred').map(({ write, code }) => `${write} ${code}`),
    (deferred) => expect(deferred).toEqual(['step redis_full', 'step redis_full']),
  );
  return { fixture, agent, workers, countRuns: () => runs };
}

it('a stopping worker writes the tool results that a full Redis refused if Redis has room before the deadline', async () => {
  const { fixture, agent, workers, countRuns } = await holdResults('never');
  const closing = workers.close();
  await free(fixture);
  expect(await closing, 'nothing was cut off').toBe('closed');
  expect(eventsOf(workers, 'deferred_write_succeeded')).toMatchObject([{ write: 'step' }, { write: 'step' }]);
  expect(eventsOf(workers, 'lease_returned')).toMatchObject([{ what: 'turn', isCutOff: false }]);

  const next = await fixture.startWorkers(agent);
  expect(await settled(fixture, 'c1', 't1')).toMatchObject({
    state: 'completed',
    answer: { content: 'result of run 1, result of run 2' },
  });
  expect(eventsOf(next, 'turn_claimed')).toMatchObject([{ attempt: 1 }]);
  expect(countRuns(), 'no tool runs again').toBe(2);
});

it.each([
  ['safe', 4, /^result of run 3, result of run 4$/],
  ['never', 2, /outcome_unknown.*outcome_unknown/],
] as const)(
  'a stopping worker hands the turn back if Redis stays full, and calls of a tool with retry: %s end after %i runs',
  async (retry, runs, answer) => {
    const { fixture, agent, workers, countRuns } = await holdResults(retry);
    expect(await workers.close(), 'the deadline cut the turn off').toBe('deadline');
    expect(eventsOf(workers, 'lease_returned')).toMatchObject([{ what: 'turn', isCutOff: true }]);
    expect(eventsOf(workers, 'worker_failed').filter(({ error }) => !isLockExtension(error))).toEqual([]);
    expect(await fixture.client.result('c1', 't1')).toMatchObject({ state: 'queued' });

    await free(fixture);
    const next = await fixture.startWorkers(agent);
    const view = await settled(fixture, 'c1', 't1');
    expect(view.state).toBe('completed');
    expect(view.answer?.content).toMatch(answer);
    expect(eventsOf(next, 'turn_claimed')).toMatchObject([{ attempt: 1 }]);
    expect(countRuns()).toBe(runs);
  },
);

/**
 * On a busy machine the stop takes so long that BullMQ extends the lock of the job, which a full Redis refuses. The error
 * has the script of the command or its hash. No other script of BullMQ has the stalled jobs as its only key.
 */
function isLockExtension(error: unknown): boolean {
  return /'?1'?,\s+'[^']+:stalled'/.test(inspect(error, { depth: 5 }));
}

const RECORD = '## State\nriver stone garden window market';

it.each(['pass_fanned_out', 'model_called'] as const)(
  'a compaction that a full Redis interrupts at %s continues afterwards, and each summary is paid for only once',
  async (type) => {
    const fixture = await openFixture();
    onTestFinished(() => fixture.close());
    onTestFinished(() => free(fixture));
    let calls = 0;
    const decide = () => {
      calls += 1;
      return { content: RECORD };
    };
    const policy = { messageThreshold: 8, retentionWindow: 2, summarizer: { models: ['scripted'] } };
    const workers = await fixture.startWorkers(agentOf({ decide, policy }));
    await fixture.redis.config('SET', 'maxmemory-policy', 'noeviction');
    const filled = Promise.withResolvers<unknown>();
    const push = workers.events.push.bind(workers.events);
    workers.events.push = (...events) => {
      // Sent before the worker's next command. A summary may be stored before Redis is full.
      if (events.some((event) => event.type === type)) filled.resolve(fixture.redis.config('SET', 'maxmemory', 1));
      return push(...events);
    };
    const part = [
      { role: 'user' as const, content: words(10) },
      { role: 'assistant' as const, content: words(400) },
      { role: 'assistant' as const, content: words(400) },
    ];
    await fixture.client.append({ conversation: 'c1', agent: 'guide', messages: [...part, ...part, ...part] });
    await filled.promise;
    await eventually(
      () => workers.events,
      (events) =>
        expect(events.some((event) => event.type === 'worker_failed' || event.type === 'write_deferred')).toBe(true),
    );
    await free(fixture);
    await eventually(
      () => fixture.client.describe('c1'),
      (state) => expect([state.size.version, state.passId]).toEqual([1, undefined]),
      // Less than the minute for which a pass is parked.
      40_000,
    );
    expect(calls).toBe(2);
    await eventually(
      () => eventsOf(workers, 'pass_ended'),
      (ended) => expect(ended).toMatchObject([{ outcome: 'committed', strategy: 'summarize' }]),
    );
  },
);
