import { expect, it, onTestFinished } from 'vitest';
import { TURN_LIMITS } from '../../src/domain/turn.ts';
import { agentOf, countSteps, toolOf, words } from './agents.ts';
import { eventsOf, eventually, type Fixture, openFixture, settled } from './fixture.ts';

/** Longer than a lease: only heartbeats that a full Redis takes keep the turn. */
const FULL_MS = TURN_LIMITS.leaseMs + 3_000;

async function fill({ redis }: Fixture): Promise<void> {
  await redis.config('SET', 'maxmemory-policy', 'noeviction');
  await redis.config('SET', 'maxmemory', 1);
}

async function free({ redis }: Fixture): Promise<void> {
  await redis.config('SET', 'maxmemory', 0);
}

it('a turn whose tools end while Redis is full goes on with their results once it is not', async () => {
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
    () => eventsOf(workers, 'write_held'),
    (held) => expect(held).toHaveLength(2),
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
  expect(eventsOf(workers, 'write_held')).toMatchObject([
    { write: 'step', code: 'redis_full' },
    { write: 'step', code: 'redis_full' },
  ]);
  expect(eventsOf(workers, 'lease_lost')).toEqual([]);
}, 90_000);

const RECORD = '## Goal\nFind the word.\n## Next step\nSay it again.';

it.each(['pass_fanned_out', 'model_called'] as const)(
  'a compaction that a full Redis stops goes on once it is not full, and no summary is paid for again: at %s',
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
      // Sent before the worker's next command; a summary may be kept before Redis is full.
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
        expect(events.some((event) => event.type === 'worker_failed' || event.type === 'write_held')).toBe(true),
    );
    await free(fixture);
    await eventually(
      () => fixture.client.describe('c1'),
      (state) => expect([state.size.version, state.passId]).toEqual([1, undefined]),
      // Less than the minute for which a pass is parked.
      40_000,
    );
    expect(calls).toBe(2);
    expect(eventsOf(workers, 'pass_ended')).toMatchObject([{ outcome: 'committed', strategy: 'summarize' }]);
  },
  120_000,
);
