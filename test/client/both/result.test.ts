import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createClient } from '../../../src/api/client/client.ts';
import type { EventNotifications } from '../../../src/api/client/ports.ts';
import { storePorts } from '../../../src/api/client/ports.ts';
import type { TurnfoldClient } from '../../../src/api/contract/client.ts';
import { openWakeQueue } from '../../../src/jobs/bullmq/wake-queue.ts';
import { createIdSource } from '../../../src/jobs/id-source.ts';
import { connectStore } from '../../../src/store/connect-store.ts';
import { loadTokenCounter } from '../../../src/wire/tokens/token-counter.ts';
import { createTalker, type Fixture, openFixture } from '../fixture.ts';

const gate = Promise.withResolvers<void>();
let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createTalker(gate.promise)]);
});
afterAll(() => fixture.close());

const LONG_MS = 20_000;
const agent = 'talker';

/** A client over the fixture's Redis, with notifications that the test sends. */
async function openClientWith(change: (real: EventNotifications) => EventNotifications): Promise<TurnfoldClient> {
  const onError = (error: unknown): never => {
    throw error;
  };
  const { store, notifications, streamNotices, close } = await connectStore({
    url: fixture.url,
    shards: 4,
    failsFast: true,
  });
  const wakes = openWakeQueue({ url: fixture.url, shards: 1, failsFast: true, onError });
  onTestFinished(async () => {
    await wakes.close();
    await close();
  });
  return createClient({
    ...storePorts(store),
    notifications: change(notifications),
    streamNotices,
    wakes,
    queues: wakes,
    onError,
    currentTrace: () => undefined,
    counterFor: () => loadTokenCounter('o200k_base'),
    ids: createIdSource(),
    now: () => Date.now(),
  });
}

describe('a caller that waits for a result', () => {
  test('result with waitMs returns the answer of the turn', async () => {
    const { turn } = await fixture.client.enqueueTurn({ conversation: 'waits', agent, input: 'hello' });
    expect(await fixture.client.result('waits', turn, { waitMs: LONG_MS })).toMatchObject({
      state: 'completed',
      agent,
      answer: { content: 'heard hello', seq: 2 },
      inputSeq: 1,
    });
  });

  test('result with waitMs returns when a notification of the change arrives, without polling Redis', async () => {
    // The wait is an hour, so only a notice can end the call within the test's time limit.
    const client = await openClientWith((real) => ({ wait: (conversation) => real.wait(conversation, 3_600_000) }));
    const { turn } = await client.enqueueTurn({ conversation: 'noticed', agent, input: 'hello', delayMs: 300 });
    const view = await client.result('noticed', turn, { waitMs: 3_600_000 });
    expect(view.answer?.content).toBe('heard hello');
  });

  test('result with waitMs finds the answer by polling Redis if the notification of the change is lost', async () => {
    const waits: number[] = [];
    const client = await openClientWith(() => ({
      wait: async (_, ms) => {
        waits.push(ms);
        await setTimeout(ms / 10);
      },
    }));
    const { turn } = await client.enqueueTurn({ conversation: 'unheard', agent, input: 'hello', delayMs: 300 });
    const view = await client.result('unheard', turn, { waitMs: LONG_MS });
    expect(view.answer?.content).toBe('heard hello');
    expect(Math.max(...waits)).toBeLessThanOrEqual(1_000);
  });

  test('result returns the current state when waitMs is over', async () => {
    const { turn } = await fixture.client.enqueueTurn({ conversation: 'slow', agent, input: 'hold' });
    await expect.poll(async () => (await fixture.client.result('slow', turn)).state).toBe('running');
    expect(await fixture.client.result('slow', turn, { waitMs: 50 })).toMatchObject({ state: 'running' });
    gate.resolve();
    expect(await fixture.client.result('slow', turn, { waitMs: LONG_MS })).toMatchObject({
      state: 'completed',
      answer: { content: 'released' },
    });
  });

  test('result returns the failure of a turn', async () => {
    const { turn } = await fixture.client.enqueueTurn({ conversation: 'lost', agent: 'nobody', input: 'x' });
    expect(await fixture.client.result('lost', turn, { waitMs: LONG_MS })).toMatchObject({
      state: 'failed',
      failure: { code: 'unknown_agent', message: expect.stringContaining('nobody') as string },
    });
  });

  test('result returns the answers of several turns of one conversation in order', async () => {
    const turns = await Promise.all(
      ['a', 'b', 'c'].map((input) => fixture.client.enqueueTurn({ conversation: 'many', agent, input })),
    );
    const views = await Promise.all(turns.map(({ turn }) => fixture.client.result('many', turn, { waitMs: LONG_MS })));
    expect(views.map(({ answer }) => answer?.content)).toStrictEqual(['heard a', 'heard b', 'heard c']);
  });
});

test.each<[string, string, string, number | undefined]>([
  ['not_found', 'turn', 'nobody', undefined],
  ['invalid_input', 'turn', 'a:b', undefined],
  ['invalid_input', 'waitMs', 't1', -1],
  ['invalid_input', 'waitMs', 't1', Number.NaN],
])('result fails with %s and the error names the field %s', async (code, field, turn, waitMs) => {
  const call = fixture.client.result('waits', turn, waitMs === undefined ? {} : { waitMs });
  await expect(call).rejects.toMatchObject({ code, field });
});

test.each<[string, unknown]>([
  ['conversation', 'a b'],
  ['conversation', undefined],
  ['conversation', { tenant: '_', conversation: '' }],
  ['tenant', { tenant: 'a/b', conversation: 'x' }],
])('the error of result names the invalid %s of the conversation %j', async (field, name) => {
  const call = fixture.client.result(name as string, 't1');
  await expect(call).rejects.toMatchObject({ code: 'invalid_input', field });
});
