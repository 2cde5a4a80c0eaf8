import { afterAll, describe, expect, it } from 'vitest';
import type { ModelRequest } from '../../src/domain/model.ts';
import { ROLES, type WorkerRole } from '../../src/host/start-workers.ts';
import { QUEUES } from '../../src/jobs/queues.ts';
import { agentOf, words } from './agents.ts';
import { eventsOf, eventually, openFixture, settled } from './fixture.ts';
import { writeVersion } from './write-version.ts';

const fixture = await openFixture();
afterAll(() => fixture.close());

describe('a soft pass', () => {
  it('a soft compaction pass summarizes each run of messages in its own job, and turns run meanwhile', async () => {
    const running = await fixture.useWorkers(agentOf({ policy: { messageThreshold: 14, retentionWindow: 2 } }));
    await fixture.appendSequences('s1');
    await fixture.untilCompacted('s1');
    const [version] = await fixture.client.versions('s1');
    expect(version).toMatchObject({ number: 1, strategy: 'summarize', reasons: ['message_threshold'], archived: 8 });
    expect(eventsOf(running, 'pass_fanned_out', 's1')).toMatchObject([{ jobs: 4, sequences: 4 }]);
    expect(eventsOf(running, 'summary_ended', 's1').map(({ outcome }) => outcome)).toEqual(
      Array.from({ length: 4 }, () => 'written'),
    );
    await fixture.enqueue('s1', 't1', 'and now?');
    expect(await settled(fixture, 's1', 't1')).toMatchObject({ state: 'completed' });
    const { items } = await fixture.client.context('s1');
    expect(items.map(({ message }) => message.role).slice(0, 3)).toEqual(['user', 'summary', 'user']);
    expect((await fixture.client.log('s1')).length).toBe(16);
  });

  it('a soft compaction pass starts and ends during a turn, and neither waits for the other', async () => {
    const gate = Promise.withResolvers<void>();
    const decide = async ({ idempotencyKey }: ModelRequest) => {
      if (idempotencyKey.includes('/t2/')) await gate.promise;
      return { content: words(50) };
    };
    const policy = { turnThreshold: 1, retentionWindow: 1, keepFirstUser: false, minGain: 0 };
    const running = await fixture.useWorkers(agentOf({ decide, policy }));
    for (const turn of ['t1', 't2']) await fixture.enqueue('s2', turn, words(50));
    await eventually(
      () => eventsOf(running, 'pass_ended', 's2'),
      (ended) => expect(ended).toHaveLength(1),
    );
    expect(await fixture.client.result('s2', 't2')).toMatchObject({ state: 'running' });
    gate.resolve();
    expect(await settled(fixture, 's2', 't2')).toMatchObject({ state: 'completed' });
    expect(eventsOf(running, 'turn_suspended')).toEqual([]);
  });
});

describe('a hard compaction pass', () => {
  const small = { windowTokens: 3_500, outputCapTokens: 500 };

  it.each<[string, (readonly WorkerRole[])[]]>([
    ['in one process', [ROLES]],
    ['with a process for each role', ROLES.map((role) => [role])],
  ])(
    'a turn over the hard limit waits for a pass and then runs with a context that fits: %s',
    async (name, processes) => {
      const decide = ({ messages }: ModelRequest) => ({ content: messages.map(({ role }) => role).join(' ') });
      await fixture.closeWorkers();
      const agent = agentOf({ decide, profile: small, policy: { thresholdRatio: 0.91 } });
      const running = await Promise.all(processes.map((roles) => fixture.startWorkers(agent, { roles })));
      const conversation = name.replaceAll(' ', '-');
      await fixture.appendSequences(conversation);
      await fixture.enqueue(conversation, 't1', words(600));
      const view = await settled(fixture, conversation, 't1');
      expect(view.state).toBe('completed');
      expect(view.answer?.content).toContain('summary');
      expect(view.requestTokens).toHaveLength(1);
      expect(view.requestTokens[0]).toBeLessThanOrEqual(1_500);
      const [version] = await fixture.client.versions(conversation);
      expect(version?.reasons).toContain('hard_limit');
      expect(running.flatMap((one) => eventsOf(one, 'turn_suspended', conversation))).toHaveLength(1);
      // The messages before the turn may have requested a soft pass, which then ends without a reason to compact.
      const outcomes = () =>
        running.flatMap((one) => eventsOf(one, 'pass_ended', conversation).map((end) => end.outcome));
      await eventually(outcomes, (seen) =>
        expect(seen.filter((outcome) => outcome !== 'no_reason')).toEqual(['committed']),
      );
      expect(running.flatMap((one) => eventsOf(one, 'worker_failed'))).toEqual([]);
    },
  );
});

