import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  type NamedConversation,
  type OpenClient,
  openClient,
  type TurnfoldClient,
} from '../../src/api/client/index.ts';
import { retryStore } from '../../src/api/client/open-client.ts';
import { TurnfoldError } from '../../src/domain/errors.ts';
import type { ConversationRef } from '../../src/domain/ids.ts';
import { type ConnectedStore, connectStore } from '../../src/store/connect-store.ts';
import type { Store } from '../../src/store/open-store.ts';
import { hasRedisServer, MortalRedis } from '../chaos/mortal-redis.ts';
import { readJsonLines, runTurnfold, writeTemporary } from '../cli/run-turnfold.ts';
import { appendOf, claimPass, commitOf, planOf, proposalOf } from '../store/pass-samples.ts';
import { acceptAndClaim, callsStep, textStep, toWaitFor, turnFor } from '../store/samples.ts';
import { createMemoryClient } from './memory-client.ts';

const SHARDS = 4;
const DOWN_MS = 1_200;
/** Calls of one method: some in flight when the server is killed, the others while it is down and while it starts. */
const CALLS = 12;
const IN_FLIGHT = 4;
const AGENT = 'agent';
const MESSAGE = { role: 'user', content: 'x' } as const;

let redis: MortalRedis;
let client: OpenClient;
let connected: ConnectedStore;

beforeAll(async () => {
  if (!hasRedisServer) return;
  redis = await MortalRedis.start();
  // A busy machine may take long to start a server. The pause alone is 1.2 s.
  client = await openClient({ redisUrl: redis.url, shards: SHARDS, deadlineMs: 60_000 });
  connected = await connectStore({ url: redis.url, tls: undefined, shards: SHARDS });
});
afterAll(async () => {
  await client?.close();
  await connected?.close();
  await redis?.stop();
});

/** State of a conversation when a method is called. */
const PREPARED = {
  none: async () => undefined,
  log: async (ref: ConversationRef) => void (await connected.store.append(appendOf(ref, 0, 8))),
  queued: async (ref: ConversationRef) => void (await connected.store.accept(turnFor(ref, 't1'))),
  waiting: async (ref: ConversationRef) => {
    const { store } = connected;
    const { lease, conversation } = await acceptAndClaim(store, ref, 't1');
    await store.recordStep(lease, callsStep('model-1', conversation.head, 1));
    await store.suspend(lease, { for: 'tools', step: 'model-1', waitMs: 600_000, calls: toWaitFor(['c2_0'], 600_000) });
  },
  failed: async (ref: ConversationRef) => {
    const { lease } = await acceptAndClaim(connected.store, ref, 't1');
    await connected.store.settle(lease, { state: 'failed', failure: { code: 'model_failed', message: 'x' } }, 'w');
  },
  completed: async (ref: ConversationRef) => {
    const { store } = connected;
    const { lease, conversation } = await acceptAndClaim(store, ref, 't1');
    await store.recordStep(lease, textStep('model-1', conversation.head));
    await store.settle(lease, { state: 'completed', answerSeq: conversation.head + 1 }, 'w');
  },
  versioned: async (ref: ConversationRef) => {
    await PREPARED.log(ref);
    const { lease } = await claimPass(connected.store, ref);
    await connected.store.commitVersion(lease, commitOf(0, 4));
  },
  proposed: async (ref: ConversationRef) => {
    await PREPARED.log(ref);
    const { lease } = await claimPass(connected.store, ref);
    await connected.store.recordPlan(lease, planOf(2));
    const request = { proposal: proposalOf(0, 4, 'p1'), seenReasons: ['ratio'] as const, reviewMs: 3_600_000 };
    await connected.store.proposeVersion(lease, request);
  },
} as const satisfies Record<string, (ref: ConversationRef) => Promise<undefined | void>>;

