import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { QUEUES, queuePrefix } from '../../../src/jobs/queues.ts';
import { type Fixture, isOverHttp, openFixture } from '../fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

const agent = 'talker';

describe('a repeated turn id', () => {
  const turn = { conversation: 'again', agent, input: 'hello', turn: 't1' };

  test('enqueueTurn repeated with the same turn id accepts one turn and returns its current state', async () => {
    expect(await fixture.client.enqueueTurn(turn)).toStrictEqual({
      tenant: '_',
      conversation: 'again',
      turn: 't1',
      state: 'queued',
      isNew: true,
    });
    expect(await fixture.client.enqueueTurn(turn)).toMatchObject({ turn: 't1', state: 'queued', isNew: false });
    await fixture.client.cancel('again', 't1');
    expect(await fixture.client.enqueueTurn(turn)).toMatchObject({ state: 'canceled', isNew: false });
  });

  test.each([{ input: 'hullo' }, { agent: 'other' }, { context: { plan: 'pro' } }])(
    'enqueueTurn with a known turn id and another payload fails with a conflict: %j',
    async (change) => {
      await fixture.client.enqueueTurn(turn);
      await expect(fixture.client.enqueueTurn({ ...turn, ...change })).rejects.toMatchObject({
        code: 'turn_conflict',
        field: 'turn',
      });
    },
  );

  test.skipIf(isOverHttp())('the same turn id in another conversation or tenant is a different turn', async () => {
    for (const place of [{ conversation: 'again-2' }, { tenant: 'acme' }]) {
      expect(await fixture.client.enqueueTurn({ ...turn, ...place })).toMatchObject({ isNew: true });
    }
    expect(await fixture.client.result({ tenant: 'acme', conversation: 'again' }, 't1')).toMatchObject({
      state: 'queued',
    });
  });
});

test('enqueueTurn with another agent than that of the conversation fails with agent_conflict', async () => {
  await fixture.client.enqueueTurn({ conversation: 'owned', agent, input: 'x', turn: 't1' });
  await expect(
    fixture.client.enqueueTurn({ conversation: 'owned', agent: 'other', input: 'x', turn: 't2' }),
  ).rejects.toMatchObject({ code: 'agent_conflict', field: 'agent', details: { agent } });
  await expect(fixture.client.result('owned', 't2')).rejects.toMatchObject({ code: 'not_found' });
});

test('a turn without an id gets a new id', async () => {
  const first = await fixture.client.enqueueTurn({ conversation: 'ids', agent, input: 'x' });
  const second = await fixture.client.enqueueTurn({ conversation: 'ids', agent, input: 'x' });
  expect(second.turn > first.turn).toBe(true);
});

test('a delayed turn is scheduled until it is due', async () => {
  const accepted = await fixture.client.enqueueTurn({ conversation: 'later', agent, input: 'x', delayMs: 60_000 });
  expect(accepted.state).toBe('scheduled');
  expect(await fixture.client.enqueueTurn({ conversation: 'later', agent, input: 'x' })).toMatchObject({
    state: 'queued',
  });
});

test('enqueueTurn fails once maxQueuedTurns turns are queued, reports their number in the error, and succeeds after a turn has settled', async () => {
  const turn = { conversation: 'full', agent, input: 'x', maxQueuedTurns: 2 };
  await fixture.client.enqueueTurn({ ...turn, turn: 't1' });
  await fixture.client.enqueueTurn({ ...turn, turn: 't2' });
  await expect(fixture.client.enqueueTurn({ ...turn, turn: 't3' })).rejects.toMatchObject({
    code: 'mailbox_full',
    field: 'conversation',
    details: { queued: 2 },
  });
  await expect(fixture.client.result('full', 't3')).rejects.toMatchObject({ code: 'not_found', field: 'turn' });

  await fixture.client.cancel('full', 't1');
  expect(await fixture.client.enqueueTurn({ ...turn, turn: 't3' })).toMatchObject({ state: 'queued', isNew: true });
});

test('workers run a turn with a priority before turns of other conversations', async () => {
  const connection = new Redis(fixture.url, { maxRetriesPerRequest: null });
  const queue = new Queue(QUEUES.turn, { connection, prefix: queuePrefix(0) });
  onTestFinished(async () => {
    await queue.close();
    connection.disconnect();
  });
  await fixture.client.enqueueTurn({ conversation: 'patient', agent, input: 'x' });
  await fixture.client.enqueueTurn({ conversation: 'urgent', agent, input: 'x', priority: 1 });

  const waiting = (await queue.getPrioritized(0, 100)).map((job) => JSON.stringify(job.data));
  const place = (id: string): number => waiting.findIndex((data) => data.includes(id));
  expect(place('urgent')).toBe(0);
  expect(place('patient')).toBeGreaterThan(0);
});

