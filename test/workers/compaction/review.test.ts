import { expect, it } from 'vitest';
import { PLACEHOLDER } from '../../../src/compaction/budget.ts';
import type { Message } from '../../../src/domain/message.ts';
import type { Verdict } from '../../../src/domain/proposal.ts';
import { encodeLogEntry } from '../../../src/store/log.ts';
import { hashSegments } from '../../../src/workers/content-hash.ts';
import { bindPort, isCrash, WorkerDeath } from '../worker-death.ts';
import { type AllPorts, FIVE_SEQUENCES, Fixture, type FixtureOptions, ref, words } from './fixture.ts';

const WEEK_MS = 604_800_000;

/** A compaction pass in mode review that has proposed its new context version. */
async function propose({
  script = FIVE_SEQUENCES,
  ...options
}: FixtureOptions & { script?: string } = {}): Promise<Fixture> {
  const world = await Fixture.open({ ...options, policy: { mode: 'review', ...options.policy } });
  await world.append(script);
  await world.request('token_threshold');
  await world.runPass();
  return world;
}

async function appendMessages(world: Fixture, messages: readonly Message[]): Promise<void> {
  const { head = 0 } = (await world.store.readConversation(ref)) ?? {};
  const weighed = await Promise.all(messages.map((message) => world.agent.weigh(message)));
  const append = { conversation: ref, operation: world.nextId(), agent: 'guide', expectedHead: head };
  await world.store.append({ ...append, messages: weighed, opens: [], closes: [] });
}

/** Wraps the ports so that `act` runs before each commit of a context version. */
function beforeCommit(ports: AllPorts, act: () => Promise<void>): AllPorts {
  const commitVersion: AllPorts['passes']['commitVersion'] = async (lease, commit) => {
    await act();
    return await ports.passes.commitVersion(lease, commit);
  };
  return { ...ports, passes: { ...ports.passes, commitVersion } };
}

async function proposalOf(world: Fixture): Promise<string> {
  return (await world.store.readProposal(ref))?.proposal.id ?? 'none';
}

/** Records a person's decision on the proposal, and delivers the compaction pass. */
async function decide(world: Fixture, verdict: Verdict, operation = 'op') {
  const proposal = await proposalOf(world);
  const wake = world.nextId();
  const decided = await world.store.decideProposal({ conversation: ref, operation, proposal, verdict, wake });
  expect(decided).toEqual({ status: 'decided', needsWake: true });
  await world.deliver(wake);
  return await world.store.readDecision(ref, operation);
}

const approve = (world: Fixture, edits: Readonly<Record<string, string>> = {}, operation = 'op') =>
  decide(world, { kind: 'approve', edits }, operation);

it('a compaction pass in mode review proposes its new context with all texts instead of committing it, and waits without a lease', async () => {
  const world = await propose();
  expect(await world.readVersion()).toBeUndefined();
  expect(world.eventsOf('pass_ended')).toEqual([]);
  expect(world.eventsOf('pass_proposed')).toMatchObject([
    { reasons: ['token_threshold'], strategy: 'summarize', sequences: 5, archived: 10 },
  ]);
  const waiting = await world.store.readProposal(ref);
  expect(Object.values(waiting?.proposal.summaries ?? {}).map(({ text }) => text)).toEqual(
    ['2-3', '5-6', '8-9', '11-12', '14-15'].map((range) => `what happened in ${range}`),
  );
  expect(waiting?.expiresAt).toBe(world.timers.now() + WEEK_MS);
  await world.append('u20 a20');
  await world.request('turn_end');
  await world.deliver();
  expect(await proposalOf(world)).toBe(waiting?.proposal.id);
});

it('a compaction pass in mode review commits the proposed text after its approval, followed by the messages that were appended since', async () => {
  const world = await propose();
  const proposal = (await world.store.readProposal(ref))?.proposal;
  await world.append('u20 a20');
  expect(await approve(world)).toEqual({ status: 'approved', version: 1 });
  const version = await world.readVersion();
  expect(version).toMatchObject({ ...proposal?.version, at: version?.at, durationMs: version?.durationMs });
  expect(version?.base).toBe(17);
  const source = await world.store.readContext(ref);
  expect(Object.fromEntries(source?.summaries ?? [])).toEqual(proposal?.summaries);
  expect(source?.entries.at(-1)?.seq).toBe(19);
  expect(world.eventsOf('pass_ended')).toMatchObject([{ outcome: 'approved', version: 1, sequences: 5 }]);
  expect((await world.store.readConversation(ref))?.passId).toBeUndefined();
});