/** Conversations of a tenant of their own, each prepared in the same way. */
async function prepare(tenant: string, kind: keyof typeof PREPARED, count = CALLS): Promise<NamedConversation[]> {
  const names = Array.from({ length: count }, (_, at) => ({ tenant, conversation: `c${at}` }));
  for (const name of names) await PREPARED[kind]({ tenant, id: name.conversation });
  return names;
}

/** Kills the server and starts it on the same data 1.2 s later. Runs `meanwhile` eight times in between. */
async function restart(meanwhile: () => void = () => undefined): Promise<void> {
  await redis.kill();
  for (let at = 0; at < CALLS - IN_FLIGHT; at += 1) {
    meanwhile();
    await sleep(DOWN_MS / (CALLS - IN_FLIGHT));
  }
  await redis.start();
}

/** Calls a method for each conversation. The first four calls are in flight when the server dies. */
async function callAcrossRestart<T>(
  names: readonly NamedConversation[],
  call: (name: NamedConversation) => Promise<T>,
): Promise<T[]> {
  const rest = [...names];
  const calls: Promise<T>[] = [];
  const next = (): void => {
    const name = rest.shift();
    if (name !== undefined) calls.push(call(name));
  };
  for (let at = 0; at < IN_FLIGHT; at += 1) next();
  const restarting = restart(next);
  await restarting;
  const outcomes = await Promise.allSettled(calls);
  expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([]);
  expect(outcomes).toHaveLength(names.length);
  return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
}

/** A store that executes every call, but loses the answer to the first call of each operation. */
function loseAnswers(store: Store): Store {
  const operations = Object.entries(store) as [string, (...input: unknown[]) => Promise<unknown>][];
  const members = operations.map(([name, operation]) => {
    let isLost = false;
    const lose = async (...input: unknown[]): Promise<unknown> => {
      const answer = await operation(...input);
      if (isLost) return answer;
      isLost = true;
      throw new TurnfoldError('redis_unavailable', 'Redis does not answer');
    };
    return [name, lose];
  });
  return Object.fromEntries(members) as Store; // the same names with the same types
}

interface Write {
  readonly of: keyof typeof PREPARED;
  readonly call: (name: NamedConversation, by: TurnfoldClient) => Promise<unknown>;
  readonly answers: unknown;
  /** The effect that a caller sees afterwards, once. */
  readonly read: (name: NamedConversation) => Promise<unknown>;
  readonly leaves: unknown;
}

const turnsOf = async (name: NamedConversation) => (await client.openTurns(name)).turns.map(({ state }) => state);
const lengthOf = async (name: NamedConversation) => (await client.log(name)).length;
const causesOf = async (name: NamedConversation) => (await client.versions(name)).map(({ cause }) => cause);
const copyOf = ({ tenant, conversation }: NamedConversation) => ({ tenant, conversation: `${conversation}-copy` });

