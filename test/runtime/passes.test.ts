import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Agent } from '../../src/domain/agent.ts';
import type { ModelRequest } from '../../src/domain/model.ts';
import { QUEUES } from '../../src/jobs/queues.ts';
import { agentOf, words } from './agents.ts';
import { eventsOf, eventually, type Fixture, openFixture, type RunningWorkers, settled } from './fixture.ts';
import { writeVersion } from './write-version.ts';

let fixture: Fixture;
let workers: RunningWorkers[] = [];

beforeAll(async () => {
  fixture = await openFixture();
});

afterAll(async () => {
  await closeWorkers();
  await fixture.close();
});

async function closeWorkers(): Promise<void> {
  await Promise.all(workers.map((one) => one.close()));
  workers = [];
}

/** The only workers of the fixture, until the next ones: all roles in one, or one each. */
async function useWorkers(agent: Agent, isSplit = false): Promise<readonly RunningWorkers[]> {
  await closeWorkers();
  const roles = isSplit ? (['turn', 'compaction', 'summarization'] as const).map((role) => [role]) : [undefined];
  workers = await Promise.all(roles.map((own) => fixture.startWorkers(agent, own === undefined ? {} : { roles: own })));
  return workers;
}

/** Four old sequences and a short end. */
async function appendSequences(conversation: string, tokens = 300): Promise<void> {
  const asked = { role: 'user' as const, content: words(10) };
  const said = { role: 'assistant' as const, content: `I will look. ${words(tokens)}` };
  const part = [asked, said, said];
  const messages = [...part, ...part, ...part, ...part, asked, { ...said, content: 'done' }];
  await fixture.client.append({ conversation, agent: 'guide', messages });
}

const enqueue = (conversation: string, turn: string, input: string) =>
  fixture.client.enqueueTurn({ conversation, turn, agent: 'guide', input });

async function untilCompacted(conversation: string, number = 1): Promise<void> {
  await eventually(
    () => fixture.client.describe(conversation),
    (state) => {
      expect(state.size.version).toBeGreaterThanOrEqual(number);
      expect(state.passId).toBeUndefined();
    },
  );
}

describe('a soft pass', () => {
  it('runs beside the turns, with a job for each sequence', async () => {
    const [running] = await useWorkers(agentOf({ policy: { messageThreshold: 14, retentionWindow: 2 } }));
    await appendSequences('s1');
    await untilCompacted('s1');
    const [version] = await fixture.client.versions('s1');
    expect(version).toMatchObject({ number: 1, strategy: 'summarize', reasons: ['message_threshold'], archived: 8 });
    expect(running && eventsOf(running, 'pass_fanned_out')).toMatchObject([{ jobs: 4, sequences: 4 }]);
    expect(running && eventsOf(running, 'summary_ended').map(({ outcome }) => outcome)).toEqual(
      Array.from({ length: 4 }, () => 'written'),
    );
    await enqueue('s1', 't1', 'and now?');
    expect(await settled(fixture, 's1', 't1')).toMatchObject({ state: 'completed' });
    const { items } = await fixture.client.context('s1');
    expect(items.map(({ message }) => message.role).slice(0, 3)).toEqual(['user', 'summary', 'user']);
    expect((await fixture.client.log('s1')).length).toBe(16);
  });

  it('starts and ends during a turn, and neither waits for the other', async () => {
    const gate = Promise.withResolvers<void>();
    const decide = async ({ idempotencyKey }: ModelRequest) => {
      if (idempotencyKey.includes('/t2/')) await gate.promise;
      return { content: words(50) };
    };
    const policy = { turnThreshold: 1, retentionWindow: 1, keepFirstUser: false, minGain: 0 };
    const [running] = await useWorkers(agentOf({ decide, policy }));
    for (const turn of ['t1', 't2']) await enqueue('s2', turn, words(50));
    await eventually(
      () => (running ? eventsOf(running, 'pass_ended') : []),
      (ended) => expect(ended).toHaveLength(1),
    );
    expect(await fixture.client.result('s2', 't2')).toMatchObject({ state: 'running' });
    gate.resolve();
    expect(await settled(fixture, 's2', 't2')).toMatchObject({ state: 'completed' });
    expect(running && eventsOf(running, 'turn_suspended')).toEqual([]);
  });
});

