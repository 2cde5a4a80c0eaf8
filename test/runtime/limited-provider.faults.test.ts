import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import type { Agent } from '../../src/domain/agent.ts';
import type { GateSettings } from '../../src/domain/gate.ts';
import { ModelError } from '../../src/domain/model.ts';
import { openFleet } from '../../src/host/health/fleet.ts';
import { startWorkers, type Workers, type WorkersOptions } from '../../src/host/start-workers.ts';
import { modelChain } from '../../src/providers/chain.ts';
import { type ScriptedOutcome, scriptedModel } from '../../src/providers/scripted.ts';
import { type Fixture, openFixture, SHARDS } from '../client/fixture.ts';

const WAIT_MS = 60_000;
const HOUR_MS = 3_600_000;
const FLEET = {
  shards: SHARDS,
  queueShards: 1,
  inbox: false,
  stuckMs: 60_000,
  grafanaUrl: undefined,
  onError: () => undefined,
  keptMs: 0,
};

let fixture: Fixture;
const started: Workers[] = [];
beforeEach(async () => {
  fixture = await openFixture();
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((workers) => workers.close()));
  await fixture.close();
});

async function startTwo(agents: readonly Agent[], options: Partial<WorkersOptions> = {}): Promise<void> {
  for (let count = 0; count < 2; count += 1) {
    const redisUrl = fixture.url;
    started.push(await startWorkers({ redisUrl, agents, shards: SHARDS, shutdownMs: 2_000, ...options }));
  }
}

function agentOf(name: string, decide: () => ScriptedOutcome, gate: GateSettings = {}): Agent {
  return {
    name,
    system: '',
    tools: [],
    policy: {},
    model: { ...scriptedModel({ profile: { id: name }, decide }), gate },
  };
}

const refusal = (retryAfterMs: number): ModelError =>
  new ModelError('retry', 'rate limited', { retryAt: Date.now() + retryAfterMs });

async function ask(agent: string, conversation: string, waitMs = WAIT_MS) {
  await fixture.client.enqueueTurn({ conversation, agent, turn: 't', input: 'hello' });
  return await fixture.client.result(conversation, 't', { waitMs });
}

const named = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, at) => `${prefix}${at}`);

test('turns of two workers share the limit of a provider: all are answered, with few refused calls', async () => {
  const TURNS = 30;
  const PER_SECOND = 6;
  const bySecond = new Map<number, number>();
  let calls = 0;
  const agent = agentOf('limited', () => {
    const second = Math.floor(Date.now() / 1_000);
    const count = (bySecond.get(second) ?? 0) + 1;
    bySecond.set(second, count);
    calls += 1;
    return count > PER_SECOND ? refusal(1_000) : { content: 'fine' };
  });
  await startTwo([agent]);
  const ends = await Promise.all(named('c', TURNS).map((conversation) => ask('limited', conversation)));
  expect(ends.map(({ state }) => state)).toEqual(ends.map(() => 'completed'));
  expect(calls).toBeLessThanOrEqual(3 * TURNS);
});

test('while a provider asks for a pause, no worker calls its model, and turns of another model are not slowed', async () => {
  let calls = 0;
  const limited = agentOf('limited', () => {
    calls += 1;
    return refusal(HOUR_MS);
  });
  await startTwo([limited, agentOf('free', () => ({ content: 'fine' }))]);
  const { client } = fixture;
  await client.enqueueTurn({ conversation: 'first', agent: 'limited', turn: 't', input: 'hello' });
  const fleet = await openFleet({ url: fixture.url, ...FLEET });
  onTestFinished(() => fleet.close());
  const readGates = async () => (await fleet.read()).findings.find(({ name }) => name === 'gates of models');
  await expect.poll(readGates, { timeout: WAIT_MS }).toMatchObject({
    state: 'warning',
    what: expect.stringMatching(/limited \(paused for 3\d\d\d s, about \d+ calls a minute, 1 waiting\)/) as string,
  });
  const before = calls;
  expect(before).toBeLessThanOrEqual(2);
  const others = named('behind', 10);
  await Promise.all(
    others.map((conversation) => client.enqueueTurn({ conversation, agent: 'limited', turn: 't', input: 'hello' })),
  );
  for (const conversation of others) {
    await expect.poll(() => client.result(conversation, 't'), { timeout: WAIT_MS }).toMatchObject({ state: 'waiting' });
  }
  // The second worker learns of the gate within a second, or by a refusal of its own.
  expect(calls).toBeLessThanOrEqual(before + 10);
  expect(await ask('free', 'other')).toMatchObject({ state: 'completed' });
});

