import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { agentOf } from './agents.ts';
import { eventually, type Fixture, openFixture, settled } from './fixture.ts';

async function useFixture(): Promise<Fixture> {
  const fixture = await openFixture();
  onTestFinished(() => fixture.close());
  return fixture;
}

/** The test's own connection, and two of its client. A third one subscribes once the client waits for a turn. */
const OWN_CONNECTIONS = 3;

async function expectConnections({ redis }: Fixture, count: number): Promise<void> {
  await eventually(
    async () =>
      String(await redis.client('LIST'))
        .trim()
        .split('\n').length,
    (seen) => expect(seen).toBe(count),
  );
}

it('a failed start of workers leaves no Redis connection open', async () => {
  const fixture = await useFixture();
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  onTestFinished(() => void taken.close());
  const { port } = taken.address() as AddressInfo;
  await expectConnections(fixture, OWN_CONNECTIONS);
  await expect(fixture.startWorkers(agentOf(), { metricsPort: port })).rejects.toMatchObject({
    code: 'invalid_config',
    field: 'metrics.port',
  });
  await expectConnections(fixture, OWN_CONNECTIONS);
});

it('startWorkers refuses an impossible policy before it opens a connection', async () => {
  const fixture = await useFixture();
  await expectConnections(fixture, OWN_CONNECTIONS);
  const policy = { maxTokens: 1_000, tokenThreshold: 10 };
  await expect(fixture.startWorkers(agentOf({ policy }))).rejects.toMatchObject({ code: 'invalid_policy' });
  await expect(fixture.startWorkers({ ...agentOf(), name: 'a b' })).rejects.toMatchObject({
    code: 'invalid_config',
    field: 'agents.a b',
  });
  for (const turnTimeoutMs of [0, 2 ** 31, Number.NaN]) {
    await expect(fixture.startWorkers({ ...agentOf(), turnTimeoutMs })).rejects.toMatchObject({
      code: 'invalid_config',
      field: 'agents.guide.turnTimeoutMs',
    });
  }
  await expectConnections(fixture, OWN_CONNECTIONS);
});

it('closing workers ends their connections and their metrics page', async () => {
  const fixture = await useFixture();
  await expectConnections(fixture, OWN_CONNECTIONS);
  const workers = await fixture.startWorkers(agentOf(), { metricsPort: 0 });
  await fixture.client.enqueueTurn({ conversation: 'c1', agent: 'guide', turn: 't1', input: 'hello' });
  await settled(fixture, 'c1', 't1');
  await eventually(
    async () => await (await fetch(workers.metricsUrl ?? '')).text(),
    (page) => expect(page).toContain('turnfold_turns_total{outcome="completed",code="none"} 1'),
  );
  expect(await workers.close()).toBe('closed');
  await expect(fetch(workers.metricsUrl ?? '')).rejects.toThrow('fetch failed');
  await expectConnections(fixture, OWN_CONNECTIONS + 1);
  expect(workers.events.filter(({ type }) => type === 'worker_failed')).toEqual([]);
});

it('the gauge of waiting turns counts one turn for each conversation', async () => {
  const fixture = await useFixture();
  const { metricsUrl = '' } = await fixture.startWorkers(agentOf(), { roles: ['compaction'], metricsPort: 0 });
  for (const [conversation, turn] of [
    ['c1', 't1'],
    ['c1', 't2'],
    ['c2', 't1'],
  ] as const) {
    await fixture.client.enqueueTurn({ conversation, agent: 'guide', turn, input: 'hello' });
  }
  expect(await (await fetch(metricsUrl)).text()).toContain('\nturnfold_waiting_turns 2\n');
  await fixture.startWorkers(agentOf(), { roles: ['turn'] });
  await settled(fixture, 'c1', 't2');
  await settled(fixture, 'c2', 't1');
  await eventually(
    async () => await (await fetch(metricsUrl)).text(),
    (page) => expect(page).toContain('\nturnfold_waiting_turns 0\n'),
  );
});
