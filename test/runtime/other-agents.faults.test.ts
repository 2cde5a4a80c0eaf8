import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import type { Agent } from '../../src/domain/agent.ts';
import { openFleet } from '../../src/host/health/fleet.ts';
import { ROLES, startWorkers, type WorkerRole, type Workers } from '../../src/host/start-workers.ts';
import { createTalker, type Fixture, openFixture, SHARDS, talk } from '../client/fixture.ts';

const TURNS = 40;
const WAIT_MS = 60_000;
const FLEET = {
  shards: SHARDS,
  queueShards: 1,
  inbox: false,
  stuckMs: 60_000,
  grafanaUrl: undefined,
  onError: () => undefined,
  keptMs: 0,
};

let fixture: Fixture;
const started: Workers[] = [];
beforeEach(async () => {
  fixture = await openFixture();
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((workers) => workers.close()));
  await fixture.close();
});

/** A deployment: a worker process with these agents. */
async function deploy(
  agents: readonly Agent[],
  missingAgentMs?: number,
  roles: readonly WorkerRole[] = ROLES,
): Promise<Workers> {
  const workers = await startWorkers({
    redisUrl: fixture.url,
    agents,
    roles,
    shards: SHARDS,
    shutdownMs: 2_000,
    metrics: { host: '127.0.0.1', port: 0 },
    ...(missingAgentMs !== undefined && { missingAgentMs }),
  });
  started.push(workers);
  return workers;
}

const known = createTalker();
const added: Agent = { ...createTalker(), name: 'added', policy: { retentionWindow: 2, maxTokens: 2_000 } };

test('during a rollout, every turn of a new agent waits until a worker has the agent', async () => {
  const { client } = fixture;
  await deploy([known]);
  await deploy([known, added]);
  const names = Array.from({ length: TURNS }, (_, at) => `c${at}`);
  await Promise.all(
    names.map((conversation) => client.enqueueTurn({ conversation, agent: 'added', turn: 't', input: 'hello' })),
  );
  const ends = await Promise.all(names.map((name) => client.result(name, 't', { waitMs: WAIT_MS })));
  expect(ends.map(({ state, answer }) => [state, answer?.content])).toEqual(
    names.map(() => ['completed', 'heard hello']),
  );
});

test('a turn stays queued while no worker has its agent, and is answered once a worker has the agent', async () => {
  const { client } = fixture;
  const old = await deploy([known]);
  await client.enqueueTurn({ conversation: 'early', agent: 'added', turn: 't', input: 'hello' });
  const fleet = await openFleet({ url: fixture.url, ...FLEET });
  onTestFinished(() => fleet.close());
  const readFindings = async () => (await fleet.read()).findings.filter(({ name }) => name === 'agents');
  await expect
    .poll(readFindings, { timeout: WAIT_MS })
    .toMatchObject([
      { state: 'wrong', what: expect.stringContaining('of its role has: added (role turn, for') as string },
    ]);
  expect(await (await fetch(old.metricsUrl ?? '')).text()).toMatch(
    /^turnfold_agent_missing_seconds (?:0\.\d*[1-9]|[1-9])/m,
  );
  expect(await client.result('early', 't')).toMatchObject({ state: 'queued' });
  await deploy([added]);
  expect(await client.result('early', 't', { waitMs: WAIT_MS })).toMatchObject({ state: 'completed' });
  await expect.poll(readFindings, { timeout: WAIT_MS }).toMatchObject([{ state: 'ok' }]);
});

test('a compaction pass and its summaries wait for workers that have the agent of the conversation', async () => {
  const { client } = fixture;
  await deploy([known]);
  await client.append({ conversation: 'long', agent: 'added', messages: talk(12) });
  await client.compact('long');
  const ends: string[] = [];
  const events = (async () => {
    for await (const event of client.events('long', { after: '0', waitMs: WAIT_MS })) {
      if (event.type === 'pass_ended') ends.push(event.outcome);
      if (event.type === 'version_committed' || event.type === 'pass_ended') return event;
    }
    return undefined;
  })();
  await deploy([known, added]);
  expect(await events).toMatchObject({ type: 'version_committed' });
  expect(ends).toEqual([]);
});

test('a worker without the role for turns does not serve the turns of its agents', async () => {
  const { client } = fixture;
  await deploy([known], 1_500, ['turn']);
  await deploy([known, added], 1_500, ['compaction', 'summarization']);
  await client.enqueueTurn({ conversation: 'split', agent: 'added', turn: 't', input: 'hello' });
  expect(await client.result('split', 't', { waitMs: WAIT_MS })).toMatchObject({ failure: { code: 'unknown_agent' } });
});

test('a turn fails as unknown_agent once no running worker has had its agent for the configured time', async () => {
  const { client } = fixture;
  await deploy([known], 500);
  await client.enqueueTurn({ conversation: 'lost', agent: 'added', turn: 't', input: 'hello' });
  expect(await client.result('lost', 't', { waitMs: WAIT_MS })).toMatchObject({
    state: 'failed',
    failure: {
      code: 'unknown_agent',
      message: expect.stringContaining('no running worker has an agent named "added"') as string,
    },
  });
  await client.enqueueTurn({ conversation: 'kept', agent: 'talker', turn: 't', input: 'hello' });
  expect(await client.result('kept', 't', { waitMs: WAIT_MS })).toMatchObject({ state: 'completed' });
});
