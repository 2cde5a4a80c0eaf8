import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Fixture, openFixture } from '../fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers();
});
afterAll(() => fixture.close());

test('a failed turn is listed with its failure, and redrive enqueues its input once for each operation id', async () => {
  const { client } = fixture;
  const { turn } = await client.enqueueTurn({
    conversation: 'failed',
    agent: 'nobody',
    input: 'x',
    metadata: { request: 'r-1' },
  });
  const view = await client.result('failed', turn, { waitMs: 60_000 });
  expect(view).toMatchObject({ state: 'failed', failure: { code: 'unknown_agent' } });
  const [listed] = await client.failedTurns({ code: 'unknown_agent', limit: 10_000 });
  expect(listed).toMatchObject({ tenant: '_', conversation: 'failed', turn, failure: { code: 'unknown_agent' } });
  expect(await client.failedTurns({ code: 'poison' })).toEqual([]);

  const redriven = await client.redrive('failed', turn);
  expect(redriven).toMatchObject({ tenant: '_', conversation: 'failed', isNew: true });
  expect(await client.redrive('failed', turn)).toMatchObject({ turn: redriven.turn, isNew: false });
  expect(await client.result('failed', redriven.turn)).toMatchObject({ metadata: { request: 'r-1' } });
  const other = await client.redrive('failed', turn, { operation: 'again' });
  expect(other.turn).not.toBe(redriven.turn);
  await expect(client.redrive('failed', 'none')).rejects.toMatchObject({ code: 'not_found', field: 'turn' });
});
