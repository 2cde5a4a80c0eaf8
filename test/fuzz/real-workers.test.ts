import { Readable } from 'node:stream';
import { type Arbitrary, constantFrom, oneof, record, sample, string, tuple } from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { type OpenClient, openClient } from '../../src/api/client/index.ts';
import type { Agent, Tool } from '../../src/domain/agent.ts';
import { isErrorCode } from '../../src/domain/errors.ts';
import type { WorkerEvent } from '../../src/domain/events.ts';
import { type Model, type ModelAnswer, ModelError, type ModelRequest } from '../../src/domain/model.ts';
import { isSettled, type TurnView } from '../../src/domain/turn.ts';
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';
import { startWorkers } from '../../src/host/start-workers.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { HOSTILE_BYTES } from '../fakes/hostile-values.ts';
import { MAX_HELD_MS, maxHeldMs, measureHeldMs } from '../setup/held-loop.ts';
import { readRedisSource } from '../setup/redis-source.ts';
import { badValue, countCases, type Make, SEED, spoiled } from './cases.ts';

const CASES = 1_200;
/** Cases that run at the same time, beside a healthy conversation. */
const AT_ONCE = 6;
const TOOL_TIMEOUT_MS = 300;
const LONGEST_LOG_CHARACTERS = 4_000_000;
const LONGEST_FAILURE_CHARACTERS = 100_000;

const KINDS = ['tool throws', 'tool answers', 'model throws', 'model throws a ModelError', 'model answers'] as const;

interface Case {
  readonly kind: (typeof KINDS)[number];
  readonly make: Make;
}

const never = (): Promise<never> => new Promise(() => undefined);

async function* endless(): AsyncGenerator<string> {
  for (;;) yield await Promise.resolve('x');
}

/** Results of a tool besides plain values. */
const HANDED: readonly Make[] = [
  never,
  // oxlint-disable-next-line unicorn/no-thenable -- a thenable that never settles is what is tried
  () => ({ then: () => undefined }),
  endless,
  () => new ReadableStream({ pull: never }),
  () => Readable.from(['a', 'b']),
  () => new Response('body'),
  ...HOSTILE_BYTES.map(([, make]) => make),
];

const CALL = { id: 'x', name: 'act', arguments: '{}' };
const validAnswer = record(
  {
    content: string(),
    toolCalls: constantFrom(
      [],
      [CALL],
      [CALL, CALL],
      [{ ...CALL, name: 'nobody' }],
      [{ ...CALL, arguments: '{"a":' }],
      [{ ...CALL, arguments: '['.repeat(20_000) }],
    ),
    end: constantFrom('complete', 'cut_off', 'refusal'),
    usage: record({
      inputTotal: constantFrom(9, Number.NaN),
      output: constantFrom(3, -1),
      outputKept: constantFrom(3),
    }),
    model: string({ minLength: 1 }),
    raw: record({ format: constantFrom('openai-chat'), model: string(), items: constantFrom([{ a: 1 }]) }),
  },
  { requiredKeys: ['content', 'toolCalls'] },
);

/** A ModelError with any kind, message and options. */
function badModelError(): Arbitrary<Make> {
  const kind = oneof(
    constantFrom<Make[]>(
      () => 'retry',
      () => 'invalid',
      () => 'fatal',
      () => 'odd',
    ),
    badValue(),
  );
  return tuple(kind, badValue(), badValue()).map(([makeKind, makeMessage, makeOption]) => () => {
    const error = new ModelError('fatal', 'x');
    Object.defineProperty(error, 'kind', { value: makeKind() });
    Object.defineProperty(error, 'message', { value: makeMessage() });
    Object.defineProperty(error, 'retryAt', { value: makeOption() });
    Object.defineProperty(error, 'code', { value: makeOption() });
    return error;
  });
}

function listCases(): Case[] {
  const values: Readonly<Record<Case['kind'], Arbitrary<Make>>> = {
    'tool throws': badValue(),
    'tool answers': oneof({ arbitrary: badValue(), weight: 4 }, { arbitrary: constantFrom(...HANDED), weight: 1 }),
    'model throws': badValue(),
    'model throws a ModelError': badModelError(),
    'model answers': spoiled(validAnswer),
  };
  const each = Math.ceil(countCases(CASES) / KINDS.length);
  const lists = KINDS.map((kind) =>
    sample(values[kind], { numRuns: each, seed: SEED }).map((make) => ({ kind, make })),
  );
  // All kinds run side by side.
  return Array.from({ length: each }, (_, index) => lists.flatMap((list) => list[index] ?? [])).flat();
}