test('a turn is answered after several refusals in a row that ask for no pause', async () => {
  let calls = 0;
  const agent = agentOf('slow', () => {
    calls += 1;
    // The provider allows a call at once each time, so only turnfold chooses the pauses.
    return calls < 4 ? refusal(0) : { content: 'at last' };
  });
  await startTwo([agent]);
  expect(await ask('slow', 'c')).toMatchObject({ state: 'completed', answer: { content: 'at last' } });
  expect(calls).toBe(4);
});

test('a turn that waits for its provider longer than allowed fails with the cause', async () => {
  await startTwo([agentOf('down', () => refusal(100))], { providerWaitMs: 1_500 });
  expect(await ask('down', 'c')).toMatchObject({
    state: 'failed',
    failure: {
      code: 'retries_exhausted',
      message: expect.stringMatching(/waited longer than 1500 ms.*limited/) as string,
    },
  });
});

test('a chain of models skips a model whose rate-limit gate holds calls', async () => {
  const calls: string[] = [];
  const first = scriptedModel({
    profile: { id: 'first' },
    decide: () => {
      calls.push('first');
      return refusal(HOUR_MS);
    },
  });
  const second = scriptedModel({
    profile: { id: 'second' },
    decide: () => {
      calls.push('second');
      return { content: 'fine' };
    },
  });
  await startTwo([{ name: 'chain', system: '', tools: [], policy: {}, model: modelChain([first, second]) }]);
  for (const conversation of named('c', 8)) {
    expect(await ask('chain', conversation)).toMatchObject({ state: 'completed' });
  }
  expect(calls.filter((name) => name === 'second')).toHaveLength(8);
  // Each worker calls it once, and then knows its gate.
  expect(calls.filter((name) => name === 'first').length).toBeLessThanOrEqual(2);
  // The turns that the second model answered no longer wait at the first one.
  expect(await fixture.redis.exists('{tf}:gate:first')).toBe(1);
  await expect.poll(() => fixture.redis.zcard('{tf}:gate:first:waiters'), { timeout: 10_000 }).toBe(0);
});

test('a chain of models returns to its first model after one refusal', async () => {
  const calls: string[] = [];
  const decideAs = (name: string, decide: () => ScriptedOutcome) => ({
    profile: { id: name },
    decide: () => {
      calls.push(name);
      return decide();
    },
  });
  const first = scriptedModel(decideAs('first', () => (calls.length === 1 ? refusal(500) : { content: 'fine' })));
  const second = scriptedModel(decideAs('second', () => ({ content: 'fine' })));
  await startTwo([{ name: 'chain', system: '', tools: [], policy: {}, model: modelChain([first, second]) }]);
  await ask('chain', 'c0');
  expect(calls).toEqual(['first', 'second']);
  let turns = 1;
  await expect
    .poll(
      async () => {
        await ask('chain', `c${turns}`);
        turns += 1;
        return calls.slice(-3);
      },
      { timeout: WAIT_MS },
    )
    .toEqual(['first', 'first', 'first']);
  const waiters = await fixture.redis.keys('*gate:first:waiters');
  expect(waiters).toEqual([]);
});