it('an approval with an edited summary commits the edited text under its own key, and leaves the recorded summary unchanged', async () => {
  const world = await propose();
  const proposal = (await world.store.readProposal(ref))?.proposal;
  const proposed = proposal?.version;
  const text = `the customer is 4711; ${words(40)}`;
  expect(await approve(world, { '5-6': text })).toEqual({ status: 'approved', version: 1 });
  const source = await world.store.readContext(ref);
  const texts = [...(source?.summaries.values() ?? [])];
  expect(texts.find(({ covers }) => covers.from === 5)).toMatchObject({ text, model: 'edited' });
  const [edited] = [...(source?.summaries ?? [])].find(([, { covers }]) => covers.from === 5) ?? [];
  expect(Object.keys(proposal?.summaries ?? {})).not.toContain(edited);
  expect(texts.filter(({ text: kept }) => kept.startsWith('what happened'))).toHaveLength(4);
  const version = await world.readVersion();
  const grown = (version?.weight.tokens ?? 0) - (proposed?.weight.tokens ?? 0);
  expect(grown).toBeGreaterThan(35);
  expect(version?.tokensAfter).toBe((proposed?.tokensAfter ?? 0) + grown);
  expect(version?.model).toBe('brief, edited');
  const sum = (version?.segments ?? []).reduce((tokens, { weight }) => tokens + weight.tokens, 0);
  expect(version?.weight.tokens).toBe(sum);
});

it.each([
  ['is empty', { '2-3': ' \n' }, 'edits.2-3'],
  ['has another range', { '2-4': 'text' }, 'edits.2-4'],
  ['exceeds maxTokens', { '2-3': words(900) }, 'edits'],
])('an approval is refused, and the proposal stays open, if an edited text %s', async (_, edits, field) => {
  const world = await propose();
  const id = await proposalOf(world);
  expect(await approve(world, edits)).toMatchObject({
    status: 'refused',
    refusal: { code: 'invalid_input', field },
  });
  expect(world.eventsOf('approval_refused')).toMatchObject([{ code: 'invalid_input', field }]);
  expect(await world.readVersion()).toBeUndefined();
  expect(await proposalOf(world)).toBe(id);
  expect(await approve(world, {}, 'op2')).toEqual({ status: 'approved', version: 1 });
});

it('an approval is refused if its edit makes the new context no smaller than the old one, even without a budget', async () => {
  const world = await propose({ policy: { tokenThreshold: 50_000, messageThreshold: 17 } });
  expect(world.eventsOf('pass_proposed')).toMatchObject([{ reasons: ['message_threshold'] }]);
  expect(await approve(world, { '2-3': words(3_000) })).toMatchObject({
    status: 'refused',
    refusal: {
      code: 'invalid_input',
      field: 'edits',
      message: expect.stringMatching(/must have fewer than the \d+ of the current one$/),
    },
  });
  expect(await approve(world, { '2-3': words(1_200) }, 'op2')).toEqual({ status: 'approved', version: 1 });
});

it('an approval counts the placeholder before a context that starts with an answer', async () => {
  const world = await propose({ script: `a20 ${FIVE_SEQUENCES}`, policy: { maxTokens: 1_000 } });
  const proposed = (await world.store.readProposal(ref))?.proposal.version;
  const refused = await approve(world, { '3-4': words(900) });
  const message = refused?.status === 'refused' ? refused.refusal.message : '';
  const excess = Number(/exceeds maxTokens by (\d+) tokens/.exec(message)?.[1]);
  expect(await approve(world, { '3-4': words(900 - excess) }, 'op2')).toEqual({ status: 'approved', version: 1 });
  const version = await world.readVersion();
  expect(version?.tokensBefore).toBe(proposed?.tokensBefore);
  expect(version?.tokensAfter).toBe(1_000);
  const sum = (version?.segments ?? []).reduce((tokens, { weight }) => tokens + weight.tokens, 0);
  expect(version).toMatchObject({ weight: { tokens: sum }, placeholder: PLACEHOLDER });
});

it('a rejected proposal changes no context, and the next proposal follows only after the context has grown by 15 %', async () => {
  const world = await propose();
  expect(await decide(world, { kind: 'reject', reason: 'keep it all' })).toEqual({ status: 'rejected' });
  expect(world.eventsOf('pass_ended')).toMatchObject([{ outcome: 'rejected' }]);
  const state = await world.store.readConversation(ref);
  expect(state).toMatchObject({ passed: { head: 17, turns: 6 } });
  await world.append('u20 a20');
  await world.request('token_threshold');
  await world.runPass('job2');
  expect(await world.store.readProposal(ref)).toBeUndefined();
  await world.append('u20 a300 a300');
  await world.request('token_threshold');
  await world.runPass('job3');
  expect(await world.store.readProposal(ref)).toBeDefined();
});