describe('compact', () => {
  it('compact requests a compaction pass even if the context is below all thresholds', async () => {
    await fixture.useWorkers(agentOf({ policy: { mode: 'manual', retentionWindow: 2, maxTokens: 500 } }));
    await fixture.appendSequences('m1');
    await fixture.client.compact('m1');
    await fixture.untilCompacted('m1');
    expect(await fixture.client.versions('m1')).toMatchObject([{ number: 1, reasons: ['manual'] }]);
  });

  it('the sweeper starts a requested compaction pass whose queue job was lost', async () => {
    await fixture.closeWorkers();
    await fixture.appendSequences('m2');
    await fixture.client.compact('m2');
    await fixture.openRaw(QUEUES.compaction).obliterate({ force: true });
    await fixture.useWorkers(agentOf({ policy: { retentionWindow: 2, maxTokens: 500 } }));
    await fixture.untilCompacted('m2');
    expect(await fixture.client.versions('m2')).toHaveLength(1);
  });
});

it('messages that are appended during a compaction pass are included in the next pass', async () => {
  const running = await fixture.useWorkers(
    agentOf({ policy: { retentionWindow: 2, maxTokens: 800, tokenThreshold: 900 } }),
  );
  for (let round = 1; round <= 3; round += 1) await fixture.appendSequences('a1');
  await eventually(
    async () => ({ ...(await fixture.client.context('a1')), ...(await fixture.client.describe('a1')) }),
    ({ tokens, passId }) => {
      expect(tokens).toBeLessThanOrEqual(900);
      expect(passId).toBeUndefined();
    },
  );
  expect(await fixture.client.log('a1')).toHaveLength(42);
  const versions = await fixture.client.versions('a1');
  for (const version of versions) expect(version.tokensAfter).toBeLessThan(version.tokensBefore);
  expect(eventsOf(running, 'worker_failed')).toEqual([]);
});

it('a worker plans a compaction pass again if the context version changed meanwhile, and pays for each summary only once', async () => {
  const agent = agentOf({ policy: { messageThreshold: 14, retentionWindow: 2 } });
  await fixture.closeWorkers();
  const compaction = await fixture.startWorkers(agent, { roles: ['compaction'] });
  await fixture.appendSequences('v1');
  await eventually(
    () => eventsOf(compaction, 'pass_fanned_out', 'v1'),
    (fannedOut) => expect(fannedOut).toMatchObject([{ jobs: 4, sequences: 4 }]),
  );
  const said = { role: 'assistant' as const, content: `I will look at src/part-9.ts. ${words(300)}` };
  const ending = [said, said, { role: 'user' as const, content: words(10) }, { ...said, content: 'done' }];
  await fixture.client.append({ conversation: 'v1', agent: 'guide', messages: ending });
  await writeVersion(fixture, 'v1', { from: 2, to: 4 });
  const summarization = await fixture.startWorkers(agent, { roles: ['summarization'] });
  await fixture.untilCompacted('v1', 2);

  expect(eventsOf(compaction, 'pass_fanned_out', 'v1')).toMatchObject([{ jobs: 4 }, { jobs: 1, sequences: 4 }]);
  await eventually(
    () => eventsOf(compaction, 'pass_ended', 'v1'),
    (ended) => expect(ended).toMatchObject([{ outcome: 'committed', version: 2, sequences: 4 }]),
  );
  const written = eventsOf(summarization, 'summary_ended', 'v1').map(({ outcome }) => outcome);
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
  for (const one of [compaction, summarization]) expect(eventsOf(one, 'worker_failed')).toEqual([]);
});