const WRITES: Readonly<Record<string, Write>> = {
  enqueueTurn: {
    of: 'none',
    call: (name, by) => by.enqueueTurn({ ...name, agent: AGENT, input: 'x' }),
    answers: { state: 'queued', isNew: true },
    read: turnsOf,
    leaves: ['queued'],
  },
  append: {
    of: 'log',
    call: (name, by) => by.append({ ...name, agent: AGENT, messages: [MESSAGE] }),
    answers: { from: 9, to: 9 },
    read: lengthOf,
    leaves: 9,
  },
  cancel: {
    of: 'queued',
    call: (name, by) => by.cancel(name, 't1'),
    answers: 'canceled',
    read: turnsOf,
    leaves: [],
  },
  answer: {
    of: 'waiting',
    call: (name, by) => by.answer(name, 't1', { c2_0: { content: 'blue' } }),
    answers: 'answered',
    read: async (name) => (await client.waiting({ tenant: name.tenant })).turns,
    leaves: [],
  },
  redrive: {
    of: 'failed',
    call: (name, by) => by.redrive(name, 't1'),
    answers: { state: 'queued' },
    read: turnsOf,
    leaves: ['queued'],
  },
  restore: {
    of: 'versioned',
    call: (name, by) => by.restore(name, { version: 0, newer: 'keep' }),
    answers: { number: 2 },
    read: causesOf,
    leaves: ['pass', 'restore'],
  },
  rollBackTurn: {
    of: 'completed',
    call: (name, by) => by.rollBackTurn(name, 't1'),
    answers: { number: 1 },
    read: causesOf,
    leaves: ['rollback'],
  },
  fork: {
    of: 'log',
    call: (name, by) => by.fork(name, copyOf(name)),
    answers: { head: 8 },
    read: (name) => lengthOf(copyOf(name)),
    leaves: 8,
  },
  compact: {
    of: 'log',
    call: (name, by) => by.compact(name),
    answers: expect.any(String),
    read: async (name) => typeof (await client.describe(name)).passId,
    leaves: 'string',
  },
  approve: {
    of: 'proposed',
    call: (name, by) => by.approve(name, 'p1'),
    answers: { state: 'pending' },
    read: async (name) => (await client.proposal(name))?.isDecided,
    leaves: true,
  },
  reject: {
    of: 'proposed',
    call: (name, by) => by.reject(name, 'p1'),
    answers: { state: 'pending' },
    read: async (name) => (await client.proposal(name))?.isDecided,
    leaves: true,
  },
  erase: {
    of: 'log',
    call: async (name, by) => (await by.erase(name)).removedKeys > 0,
    answers: true,
    read: async ({ tenant }) => (await client.conversations({ tenant })).conversations,
    leaves: [],
  },
};

type Read = readonly [
  of: keyof typeof PREPARED,
  call: (name: NamedConversation, by: TurnfoldClient) => Promise<unknown>,
];

const READS: Readonly<Record<string, Read>> = {
  result: ['queued', (name, by) => by.result(name, 't1')],
  openTurns: ['queued', async (name, by) => (await by.openTurns(name)).turns],
  describe: ['log', (name, by) => by.describe(name)],
  log: ['log', (name, by) => by.log(name)],
  context: ['versioned', (name, by) => by.context(name)],
  show: ['versioned', (name, by) => by.show(name, 1)],
  versions: ['versioned', (name, by) => by.versions(name)],
  diff: ['versioned', (name, by) => by.diff(name, 0, 1)],
  outline: ['versioned', (name, by) => by.outline(name)],
  workDone: ['versioned', (name, by) => by.workDone(name)],
  breakdown: ['versioned', (name, by) => by.breakdown(name)],
  report: ['versioned', (name, by) => by.report(name, 1)],
  plan: ['versioned', (name, by) => by.plan(name)],
  steps: ['queued', (name, by) => by.steps(name, 't1')],
  proposal: ['proposed', (name, by) => by.proposal(name)],
  conversations: ['log', ({ tenant }, by) => by.conversations({ tenant })],
  waiting: ['waiting', ({ tenant }, by) => by.waiting({ tenant })],
  failedTurns: ['failed', ({ tenant }, by) => by.failedTurns({ tenant })],
};

