import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTalker, type Fixture, openFixture } from './fixture.ts';

const gate = Promise.withResolvers<void>();
let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createTalker(gate.promise)]);
});
afterAll(async () => {
  gate.resolve();
  await fixture.close();
});

const agent = 'talker';

test('a turn that waits longer than its deadline fails with turn_timeout', async () => {
  await fixture.client.enqueueTurn({ conversation: 'd-wait', agent, input: 'call ask', turn: 't1', deadlineMs: 300 });
  expect(await fixture.client.result('d-wait', 't1', { waitMs: 60_000 })).toMatchObject({
    state: 'failed',
    failure: { code: 'turn_timeout', details: { deadlineMs: 300 } },
  });
});

test('the deadline of a turn aborts its model call', async () => {
  await fixture.client.enqueueTurn({ conversation: 'd-call', agent, input: 'hold', turn: 't1', deadlineMs: 300 });
  expect(await fixture.client.result('d-call', 't1', { waitMs: 60_000 })).toMatchObject({
    state: 'failed',
    failure: { code: 'turn_timeout' },
  });
});

test('a turn whose deadline passed in the queue fails without a model call, and the next turn runs', async () => {
  await fixture.client.enqueueTurn({ conversation: 'd-queue', agent, input: 'call ask', turn: 't1' });
  await fixture.client.enqueueTurn({ conversation: 'd-queue', agent, input: 'late', turn: 't2', deadlineMs: 1 });
  await fixture.client.enqueueTurn({ conversation: 'd-queue', agent, input: 'x', turn: 't3', deadlineMs: 3_600_000 });
  await expect
    .poll(async () => (await fixture.client.result('d-queue', 't1')).state, { timeout: 60_000 })
    .toBe('waiting');
  await fixture.client.cancel('d-queue', 't1');
  const late = await fixture.client.result('d-queue', 't2', { waitMs: 60_000 });
  expect(late).toMatchObject({ state: 'failed', failure: { code: 'turn_timeout' }, requestTokens: [] });
  expect(await fixture.client.result('d-queue', 't3', { waitMs: 60_000 })).toMatchObject({ state: 'completed' });
});

test('a model call that would exceed the token limit of its turn is not made, and the turn fails with token_limit', async () => {
  const ask = async (turn: string, maxTurnTokens: number, input = 'call echo') => {
    await fixture.client.enqueueTurn({ conversation: `k-${turn}`, agent, input, turn, maxTurnTokens });
    return await fixture.client.result(`k-${turn}`, turn, { waitMs: 60_000 });
  };
  expect(await ask('t1', 1)).toMatchObject({ failure: { code: 'token_limit' }, requestTokens: [] });
  const { requestTokens, usage } = await ask('t2', 100_000);
  const [first = 0, second = 0] = requestTokens;
  const spent = usage === undefined ? first + second : usage.inputTokens + usage.outputTokens;
  expect(requestTokens).toHaveLength(2);
  const failed = await ask('t3', Math.min(first, spent) + 1);
  expect(failed).toMatchObject({ state: 'failed', failure: { code: 'token_limit' }, requestTokens: [first] });
});

test('enqueueTurn refuses an invalid deadline or token limit of a turn, and the error names the field', async () => {
  for (const wrong of [{ deadlineMs: 0 }, { deadlineMs: 1.5 }, { maxTurnTokens: 0 }, { maxTurnTokens: 1e12 }]) {
    const call = fixture.client.enqueueTurn({ conversation: 'k-bad', agent, input: 'x', ...wrong });
    await expect(call).rejects.toMatchObject({ code: 'invalid_input', field: Object.keys(wrong)[0] });
  }
});