test('turns that wait at the rate-limit gate of one model leave worker slots free for turns of other models', async () => {
  const open = Promise.withResolvers<undefined>();
  onTestFinished(() => open.resolve(undefined));
  let begun = 0;
  const decide = async () => {
    begun += 1;
    await open.promise;
    return { content: 'fine' };
  };
  await startTwo([agentOf('one', decide, { concurrent: 1 }), agentOf('free', () => ({ content: 'fine' }))], {
    concurrency: { turn: 2 },
  });
  const { client } = fixture;
  const conversations = named('c', 12);
  await Promise.all(
    conversations.map((conversation) => client.enqueueTurn({ conversation, agent: 'one', turn: 't', input: 'hello' })),
  );
  await expect.poll(() => begun, { timeout: WAIT_MS }).toBe(1);
  // Each turn but one is suspended, so it holds no slot.
  for (const name of named('free', 5)) expect(await ask('free', name)).toMatchObject({ state: 'completed' });
  const states = await Promise.all(conversations.map((conversation) => client.result(conversation, 't')));
  expect(states.filter(({ state }) => state === 'completed')).toEqual([]);
  open.resolve(undefined);
  const ends = await Promise.all(conversations.map((name) => client.result(name, 't', { waitMs: WAIT_MS })));
  expect(ends.map(({ state }) => state)).toEqual(conversations.map(() => 'completed'));
});

test('a turn that waits at the rate-limit gate fails at its deadline', async () => {
  await startTwo([agentOf('down', () => refusal(HOUR_MS))]);
  const { client } = fixture;
  await client.enqueueTurn({ conversation: 'c', agent: 'down', turn: 't', input: 'hello', deadlineMs: 1_500 });
  expect(await client.result('c', 't', { waitMs: WAIT_MS })).toMatchObject({
    state: 'failed',
    failure: { code: 'turn_timeout' },
  });
});

test.each([Number.NaN, Number.POSITIVE_INFINITY, -1, 8.64e15])(
  'a model that gives the invalid retry time %s is called again, and the turn is answered',
  async (retryAt) => {
    let calls = 0;
    const agent = agentOf('odd', () => {
      calls += 1;
      return calls === 1 ? new ModelError('retry', 'odd', { retryAt, isLimit: true }) : { content: 'fine' };
    });
    await startTwo([agent]);
    const { state } = await ask('odd', 'c');
    expect(state).toBe('completed');
  },
);

test('configured rate limits hold for all workers together, so that the provider refuses no call', async () => {
  let [inside, most] = [0, 0];
  const decide = async () => {
    inside += 1;
    most = Math.max(most, inside);
    await new Promise((resolve) => setImmediate(resolve));
    inside -= 1;
    return { content: 'fine' };
  };
  await startTwo([agentOf('one', decide, { concurrent: 1 })]);
  const ends = await Promise.all(named('c', 10).map((conversation) => ask('one', conversation)));
  expect(ends.map(({ state }) => state)).toEqual(ends.map(() => 'completed'));
  expect(most).toBe(1);
});

test('a limit of requests per minute holds from the first call on', async () => {
  const times: number[] = [];
  const decide = () => {
    times.push(Date.now());
    return { content: 'fine' };
  };
  await startTwo([agentOf('paced', decide, { requestsPerMinute: 240 })]);
  await Promise.all(named('c', 12).map((conversation) => ask('paced', conversation)));
  // A second's worth passes at once, then four a second. A slow machine only makes the time longer.
  expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(1_800);
});

test('a summarization job waits at the rate-limit gate of its model', async () => {
  let calls = 0;
  const summarizer = scriptedModel({
    profile: { id: 'summaries' },
    decide: () => {
      calls += 1;
      return calls === 1 ? refusal(1_000) : { content: 'The user greeted the agent, and nothing is open.' };
    },
  });
  const agent = agentOf('talker', () => ({ content: 'fine' }));
  const policy = { retentionWindow: 2, maxTokens: 2_000, summarizer: { models: ['summaries'] } };
  await startTwo([{ ...agent, policy }], { summarizers: [summarizer] });
  const { client } = fixture;
  const long = 'a fact that the summary has to keep, written at some length. '.repeat(60);
  const messages = Array.from({ length: 6 }, (_, at) => [
    { role: 'user' as const, content: `question ${at}` },
    { role: 'assistant' as const, content: `${long} ${at}` },
  ]).flat();
  await client.append({ conversation: 'c', agent: 'talker', messages });
  await client.compact('c');
  await expect.poll(async () => (await client.versions('c')).length, { timeout: WAIT_MS }).toBeGreaterThan(0);
  expect(calls).toBeGreaterThan(1);
});