test('a delay may be ten years, and a turn without a delay may have a priority', async () => {
  const far = { conversation: 'far', agent, input: 'x', turn: 't1', delayMs: 315_360_000_000 };
  expect(await fixture.client.enqueueTurn(far)).toMatchObject({ state: 'scheduled' });
  const { turns } = await fixture.client.openTurns('far');
  expect(turns[0]?.dueAt).toBeGreaterThan(Date.now() + far.delayMs - 3_600_000);
  const now = { conversation: 'far', agent, input: 'x', turn: 't2', delayMs: 0, priority: 1 };
  expect(await fixture.client.enqueueTurn(now)).toMatchObject({ state: 'queued' });
});

describe('the size of a message', () => {
  const size = (input: string): number => Buffer.byteLength(JSON.stringify({ role: 'user', content: input }));
  const largest = 'é'.repeat((1_048_576 - size('')) / 2);

  test('enqueueTurn accepts a message of 1 MiB', async () => {
    expect(size(largest)).toBeGreaterThan(1_048_574);
    expect(await fixture.client.enqueueTurn({ conversation: 'large', agent, input: largest })).toMatchObject({
      isNew: true,
    });
  });

  test('enqueueTurn refuses a message above 1 MiB and writes nothing', async () => {
    const refusal = fixture.client.enqueueTurn({ conversation: 'too-large', agent, input: `${largest}é` });
    await expect(refusal).rejects.toMatchObject({ code: 'message_too_large', field: 'input' });
    await expect(fixture.client.describe('too-large')).rejects.toMatchObject({ code: 'not_found' });
  });
});

test.each<[string, object]>([
  ['conversation', { conversation: 'a:b' }],
  ['conversation', { conversation: 'x'.repeat(129) }],
  ['conversation', { conversation: 7 }],
  ['tenant', { tenant: '' }],
  ['agent', { agent: 'no spaces' }],
  ['input', { input: '' }],
  ['input', { input: { text: 'x' } }],
  ['turn', { turn: 'a|b' }],
  ['delayMs', { delayMs: -1 }],
  ['delayMs', { delayMs: 0.5 }],
  ['priority', { priority: 0 }],
  ['delayMs', { delayMs: Number.MAX_SAFE_INTEGER }],
  ['delayMs', { delayMs: 315_360_000_001 }],
  ['priority', { priority: 1, delayMs: 60_000 }],
  ['maxQueuedTurns', { maxQueuedTurns: 0 }],
])('the error of enqueueTurn names the invalid field %s of %j', async (field, change) => {
  const payload = { conversation: 'malformed', agent, input: 'x', ...change };
  await expect(fixture.client.enqueueTurn(payload)).rejects.toMatchObject({ code: 'invalid_input', field });
});

test('enqueueTurn refuses an unknown field', async () => {
  const payload = { conversation: 'malformed', agent, input: 'x', model: 'gpt' };
  await expect(fixture.client.enqueueTurn(payload)).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringContaining('model') as string,
  });
});

describe('the metadata of a turn', () => {
  const metadata = { request: 'r-1', __proto: 'x', note: 'ä'.repeat(512) };

  test('result shows the metadata that enqueueTurn got', async () => {
    const turn = { conversation: 'noted', agent, input: 'hello', turn: 't1', metadata };
    await fixture.client.enqueueTurn(turn);
    expect(await fixture.client.result('noted', 't1')).toMatchObject({ state: 'queued', metadata });
    await expect(fixture.client.enqueueTurn({ ...turn, metadata: { request: 'r-2' } })).rejects.toMatchObject({
      code: 'turn_conflict',
    });
  });

  test.each<[string, Record<string, unknown>, string]>([
    ['17 names', Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`n${at}`, ''])), 'metadata'],
    ['a name of 65 characters', { ['n'.repeat(65)]: '' }, 'metadata'],
    ['a text of 513 characters', { note: 'x'.repeat(513) }, 'metadata.note'],
    ['a number', { note: 1 }, 'metadata.note'],
  ])('enqueueTurn refuses metadata with %s, and stores nothing', async (_, wrong, field) => {
    const turn = { conversation: 'unnoted', agent, input: 'hello', turn: 't1', metadata: wrong as {} };
    await expect(fixture.client.enqueueTurn(turn)).rejects.toMatchObject({
      code: 'invalid_input',
      field: expect.stringMatching(new RegExp(`^${field}`)) as string,
    });
    await expect(fixture.client.result('unnoted', 't1')).rejects.toMatchObject({ code: 'not_found' });
  });
});