/** An agent whose model and tool follow the case of a conversation. The user message names the case. */
function openAgent(values: ReadonlyMap<string, { readonly kind: Case['kind']; readonly value: unknown }>): Agent {
  const asked = new Set<string>();
  const act: Tool = {
    name: 'act',
    description: 'acts',
    input: z.looseObject({ of: z.string().optional() }),
    timeoutMs: TOOL_TIMEOUT_MS,
    run: (async ({ of = '' }: { readonly of?: string }) => {
      const { kind, value } = values.get(of) ?? {};
      if (kind === 'tool throws') throw value;
      return kind === 'tool answers' ? value : 'fine';
    }) as () => Promise<string>,
  };
  const generate = async ({ messages }: ModelRequest): Promise<ModelAnswer> => {
    const name = messages.find(({ role }) => role === 'user')?.content ?? '';
    const { kind, value } = values.get(name) ?? {};
    const isFirst = !asked.has(name);
    asked.add(name);
    if (isFirst && kind !== undefined && kind.startsWith('model throws')) throw value;
    if (isFirst && kind === 'model answers') return value as ModelAnswer;
    if (!isFirst) return { content: 'done', toolCalls: [] };
    return { content: '', toolCalls: [{ ...CALL, arguments: JSON.stringify({ of: name }) }] };
  };
  const { profile } = scriptedModel({ decide: () => ({}) });
  return { name: 'fuzzed', system: '', policy: {}, tools: [act], model: { profile, generate } satisfies Model };
}

/** Waits until the turn is settled or waits for a retry. */
async function untilEnded(client: OpenClient, conversation: string): Promise<TurnView> {
  for (;;) {
    const view = await client.result(conversation, 't1', { waitMs: 1_000 });
    if (isSettled(view.state) || view.state === 'waiting') return view;
  }
}

/** Checks that each call of the log has one result, and that all stored values are bounded. */
async function checkRecords(client: OpenClient, conversation: string, view: TurnView): Promise<void> {
  const log = (await client.log(conversation)).map(({ message }) => message);
  const calls = log.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id));
  const results = log.flatMap(({ toolCallId }) => toolCallId ?? []);
  expect(results.toSorted(), 'each call has one result').toEqual(calls.toSorted());
  expect(new Set(calls).size).toBe(calls.length);
  expect(JSON.stringify(log).length).toBeLessThan(LONGEST_LOG_CHARACTERS);
  expect(JSON.stringify(view.failure ?? {}).length).toBeLessThan(LONGEST_FAILURE_CHARACTERS);
}

test('a turn on Redis ends with an answer or a coded failure, whatever tools and models do, and other conversations are served', {
  timeout: 600_000,
}, async () => {
  const redis = await provideRedis(readRedisSource());
  onTestFinished(() => redis.stop());
  const values = new Map<string, { readonly kind: Case['kind']; readonly value: unknown }>();
  const events: WorkerEvent[] = [];
  const workers = await startWorkers({
    redisUrl: redis.url,
    shards: 4,
    agents: [openAgent(values)],
    concurrency: { turn: 2 * AT_ONCE },
    shutdownMs: 2_000,
    onEvent: (event) => void events.push(event),
  });
  onTestFinished(async () => void (await workers.close()));
  const client = await openClient({ redisUrl: redis.url, shards: 4 });
  onTestFinished(() => client.close());

  let count = 0;
  const serve = async (given?: Case): Promise<void> => {
    count += 1;
    const name = `c${count}`;
    if (given !== undefined) values.set(name, { kind: given.kind, value: given.make() });
    await client.enqueueTurn({ conversation: name, agent: 'fuzzed', turn: 't1', input: name });
    const view = await untilEnded(client, name);
    if (given === undefined || given.kind.startsWith('tool'))
      expect(view, given?.kind).toMatchObject({ state: 'completed' });
    if (view.state === 'failed') expect(isErrorCode(view.failure?.code), view.failure?.code).toBe(true);
    if (view.state === 'waiting') await client.cancel(name, 't1');
    await checkRecords(client, name, view);
    values.delete(name);
  };
  const cases = listCases();
  // Code that the first turn compiles and loads is not measured.
  await serve();
  for (let at = 0; at < cases.length; at += AT_ONCE) {
    const batch = cases.slice(at, at + AT_ONCE);
    const held = await measureHeldMs(() => Promise.all([...batch.map(serve), serve()]));
    if (held < MAX_HELD_MS) continue;
    // The garbage of other cases may be collected during a case. A case that blocks the loop does so alone, too.
    for (const one of batch) {
      const alone = await measureHeldMs(() => serve(one));
      if (alone >= MAX_HELD_MS) expect(alone, `the event loop was held by: ${one.kind}`).toBeLessThan(maxHeldMs());
    }
  }
  expect(count).toBeGreaterThan(cases.length);
  const claims = events.filter(({ type }) => type === 'turn_claimed');
  // A retry may be due at once, before the turn is canceled here.
  const retries = events.filter((event) => event.type === 'turn_suspended' && event.for === 'retry');
  expect(claims.length, 'one claim each').toBeLessThanOrEqual(count + retries.length);
  const retried = new Set(retries.map(({ conversation }) => conversation));
  const isCanceledRetry = (event: WorkerEvent): boolean =>
    event.type === 'lease_lost' && event.why === 'canceled' && retried.has(event.conversation);
  const faults = events.filter((event) => event.type === 'worker_failed' || event.type === 'lease_lost');
  expect(faults.filter((event) => !isCanceledRetry(event))).toEqual([]);
});