describe.skipIf(!hasRedisServer)('a restart of Redis of 1.2 s', () => {
  test.each(Object.keys(WRITES))('a restart of Redis delays %s, and nothing is written twice', async (method) => {
    const { of, call, answers, read, leaves } = WRITES[method] ?? expect.unreachable();
    const names = await prepare(method, of);
    const answered = await callAcrossRestart(names, (name) => call(name, client));
    for (const answer of answered) expect([answer]).toMatchObject([answers]);
    for (const name of names) expect(await read(name), name.conversation).toEqual(leaves);
  });

  test.each(Object.keys(WRITES))(
    '%s writes once even if the first answer of every store operation is lost',
    async (method) => {
      const { of, call, answers, read, leaves } = WRITES[method] ?? expect.unreachable();
      const [name = expect.unreachable()] = await prepare(`lost-${method}`, of, 1);
      const unlucky = createMemoryClient(retryStore(loseAnswers(connected.store), 60_000));
      expect([await call(name, unlucky)]).toMatchObject([method === 'redrive' ? { isNew: false } : answers]);
      expect(await read(name)).toEqual(leaves);
    },
  );

  test.each(Object.keys(READS))('a restart of Redis delays %s, which returns the same as before', async (method) => {
    const [of, call] = READS[method] ?? expect.unreachable();
    const names = await prepare(`read-${method}`, of);
    const before = await Promise.all(names.map((name) => call(name, client)));
    expect(await callAcrossRestart(names, (name) => call(name, client))).toEqual(before);
  });

  const FOLLOWS: Readonly<Record<string, (name: NamedConversation) => Promise<unknown>>> = {
    'an awaited result': (name) => client.result(name, 't1', { waitMs: 100_000 }),
    'a stream': async (name) => {
      for await (const part of client.stream(name, 't1')) if (part.type === 'end') return part.view;
      return undefined;
    },
    events: async (name) => {
      for await (const event of client.events(name, { after: '0' })) if (event.type === 'turn_settled') return event;
      return undefined;
    },
  };

  test.each(Object.keys(FOLLOWS))(
    'a restart of Redis does not end %s, which continues to the end of the turn',
    async (what) => {
      const follow = FOLLOWS[what] ?? expect.unreachable();
      const names = await prepare(what.replaceAll(' ', '-'), 'queued');
      const followed = Promise.all(names.map(follow));
      await restart();
      for (const name of names) await client.cancel(name, 't1');
      expect(await followed).toMatchObject(names.map(() => ({ turn: 't1', state: 'canceled' })));
    },
  );

  test('a restart of Redis delays an import, which appends each conversation once', async () => {
    const lines = Array.from({ length: 400 }, (_, at) => ({
      id: `i${at}`,
      messages: [MESSAGE, { role: 'assistant', content: 'y' }],
    }));
    const file = await writeTemporary('talks.jsonl', lines);
    const run = runTurnfold(['import', file, '--agent', AGENT, '--tenant', 'import', '--json'], {
      env: { REDIS_URL: redis.url, TURNFOLD_SHARDS: String(SHARDS) },
    });
    const listed = async () => (await client.conversations({ tenant: 'import', limit: 1_000 })).conversations;
    await expect.poll(listed).not.toHaveLength(0);
    await restart();
    const { code, stdout, stderr } = await run;
    expect(code, stderr).toBe(0);
    expect(stderr).toBe('');
    expect(readJsonLines(stdout)).toHaveLength(lines.length);
    expect((await listed()).map(({ head }) => head)).toEqual(lines.map(() => 2));
  });

  test('every method fails with redis_unavailable if Redis stays away beyond the deadline', async () => {
    const hasty = await openClient({ redisUrl: redis.url, shards: SHARDS, deadlineMs: 300 });
    onTestFinished(() => hasty.close());
    const name = { tenant: 'late', conversation: 'c' };
    const failures = async (calls: readonly (() => Promise<unknown>)[]): Promise<unknown[]> =>
      await Promise.all(calls.map((call) => call().catch((error: unknown) => error)));
    await redis.kill();
    onTestFinished(() => redis.start());
    const errors = await failures([
      ...Object.values(WRITES).map(
        ({ call }) =>
          () =>
            call(name, hasty),
      ),
      ...Object.values(READS).map(
        ([, call]) =>
          () =>
            call(name, hasty),
      ),
      () => hasty.stream(name, 't1')[Symbol.asyncIterator]().next(),
      () => hasty.events(name)[Symbol.asyncIterator]().next(),
      () => openClient({ redisUrl: redis.url, shards: SHARDS, deadlineMs: 300 }),
    ]);
    for (const error of errors) {
      expect(error).toMatchObject({ code: 'redis_unavailable' });
      expect(String(error)).toMatch(/^TurnfoldError: Redis does not answer: /);
      expect(String(error)).not.toMatch(/Connection is closed|writ(e|a)able|Stream|retries|ioredis|BullMQ|ReplyError/i);
    }
  });
});
