import { Queue, QueueEvents } from 'bullmq';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ErrorCode } from '../../src/domain/errors.ts';
import { INBOX_LIMITS, INBOX_QUEUE, queuePrefix } from '../../src/jobs/queues.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';

let fixture: Fixture;
let queue: Queue;
let events: QueueEvents;
beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers(undefined, { inbox: true });
  const { hostname: host, port } = new URL(fixture.url);
  const options = { connection: { host, port: Number(port) }, prefix: queuePrefix(0) };
  queue = new Queue(INBOX_QUEUE, options);
  events = new QueueEvents(INBOX_QUEUE, options);
  await events.waitUntilReady();
});
afterAll(async () => {
  await events.close();
  await queue.close();
  await fixture.close();
});

const agent = 'talker';

/** Adds a job and waits until it has failed. @returns its reason */
async function refusal(data: unknown, name = 'turn'): Promise<{ code: ErrorCode; field?: string }> {
  const job = await queue.add(name, data, { attempts: 3 });
  const reason: unknown = await job.waitUntilFinished(events, 60_000).catch((error: Error) => error.message);
  expect(await queue.getJob(job.id ?? '')).toMatchObject({ attemptsMade: 1 });
  return JSON.parse(String(reason)) as { code: ErrorCode; field?: string };
}

test('a job in the inbox becomes a turn, whose id follows from the id of the job', async () => {
  const data = { conversation: 'in-1', agent, input: 'hello', context: { user: 'u1' } };
  const job = await queue.add('turn', data, { jobId: 'order-4711' });
  expect(await job.waitUntilFinished(events, 60_000)).toEqual({
    tenant: '_',
    conversation: 'in-1',
    turn: 'inbox-order-4711',
    state: 'queued',
    isNew: true,
  });
  expect(await fixture.client.result('in-1', 'inbox-order-4711', { waitMs: 60_000 })).toMatchObject({
    answer: { content: 'heard hello' },
  });
});

test('two inbox jobs with one turn id become one turn, and another input under that id fails with turn_conflict', async () => {
  const data = { tenant: 'acme', conversation: 'in-2', agent, input: 'hello', turn: 't1' };
  const jobs = await Promise.all([queue.add('turn', data), queue.add('turn', data)]);
  const accepted = await Promise.all(jobs.map((job) => job.waitUntilFinished(events, 60_000) as Promise<object>));
  expect(accepted).toMatchObject([{ turn: 't1' }, { turn: 't1' }]);
  expect(accepted.filter((turn) => 'isNew' in turn && turn.isNew === true)).toHaveLength(1);
  expect(await refusal({ ...data, input: 'other' })).toMatchObject({ code: 'turn_conflict', field: 'turn' });
  await fixture.client.result({ tenant: 'acme', conversation: 'in-2' }, 't1', { waitMs: 60_000 });
  expect(await fixture.client.log({ tenant: 'acme', conversation: 'in-2' })).toHaveLength(2);
});

test('an inbox job that lost its lock after its turn was accepted is delivered again as the same turn', async () => {
  const job = await queue.add('turn', { conversation: 'in-again', agent, input: 'hello' });
  const first = (await job.waitUntilFinished(events, 60_000)) as { turn: string };
  expect(first.turn).toBe(`inbox-${job.id}-${job.timestamp}`);
  await job.retry('completed');
  const second: unknown = await job.waitUntilFinished(events, 60_000);
  expect(second).toMatchObject({ turn: first.turn, isNew: false });
});

const deep = (levels: number): unknown => (levels === 0 ? 1 : { at: deep(levels - 1) });
const valid = { conversation: 'in-3', agent, input: 'x' };

test.each<[why: string, data: unknown, expected: object]>([
  ['that is no object', 'turn', { code: 'invalid_input' }],
  ['that is null', null, { code: 'invalid_input' }],
  ['without an input', { conversation: 'in-3', agent }, { code: 'invalid_input', field: 'input' }],
  ['with an invalid id', { ...valid, conversation: 'a/b' }, { code: 'invalid_input', field: 'conversation' }],
  ['with an unknown field', { ...valid, more: 1 }, { code: 'invalid_input', field: 'more' }],
  ['with an unknown onBusy', { ...valid, onBusy: 'wait' }, { code: 'invalid_input', field: 'onBusy' }],
  ['with a context that is too deep', { ...valid, context: deep(60) }, { code: 'invalid_input' }],
  ['with a context that is too large', { ...valid, context: { a: 'x'.repeat(20_000) } }, { code: 'message_too_large' }],
  [
    'with an input of over 1 MiB',
    { ...valid, input: 'x'.repeat(1_100_000) },
    { code: 'message_too_large', field: 'input' },
  ],
  [
    'over 8 MiB',
    { ...valid, input: 'x'.repeat(INBOX_LIMITS.dataCharacters) },
    { code: 'message_too_large', field: 'job.data' },
  ],
])('an inbox job with data %s fails once with code and field, and writes nothing', async (_, data, expected) => {
  expect(await refusal(data)).toMatchObject(expected);
  await expect(fixture.client.describe('in-3')).rejects.toMatchObject({ code: 'not_found' });
});

test('an inbox job fails if its name is not turn or its data is not JSON', async () => {
  expect(await refusal(valid, 'mail')).toMatchObject({ code: 'invalid_input', field: 'job.name' });
  await queue.pause();
  const job = await queue.add('turn', valid);
  await fixture.redis.hset(queue.toKey(job.id ?? ''), 'data', '{"conversation":');
  await queue.resume();
  await expect(job.waitUntilFinished(events, 60_000)).rejects.toThrow('invalid_input');
  await fixture.client.enqueueTurn({ conversation: 'in-4', agent, input: 'x', turn: 't1' });
  expect(await fixture.client.result('in-4', 't1', { waitMs: 60_000 })).toMatchObject({ state: 'completed' });
});

test('an inbox job with onBusy reject fails with conversation_busy while a turn of the conversation waits', async () => {
  await fixture.client.enqueueTurn({ conversation: 'in-5', agent, input: 'call ask', turn: 't1' });
  const data = { conversation: 'in-5', agent, input: 'x', onBusy: 'reject' };
  expect(await refusal(data)).toMatchObject({ code: 'conversation_busy', field: 'conversation' });
});
