import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { aiSdkApp } from '../../src/api/http/index.ts';
import { createTalker, openFixture } from '../client/fixture.ts';

const HOUR_MS = 3_600_000;

const fixture = await openFixture();
await fixture.startWorkers([createTalker()]);
afterEach(() => void vi.useRealTimers());
afterAll(() => fixture.close());

test.each([
  ['ahead of', HOUR_MS],
  ['behind', -HOUR_MS],
])(
  'a page resumes an answer that has just ended, and no earlier answer, on a server an hour %s Redis',
  async (_, offMs) => {
    const open = (replayMs: number) =>
      aiSdkApp({ authenticate: 'none', clientFor: () => fixture.client, agent: 'talker', replayMs });
    const id = `clock${offMs}`;
    await fixture.client.enqueueTurn({ conversation: id, agent: 'talker', input: 'hello', turn: 't1' });
    const { settledAt = 0 } = await fixture.client.result(id, 't1', { waitMs: 60_000 });
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + offMs });
    expect((await open(HOUR_MS / 2).request(`/v1/chat/${id}/stream`)).status).toBe(200);
    await expect.poll(async () => (await fixture.client.openTurns(id)).at).toBeGreaterThan(settledAt);
    expect((await open(1).request(`/v1/chat/${id}/stream`)).status).toBe(204);
  },
);