describe('a hard pass', () => {
  const small = { windowTokens: 3_500, outputCapTokens: 500 };

  it.each([
    ['in one process', false],
    ['with a process for each role', true],
  ])('suspends the turn, which then continues with a context that fits: %s', async (name, isSplit) => {
    const decide = ({ messages }: ModelRequest) => ({ content: messages.map(({ role }) => role).join(' ') });
    const running = await useWorkers(agentOf({ decide, profile: small, policy: { thresholdRatio: 0.91 } }), isSplit);
    const conversation = name.replaceAll(' ', '-');
    await appendSequences(conversation);
    await enqueue(conversation, 't1', words(600));
    const view = await settled(fixture, conversation, 't1');
    expect(view.state).toBe('completed');
    expect(view.answer?.content).toContain('summary');
    expect(view.requestTokens).toHaveLength(1);
    expect(view.requestTokens[0]).toBeLessThanOrEqual(1_500);
    const [version] = await fixture.client.versions(conversation);
    expect(version?.reasons).toContain('hard_limit');
    const kinds = running.flatMap(({ events }) => events.map(({ type }) => type));
    expect(kinds.filter((kind) => kind === 'turn_suspended')).toHaveLength(1);
    expect(kinds.filter((kind) => kind === 'pass_ended')).toHaveLength(1);
    expect(kinds).not.toContain('worker_failed');
  });
});

describe('compact', () => {
  it('requests a pass below the thresholds', async () => {
    await useWorkers(agentOf({ policy: { mode: 'manual', retentionWindow: 2, maxTokens: 500 } }));
    await appendSequences('m1');
    await fixture.client.compact('m1');
    await untilCompacted('m1');
    expect(await fixture.client.versions('m1')).toMatchObject([{ number: 1, reasons: ['manual'] }]);
  });

  it('with a lost wake is found by the sweeper', async () => {
    await closeWorkers();
    await appendSequences('m2');
    await fixture.client.compact('m2');
    await fixture.openRaw(QUEUES.compaction).obliterate({ force: true });
    await useWorkers(agentOf({ policy: { retentionWindow: 2, maxTokens: 500 } }));
    await untilCompacted('m2');
    expect(await fixture.client.versions('m2')).toHaveLength(1);
  });
});

it('messages appended during a pass stay behind the version, and the next pass includes them', async () => {
  const [running] = await useWorkers(agentOf({ policy: { retentionWindow: 2, maxTokens: 800, tokenThreshold: 900 } }));
  for (let round = 1; round <= 3; round += 1) await appendSequences('a1');
  await untilCompacted('a1');
  await eventually(
    () => fixture.client.context('a1'),
    ({ tokens }) => expect(tokens).toBeLessThanOrEqual(900),
  );
  expect(await fixture.client.log('a1')).toHaveLength(42);
  const versions = await fixture.client.versions('a1');
  for (const version of versions) expect(version.tokensAfter).toBeLessThan(version.tokensBefore);
  expect(running && eventsOf(running, 'worker_failed')).toEqual([]);
});

it('a version that changes during a pass makes the pass plan again, without paying for a summary twice', async () => {
  const agent = agentOf({ policy: { messageThreshold: 14, retentionWindow: 2 } });
  await closeWorkers();
  const compaction = await fixture.startWorkers(agent, { roles: ['compaction'] });
  workers = [compaction];
  await appendSequences('v1');
  await eventually(
    () => eventsOf(compaction, 'pass_fanned_out'),
    (fannedOut) => expect(fannedOut).toMatchObject([{ jobs: 4, sequences: 4 }]),
  );
  const said = { role: 'assistant' as const, content: words(300) };
  const ending = [said, said, { role: 'user' as const, content: words(10) }, { ...said, content: 'done' }];
  await fixture.client.append({ conversation: 'v1', agent: 'guide', messages: ending });
  await writeVersion(fixture, 'v1', { from: 2, to: 4 });
  const summarization = await fixture.startWorkers(agent, { roles: ['summarization'] });
  workers = [compaction, summarization];
  await untilCompacted('v1', 2);

  expect(eventsOf(compaction, 'pass_fanned_out')).toMatchObject([{ jobs: 4 }, { jobs: 1, sequences: 4 }]);
  expect(eventsOf(compaction, 'pass_ended')).toMatchObject([{ outcome: 'committed', version: 2, sequences: 4 }]);
  const written = eventsOf(summarization, 'summary_ended').map(({ outcome }) => outcome);
  expect(written).toEqual(Array.from({ length: 5 }, () => 'written'));
  const version = (await fixture.client.versions('v1')).at(-1);
  expect(version).toMatchObject({ number: 2, parent: 1, base: 18, explained: ['no_token_reason'] });
  expect(version?.segments.filter(({ kind }) => kind !== 'raw')).toMatchObject([
    { kind: 'evicted', from: 2, to: 4 },
    { kind: 'summary', from: 5, to: 6 },
    { kind: 'summary', from: 8, to: 9 },
    { kind: 'summary', from: 11, to: 12 },
    { kind: 'summary', from: 14, to: 16 },
  ]);
  const passes = fixture.openRaw(QUEUES.compaction);
  await eventually(
    () => passes.getJobCounts('waiting-children', 'active', 'delayed', 'prioritized'),
    (counts) => expect(Object.values(counts)).toEqual([0, 0, 0, 0]),
  );
  for (const one of workers) expect(eventsOf(one, 'worker_failed')).toEqual([]);
});
