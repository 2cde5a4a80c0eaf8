import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTalker, type Fixture, openFixture } from '../fixture.ts';

const agent = 'talker';

const gate = Promise.withResolvers<void>();
let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createTalker(gate.promise)]);
});
afterAll(() => fixture.close());

test('the steps of a turn list its model and tool calls in order, with their times', async () => {
  const { client } = fixture;
  await client.enqueueTurn({ conversation: 'done', agent, input: 'call echo,echo', turn: 't1' });
  await client.result('done', 't1', { waitMs: 60_000 });
  const { begunAt = 0, steps, claim } = await client.steps('done', 't1');
  expect(steps.map(({ step, call, status }) => [step, call, status])).toEqual([
    [1, undefined, 'done'],
    [1, 'c2_0', 'done'],
    [1, 'c2_1', 'done'],
    [2, undefined, 'done'],
  ]);
  const [first, , , last] = steps;
  expect(first).toMatchObject({ from: 2, to: 2, tookMs: (first?.at ?? 0) - begunAt });
  expect(last?.at).toBeGreaterThanOrEqual(first?.at ?? Number.NaN);
  expect(claim).toBeUndefined();
});

test('the steps of a running turn show its attempt and the lease of its worker', async () => {
  const { client } = fixture;
  await client.enqueueTurn({ conversation: 'held', agent, input: 'hold', turn: 't1' });
  await expect
    .poll(() => client.steps('held', 't1'), { timeout: 60_000 })
    .toMatchObject({ claim: { attempts: 1, leaseUntil: expect.any(Number) } });
  expect(await client.steps('held', 't1')).toMatchObject({ steps: [], begunAt: expect.any(Number) });
  gate.resolve();
  await client.result('held', 't1', { waitMs: 60_000 });
});

test('the steps of an unclaimed turn are empty, and those of an unknown turn fail with not_found', async () => {
  const { client } = fixture;
  await client.enqueueTurn({ conversation: 'later', agent, input: 'x', turn: 't1', delayMs: 600_000 });
  expect(await client.steps('later', 't1')).toEqual({ steps: [] });
  await expect(client.steps('later', 't2')).rejects.toMatchObject({ code: 'not_found' });
});