it('a proposal expires when the sweeper wakes its compaction pass at the expiry time, and not before', async () => {
  const world = await propose({ policy: { reviewTtl: 3_600_000 } });
  world.queue.clear();
  await world.timers.advance(3_599_000);
  expect(await world.sweeper.sweepOnce()).toBe(0);
  await world.timers.advance(2_000);
  expect(await world.sweeper.sweepOnce()).toBe(1);
  await world.deliver('job9');
  expect(world.eventsOf('pass_ended')).toMatchObject([{ outcome: 'expired' }]);
  expect(await world.readVersion()).toBeUndefined();
  expect(await world.store.readProposal(ref)).toBeUndefined();
  await world.request('token_threshold');
  await world.runPass('job10');
  expect(await world.store.readProposal(ref), 'the same content').toBeUndefined();
});

it.each(['manual', 'hard_limit', 'overflow'] as const)(
  'a compaction pass in mode review commits without approval when the reason %s is added, and uses the summaries already written',
  async (reason) => {
    const profile = { windowTokens: reason === 'hard_limit' ? 3_500 : 100_000, outputCapTokens: 100 };
    const policy = { thresholdRatio: 0.8, hardRatio: 0.95 };
    const world = await propose({ profile, policy });
    expect(world.eventsOf('pass_proposed')).toHaveLength(1);
    await world.append('u20 a40');
    world.queue.clear();
    await world.request(reason);
    await world.deliver('job2');
    expect(world.eventsOf('pass_ended')).toMatchObject([{ outcome: 'committed', sequences: 5, version: 1 }]);
    expect(world.eventsOf('pass_fanned_out')).toHaveLength(1);
    expect(await world.store.readProposal(ref)).toBeUndefined();
  },
);

it('a manually requested compaction pass commits at once in mode review, because the caller has decided', async () => {
  const world = await Fixture.open({ policy: { mode: 'review' } });
  await world.append(FIVE_SEQUENCES);
  await world.request('manual');
  await world.runPass();
  expect(world.eventsOf('pass_ended')).toMatchObject([{ outcome: 'committed' }]);
  expect(world.eventsOf('pass_proposed')).toEqual([]);
});

it('a compaction pass in mode review commits at once if a hard reason is added while an approval is carried out', async () => {
  let onCommit = async (): Promise<void> => undefined;
  const world = await propose({ wrap: (ports) => beforeCommit(ports, () => onCommit()) });
  onCommit = () => world.request('manual');
  expect(await approve(world, { '2-3': 'mine' })).toEqual({ status: 'superseded' });
  expect(world.eventsOf('pass_ended')).toMatchObject([
    { outcome: 'committed', reasons: expect.arrayContaining(['manual']) },
  ]);
  const texts = [...((await world.store.readContext(ref))?.summaries.values() ?? [])].map(({ text }) => text);
  expect(texts).not.toContain('mine');
});

it('a compaction pass whose proposal was dropped plans again, with the messages appended since the proposal', async () => {
  let onCommit = async (): Promise<void> => undefined;
  const wrap = (ports: AllPorts): AllPorts => beforeCommit(ports, () => onCommit());
  const world = await propose({ policy: { maxTokens: 1_200 }, wrap });
  await world.append('a20 a580 u20 a20');
  onCommit = () => world.request('manual');
  expect(await approve(world)).toEqual({ status: 'superseded' });
  expect(world.eventsOf('pass_fanned_out')).toMatchObject([
    { jobs: 5, sequences: 5 },
    { jobs: 1, sequences: 6 },
  ]);
});

it('an approved proposal is committed even if a soft reason to compact was added during the review', async () => {
  let [isApproving, hasCome] = [false, false];
  const world = await propose({
    wrap: (ports) => ({
      ...ports,
      contexts: {
        ...ports.contexts,
        readContext: async (...args) => {
          if (!hasCome && isApproving) {
            hasCome = true;
            await ports.passes.requestPass({ conversation: ref, reasons: ['turn_end'], passId: 'p2', wake: 'w2' });
          }
          return await ports.contexts.readContext(...args);
        },
      },
    }),
  });
  isApproving = true;
  expect(await approve(world)).toEqual({ status: 'approved', version: 1 });
  expect(hasCome).toBe(true);
});

