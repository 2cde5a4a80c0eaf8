import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTalker, type Fixture, openFixture } from '../fixture.ts';

const agent = 'talker';
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

async function openTurns(conversation: string): Promise<void> {
  const { client } = fixture;
  await client.enqueueTurn({ conversation, agent, turn: 't1', input: 'hold' });
  await expect.poll(() => client.result(conversation, 't1')).toMatchObject({ state: 'running' });
  await client.enqueueTurn({ conversation, agent, turn: 't2', input: 'second' });
}

const conflict = { code: 'conflict', field: 'replacedBy' };

test('a turn that no worker has begun is replaced by one other turn, and a repeated call changes nothing', async () => {
  const { client } = fixture;
  await openTurns('queued');
  for (let call = 1; call <= 2; call += 1) {
    expect(await client.cancel('queued', 't2', { replacedBy: 't3' })).toBe('canceled');
  }
  await expect(client.cancel('queued', 't2', { replacedBy: 't4' })).rejects.toMatchObject(conflict);
  expect(await client.cancel('queued', 't2'), 'a cancel without a replacement').toBe('canceled');
  const later = { conversation: 'queued', agent, turn: 'later', input: 'later', delayMs: 3_600_000 };
  await client.enqueueTurn(later);
  expect(await client.cancel('queued', 'later', { replacedBy: 't3' }), 'scheduled').toBe('canceled');
  expect((await client.openTurns('queued')).turns).toMatchObject([{ turn: 't1' }]);
});

test('a turn that has begun, or that was canceled otherwise, is not replaced', async () => {
  const { client } = fixture;
  await openTurns('begun');
  await expect(client.cancel('begun', 't1', { replacedBy: 't3' })).rejects.toMatchObject(conflict);
  expect(await client.result('begun', 't1')).toMatchObject({ state: 'running' });
  await client.cancel('begun', 't2');
  await expect(client.cancel('begun', 't2', { replacedBy: 't3' })).rejects.toMatchObject(conflict);
  const invalid = { code: 'invalid_input', field: 'replacedBy' };
  await expect(client.cancel('begun', 't1', { replacedBy: 'not an id' })).rejects.toMatchObject(invalid);
  expect(await client.cancel('begun', 't1')).toBe('canceled');
});

test('a first turn that is replaced before a worker begins it leaves its place to the next turn', async () => {
  const idle = await openFixture();
  try {
    for (const turn of ['t1', 't2']) {
      await idle.client.enqueueTurn({ conversation: 'idle', agent, turn, input: 'hello' });
    }
    expect(await idle.client.cancel('idle', 't1', { replacedBy: 't3' })).toBe('canceled');
    await idle.startWorkers([createTalker(Promise.resolve())]);
    expect(await idle.client.result('idle', 't2', { waitMs: 60_000 })).toMatchObject({ state: 'completed' });
  } finally {
    await idle.close();
  }
});