it('an approved compaction pass requests another pass if the messages appended since the proposal meet a threshold', async () => {
  const world = await propose();
  await world.append('u20 a300 a300 '.repeat(3).concat('u20 a20'));
  await approve(world);
  expect((await world.store.readConversation(ref))?.passId).toBeDefined();
  await world.runPass('job5');
  expect(world.eventsOf('pass_proposed')).toHaveLength(2);
  expect((await world.store.readProposal(ref))?.proposal.version).toMatchObject({ number: 2, parent: 1 });
});

it('an approval is refused while the model thinks between tool calls, because an edit of the context would invalidate its thinking', async () => {
  const world = await propose();
  const raw = { format: 'anthropic', model: 'm', items: [{ type: 'thinking', thinking: 'hm' }] };
  const toolCalls = [{ id: 'c19_0', name: 'read', arguments: '{}' }];
  const loop: Message[] = [
    { role: 'user', content: 'go on' },
    { role: 'assistant', content: '', toolCalls, raw },
    { role: 'tool', content: 'read', toolCallId: 'c19_0' },
  ];
  await appendMessages(world, loop);
  expect(await approve(world)).toMatchObject({ status: 'refused', refusal: { code: 'conversation_busy' } });
  await world.append('a20');
  expect(await approve(world, {}, 'op2')).toEqual({ status: 'approved', version: 1 });
});

it('an approval is refused if the provider has refused the proposed segments meanwhile', async () => {
  const world = await propose();
  const segments = hashSegments((await world.store.readProposal(ref))?.proposal.version.segments ?? []);
  world.db.run('HSET', world.db.keyspace.key(ref, 'c'), 'quarantine', `0 ${segments}`);
  expect(await approve(world)).toMatchObject({
    status: 'refused',
    refusal: { code: 'proposal_stale', field: 'proposal' },
  });
  expect(await world.readVersion()).toBeUndefined();
});

it('a worker refuses an approval if the proposed version with the newer messages breaks the format rules of the provider', async () => {
  const world = await propose();
  const { proposal } = (await world.store.readProposal(ref)) ?? {};
  const [first] = (await world.db.find(ref))?.log ?? [];
  if (proposal === undefined || first === undefined) throw new Error('no proposal');
  // A message is pinned after the proposal was made.
  const pinned = encodeLogEntry({ ...first, message: { ...first.message, pinned: true } });
  world.db.run('HSET', world.db.keyspace.key(ref, 'log'), first.seq, pinned);
  const evicted = { kind: 'evicted', from: 1, to: 1, weight: { tokens: 0, bytes: 0 } } as const;
  Object.assign(proposal.version.segments, { 0: evicted });
  world.db.run('HSET', world.db.keyspace.key(ref, 'pass'), 'proposal', JSON.stringify(proposal));
  expect(await approve(world)).toMatchObject({ status: 'refused', refusal: { code: 'proposal_stale' } });
  expect(await world.readVersion()).toBeUndefined();
});

it('a second worker carries out an approval after the first worker died', async () => {
  let death = new WorkerDeath();
  const die = async (): Promise<void> => death.happen();
  const wrap = ({ passes, ...ports }: AllPorts): AllPorts => ({ ...ports, passes: bindPort(passes, () => death) });
  let isMortal = true;
  const world = await propose({
    wrap: (ports) => wrap(beforeCommit(ports, async () => (isMortal ? die() : undefined))),
  });
  await expect(approve(world)).rejects.toSatisfy(isCrash);
  [isMortal, death] = [false, new WorkerDeath()];
  world.queue.clear();
  await world.timers.advance(10_000);
  expect(await world.sweeper.sweepOnce()).toBe(1);
  await world.deliver('job7');
  expect(await world.store.readDecision(ref, 'op')).toEqual({ status: 'approved', version: 1 });
});

it('a compaction pass in mode review that only evicts messages proposes the eviction to a person before it commits', async () => {
  const world = await propose({ policy: { minSequenceTokens: 10_000 } });
  const waiting = await world.store.readProposal(ref);
  expect(waiting?.proposal).toMatchObject({ summaries: {}, version: { strategy: 'evict' } });
  expect(await approve(world)).toEqual({ status: 'approved', version: 1 });
  expect((await world.readVersion())?.segments).toEqual(waiting?.proposal.version.segments);
});

it('a worker answers a person’s decision on a proposal even if the worker no longer knows the agent', async () => {
  let isKnown = true;
  const world = await propose({
    wrap: (ports) => ({ ...ports, agents: { find: (name) => (isKnown ? ports.agents.find(name) : undefined) } }),
  });
  isKnown = false;
  expect(await approve(world)).toEqual({ status: 'superseded' });
  expect(world.eventsOf('pass_ended')).toMatchObject([{ outcome: 'failed', code: 'unknown_agent' }]);
});
