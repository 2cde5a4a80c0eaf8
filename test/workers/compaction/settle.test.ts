import { expect, it } from 'vitest';
import { NO_BACKOFF } from '../../../src/domain/conversation.ts';
import { FIRST_POSITION } from '../../../src/domain/conversation-event.ts';
import { nameConversation } from '../../../src/domain/ids.ts';
import { PASS_LIMITS } from '../../../src/domain/pass.ts';
import type { Summarizer } from '../../../src/domain/summarizer.ts';
import { START_VERSION } from '../../../src/domain/version.ts';
import { scriptedModel } from '../../../src/providers/scripted.ts';
import { takeOverPass } from '../../../src/workers/compaction/pass-delivery.ts';
import { type AllPorts, brief, FIVE_SEQUENCES, Fixture, type FixtureOptions, ref } from './fixture.ts';

async function openPass(options: FixtureOptions = {}): Promise<Fixture> {
  const world = await Fixture.open(options);
  await world.append(FIVE_SEQUENCES);
  await world.request('token_threshold');
  return world;
}

/** A budget with room for the summaries of six sequences. */
const SIX_SUMMARIES = { maxTokens: 1_200 };

const refusing: Summarizer = {
  id: 'refusing',
  summarize: () => Promise.resolve({ status: 'refused', why: 'will not' }),
};

/** Wraps a port so that `act` runs before each call of one of its operations. */
function before(room: 'passes' | 'contexts', name: string, act: () => Promise<void> | void) {
  return (ports: AllPorts): AllPorts => {
    const acting = async (operation: (...args: unknown[]) => Promise<unknown>, args: unknown[]): Promise<unknown> => {
      await act();
      return operation(...args);
    };
    const operations = ports[room] as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    const operation = operations[name];
    if (operation === undefined) throw new Error(`no operation ${name}`);
    return { ...ports, [room]: { ...operations, [name]: (...args: unknown[]) => acting(operation, args) } };
  };
}

function once(act: () => Promise<void> | void): () => Promise<void> {
  let isDone = false;
  return async () => {
    if (isDone) return;
    isDone = true;
    await act();
  };
}

function outcomesOf(world: Fixture): string[] {
  return world.eventsOf('pass_ended').map(({ outcome }) => outcome);
}

/** Restores version 0, the uncompacted context. */
async function restoreStart(world: Fixture): Promise<void> {
  const { status } = await world.store.replaceVersion({
    conversation: ref,
    operation: world.nextId(),
    expectedVersion: 0,
    expectedHead: (await world.store.readConversation(ref))?.head ?? 0,
    version: { ...START_VERSION, number: 1, cause: 'restore' },
    backoff: NO_BACKOFF,
    keepsNewer: true,
    wakeTurn: world.nextId(),
    keepVersions: 10,
  });
  expect(status).toBe('replaced');
}

it('a compaction pass whose summarization jobs have ended replaces every sequence by its summary, and keeps user messages and the retention window', async () => {
  const world = await openPass();
  world.timers.every(500, async () => undefined);
  const children = await world.fanOut();
  for (const child of children) await world.summarize(child);
  await world.timers.advance(1_500);
  await world.deliver('job1', true);
  expect(await world.readSegments()).toEqual([
    'raw 1-1',
    'summary 2-3',
    'raw 4-4',
    'summary 5-6',
    'raw 7-7',
    'summary 8-9',
    'raw 10-10',
    'summary 11-12',
    'raw 13-13',
    'summary 14-15',
    'raw 16-17',
  ]);
  const version = await world.readVersion();
  expect(version).toMatchObject({
    number: 1,
    parent: 0,
    cause: 'pass',
    reasons: ['token_threshold'],
    strategy: 'summarize',
    base: 17,
    archived: 10,
    explained: [],
    floorRelaxed: false,
    durationMs: 1_500,
    model: 'brief',
    measuredAt: { head: 17 },
  });
  expect(world.eventsOf('pass_ended')).toEqual([
    {
      type: 'pass_ended',
      ...nameConversation(ref),
      passId: children[0]?.passId,
      outcome: 'committed',
      strategy: 'summarize',
      sequences: 5,
      reasons: ['token_threshold'],
      durationMs: 1_500,
      version: 1,
      tokensBefore: version?.tokensBefore,
      tokensAfter: version?.tokensAfter,
      archived: 10,
      prefixTokens: 24,
    },
  ]);
  // Tokens: 5 × (24 + 608) + 24 + 24 for messages, and 6 for system prompt and framing.
  expect(version?.tokensBefore).toBe(3_214);
  const { events } = await world.store.readEvents({ conversation: ref, after: FIRST_POSITION, limit: 100 });
  expect(events.at(-2)).toMatchObject({
    type: 'version_committed',
    version: 1,
    reasons: ['token_threshold'],
    strategy: 'summarize',
    archived: 10,
    model: 'brief',
  });
});

it('a compaction pass reports a duration of 0 if the worker’s clock is behind the store’s', async () => {
  const world = await Fixture.open();
  world.db.advance(5_000);
  await world.append(FIVE_SEQUENCES);
  await world.request('token_threshold');
  await world.runPass();
  expect(await world.readVersion()).toMatchObject({ durationMs: 0 });
  expect(world.eventsOf('pass_ended')).toMatchObject([{ durationMs: 0 }]);
});

it('a compaction pass uses the other four summaries if the third of five failed', async () => {
  const world = await openPass();
  const children = await world.fanOut();
  for (const [index, child] of children.entries()) {
    world.summarizers = [index === 2 ? refusing : brief()];
    await world.summarize(child);
  }
  await world.deliver('job1', true);
  expect(await world.readVersion()).toMatchObject({ archived: 8, explained: ['summaries_missing'] });
  expect(await world.readSegments()).toContain('raw 7-10');
  const figures = { sequences: 5, archived: 8, fallbacks: ['summaries_missing'] };
  expect(world.eventsOf('pass_ended')).toMatchObject([{ outcome: 'committed', ...figures }]);
});

it.each([
  ['refused', [refusing]],
  ['empty', [{ id: 'empty', summarize: async () => ({ status: 'written', text: ' \n' }) as const }]],
])(
  'a compaction pass clips or evicts messages down to maxTokens if all its summaries are %s',
  async (_, summarizers) => {
    const world = await openPass({ summarizers });
    await world.runPass();
    expect(await world.readVersion()).toMatchObject({ explained: ['summaries_missing'] });
    expect((await world.readSegments()).filter((segment) => segment.startsWith('summary'))).toEqual([]);
    expect(world.eventsOf('pass_ended')).toMatchObject([
      { fallbacks: [expect.stringMatching(/^(evicted|summaries_missing)$/)] },
    ]);
    expect((await world.readVersion())?.tokensAfter).toBeLessThanOrEqual(1_100);
  },
);

it('a compaction pass leaves the context unchanged if all its summaries failed and no token threshold is met', async () => {
  const world = await Fixture.open({ policy: { turnThreshold: 3 }, summarizers: [refusing] });
  await world.append('u20 a100 a200 u20 a100 a200 u20 a20');
  await world.request('turn_threshold');
  await world.runPass();
  expect(world.eventsOf('pass_ended')).toMatchObject([{ outcome: 'none', sequences: 2, reasons: ['turn_threshold'] }]);
  expect(await world.readVersion()).toBeUndefined();
  expect((await world.db.find(ref))?.log).toHaveLength(8);
});

it('a compaction pass adds no second summarization job for a refused summary', async () => {
  const world = await openPass({ summarizers: [refusing] });
  const [first] = await world.fanOut();
  if (first !== undefined) await world.summarize(first);
  world.db.advance(60_001);
  expect(await world.fanOut('job2')).toHaveLength(4);
});

it('a compaction pass keeps the retention window whole, and shortens it only if a reason for which a turn waits is added', async () => {
  const policy = { retentionWindow: 8, maxTokens: 1_400 };
  const world = await openPass({ policy, summarizers: [refusing] });
  for (const child of await world.fanOut()) await world.summarize(child);
  await world.append('a800 u20');
  await world.request('manual');
  await world.deliver('job1', true);
  expect(await world.readVersion()).toMatchObject({
    reasons: ['token_threshold', 'manual'],
    explained: ['summaries_missing'],
  });
  expect((await world.readVersion())?.tokensAfter).toBeLessThanOrEqual(1_400);
  const kept = (await world.readVersion())?.segments.filter(({ kind, to }) => kind === 'raw' && to >= 12) ?? [];
  const keptMessages = kept.reduce((sum, { from, to }) => sum + to - Math.max(from, 12) + 1, 0);
  expect(keptMessages, 'of the eight in the retention window').toBeLessThan(8);

  const soft = await openPass({ policy, summarizers: [refusing] });
  for (const child of await soft.fanOut()) await soft.summarize(child);
  await soft.append('a800 u20');
  await soft.deliver('job1', true);
  expect(await soft.readVersion()).toMatchObject({ floorRelaxed: false });
  expect((await soft.readSegments()).at(-1)).toBe('raw 10-17');
});

it('after a provider refused a request as too long, the compaction pass removes at least half of its size, even if turnfold counted less', async () => {
  const world = await Fixture.open({
    policy: { tokenThreshold: 60_000, maxTokens: 50_000 },
    summarizers: [refusing],
  });
  await world.append('u20 a300 a300 u20 a300 a300 u20 a20');
  await world.request('overflow');
  await world.runPass();
  const { tokensBefore = 0, tokensAfter = 0 } = (await world.readVersion()) ?? {};
  expect(tokensBefore).toBeGreaterThan(1_200);
  expect(tokensAfter).toBeLessThanOrEqual(tokensBefore / 2);
});

it('after a provider refused a request as too long, the compaction pass uses that request’s size, even if the context has changed since', async () => {
  const open = () => Fixture.open({ policy: { tokenThreshold: 60_000, maxTokens: 50_000 }, summarizers: [refusing] });
  const talk = 'u20 a300 a300 u20 a300 a300 u20 a20';
  const grown = await open();
  await grown.append(talk);
  await grown.requestOverflow(600);
  await grown.append('u20 a900 u20');
  await grown.runPass();
  expect((await grown.readVersion())?.tokensBefore).toBeGreaterThan(2_000);
  expect((await grown.readVersion())?.tokensAfter).toBeLessThanOrEqual(300);

  const shrunk = await open();
  await shrunk.append(talk);
  await shrunk.requestOverflow(8_000);
  await shrunk.runPass();
  expect(await shrunk.readVersion(), 'half of the refused size is more than the context').toBeUndefined();
});

it('messages that are appended while a compaction pass runs follow the compacted part of the new context unchanged', async () => {
  const world = await openPass();
  const children = await world.fanOut();
  await world.append('u30 a40 u50');
  for (const child of children) await world.summarize(child);
  await world.deliver('job1', true);
  expect(await world.readVersion()).toMatchObject({ base: 17, measuredAt: { head: 17 }, archived: 10 });
  const source = await world.store.readContext(ref);
  expect(source?.head).toBe(20);
  expect(source?.entries.slice(-3).map(({ seq }) => seq)).toEqual([18, 19, 20]);
  expect((await world.db.find(ref))?.passed, 'appended messages count from here').toEqual({ head: 20, turns: 8 });
});

it('a compaction pass with an added reason for which a turn waits also compacts the messages appended during the pass', async () => {
  const world = await openPass({ policy: { maxTokens: 900, tokenThreshold: 900 } });
  const children = await world.fanOut();
  await world.append('a400 a400 u20 a20');
  await world.request('manual');
  for (const child of children) await world.summarize(child);
  await world.deliver('job1', true);
  expect(await world.readVersion()).toMatchObject({ base: 21, measuredAt: { head: 21 } });
  expect((await world.readVersion())?.tokensAfter).toBeLessThanOrEqual(900);
});

it('a compaction pass adds its own summarization jobs if those of its queue job belong to a pass that was taken over', async () => {
  const world = await openPass();
  await world.fanOut('job1');
  await takeOverPass(world.ports, ref);
  await world.append(FIVE_SEQUENCES);
  await world.request('token_threshold');
  const delivered = await world.deliver('job1', true);
  expect(delivered.status, 'asks for its own children').toBe('parked');
});

it('a compaction pass requests another pass if the messages appended during it meet a threshold, because no other caller does', async () => {
  const world = await openPass();
  const children = await world.fanOut();
  await world.append(FIVE_SEQUENCES);
  await world.request();
  for (const child of children) await world.summarize(child);
  world.queue.clear();
  await world.deliver('job1', true);
  const { pass } = (await world.db.find(ref)) ?? {};
  expect(pass?.reasons).toEqual(['token_threshold']);
  expect(world.queue.wakes).toEqual([{ kind: 'pass', wake: pass?.wake }]);
  expect(world.eventsOf('pass_requested')).toMatchObject([{ passId: pass?.passId, isJoined: false }]);
  await world.runPass('job2');
  expect(await world.readVersion()).toMatchObject({ number: 2, base: 34 });
  expect((await world.db.find(ref))?.pass, 'and no third one').toBeUndefined();
});

it('a compaction pass during which a turn ended requests the pass that onTurnEnd asks for after each turn', async () => {
  const world = await Fixture.open({
    policy: { onTurnEnd: true },
    model: scriptedModel({ decide: () => ({ content: 'ok' }) }),
  });
  await world.append(FIVE_SEQUENCES);
  await world.request('token_threshold');
  const children = await world.fanOut();
  await world.accept('t1', 'And now?');
  await world.turn(ref);
  expect(world.eventsOf('turn_settled')).toMatchObject([{ outcome: 'completed' }]);
  expect(world.eventsOf('pass_requested'), 'the pass is still open').toEqual([]);
  for (const child of children) await world.summarize(child);
  await world.deliver('job1', true);
  expect(world.eventsOf('pass_requested')).toMatchObject([{ reasons: ['turn_end'], isJoined: false }]);
  await world.runPass('job2');
  expect(world.eventsOf('pass_requested'), 'no turn has ended since').toHaveLength(1);
});

it('a compaction pass does not request the pass of onTurnEnd while a turn still runs', async () => {
  const world = await Fixture.open({ policy: { onTurnEnd: true } });
  await world.append(FIVE_SEQUENCES);
  await world.request('token_threshold');
  const children = await world.fanOut();
  await world.accept('t1', 'And now?');
  await world.store.claim(ref, world.nextId(), world.nextId());
  for (const child of children) await world.summarize(child);
  await world.deliver('job1', true);
  expect(world.eventsOf('pass_ended')).toMatchObject([{ outcome: 'committed' }]);
  expect(world.eventsOf('pass_requested')).toEqual([]);
});

it('a compaction pass that ends without a reason requests another pass if messages appended after its evaluation meet a threshold', async () => {
  const late = once(() => world.append(FIVE_SEQUENCES));
  const world: Fixture = await Fixture.open({ wrap: before('passes', 'endPass', late) });
  await world.append('u20 a300 a300 u20 a20');
  await world.request();
  await world.deliver();
  expect(world.eventsOf('pass_ended')).toMatchObject([{ outcome: 'no_reason' }]);
  expect((await world.db.find(ref))?.backoff.nothingBelowTokens, 'shut for what it saw').toBe(686 + 256);
  expect((await world.db.find(ref))?.pass?.reasons).toEqual(['token_threshold']);
});

it('a compaction pass requests no further pass if the messages appended during it meet no threshold', async () => {
  const world = await openPass();
  const children = await world.fanOut();
  await world.append('u20 a20');
  for (const child of children) await world.summarize(child);
  await world.deliver('job1', true);
  expect((await world.db.find(ref))?.pass).toBeUndefined();
  expect(world.eventsOf('pass_requested')).toEqual([]);
});

it('a compaction pass keeps its plan if another context version goes live that left the planned ranges unchanged', async () => {
  const world = await openPass();
  for (const child of await world.fanOut()) await world.summarize(child);
  await world.append('u20 a20');
  await world.writeVersion('evicted 1-1', 'raw 2-17');
  await world.deliver('job1', true);
  // A new plan would cover messages up to the end of the log.
  expect(await world.readVersion()).toMatchObject({ number: 2, parent: 1, base: 17, archived: 10, explained: [] });
  expect((await world.readSegments()).slice(0, 3)).toEqual(['evicted 1-1', 'summary 2-3', 'raw 4-4']);
});

it('a compaction pass plans again if another context version goes live that evicted a planned range', async () => {
  const world = await openPass();
  for (const child of await world.fanOut()) await world.summarize(child);
  await world.writeVersion('raw 1-1', 'evicted 2-4', 'raw 5-17');
  await world.deliver('job1', true);
  expect(await world.readVersion()).toMatchObject({ number: 2, parent: 1, archived: 8 });
  expect((await world.readSegments()).slice(0, 4)).toEqual(['raw 1-1', 'evicted 2-4', 'summary 5-6', 'raw 7-7']);
});

it('a compaction pass that plans again adds summarization jobs only for the missing summaries of its new plan', async () => {
  const summarizer = brief();
  const world = await openPass({ policy: SIX_SUMMARIES, summarizers: [summarizer] });
  for (const child of await world.fanOut()) await world.summarize(child);
  await world.append('a20 a580 u20 a20');
  await world.writeVersion('raw 1-1', 'evicted 2-4', 'raw 5-17');
  const again = await world.deliver('job1', true);
  expect(again).toMatchObject({ status: 'parked', children: [{ sequence: { from: 17, to: 19 } }] });
  for (const child of again.status === 'parked' ? again.children : []) await world.summarize(child);
  await world.deliver('job1', true);
  expect(await world.readVersion()).toMatchObject({ number: 2, base: 21, explained: [] });
  expect(summarizer.requests.map(({ range }) => range.from)).toEqual([2, 5, 8, 11, 14, 17]);
});

it('a compaction pass that plans again in each delivery uses only the existing summaries at the third delivery', async () => {
  const summarizer = brief();
  const world = await openPass({ policy: SIX_SUMMARIES, summarizers: [summarizer] });
  const moveOn = async (evicted: number): Promise<void> => {
    await world.append('a20 a580 u20 a20');
    const { head = 0 } = (await world.store.readConversation(ref)) ?? {};
    await world.writeVersion(`evicted 1-${evicted}`, `raw ${evicted + 1}-${head}`);
  };
  for (const child of await world.fanOut()) await world.summarize(child);
  await moveOn(4);
  const again = await world.deliver('job1', true);
  for (const child of again.status === 'parked' ? again.children : []) await world.summarize(child);
  await moveOn(7);
  expect(await world.deliver('job1', true)).toEqual({ status: 'done' });
  expect(world.eventsOf('pass_ended')).toMatchObject([{ outcome: 'committed', strategy: 'summarize' }]);
  expect(await world.readSegments()).toEqual(expect.arrayContaining(['summary 8-9', 'summary 14-15', 'summary 17-19']));
  expect(summarizer.requests.map(({ range }) => range.from)).toEqual([2, 5, 8, 11, 14, 17]);
});

it('a compaction pass plans again if another context version goes live that covers messages after its plan', async () => {
  const world = await openPass();
  for (const child of await world.fanOut()) await world.summarize(child);
  await world.append('u20 a20');
  await world.writeVersion('raw 1-19');
  await world.deliver('job1', true);
  expect(await world.readVersion()).toMatchObject({ number: 2, base: 19, archived: 10 });
});

it('a compaction pass plans again if another context version goes live just before its commit', async () => {
  const change = once(async () => await world.writeVersion('evicted 1-1', 'raw 2-17'));
  const world: Fixture = await openPass({ wrap: before('passes', 'commitVersion', change) });
  await world.runPass();
  expect(await world.readVersion()).toMatchObject({ number: 2, parent: 1, archived: 10 });
  expect(world.eventsOf('pass_ended')).toHaveLength(1);
});

it('a compaction pass fails with code conflict after it has planned again five times', async () => {
  let tries = 0;
  const change = async (): Promise<void> => {
    tries += 1;
    await world.writeVersion('raw 1-17');
  };
  const world: Fixture = await openPass({ wrap: before('passes', 'commitVersion', change) });
  await world.runPass();
  expect(tries).toBe(5);
  expect(world.eventsOf('pass_ended')).toMatchObject([{ outcome: 'failed', code: 'conflict' }]);
  expect((await world.db.find(ref))?.pass).toBeUndefined();
});

it('a worker writes nothing more for a compaction pass after a turn took over the pass, whatever the worker was about to store', async () => {
  for (const step of ['readReasons', 'recordPlan', 'parkPass', 'commitVersion'] as const) {
    const takeOver = once(async () => {
      await takeOverPass(world.ports, ref);
    });
    const world: Fixture = await openPass({ wrap: before('passes', step, takeOver) });
    await world.runPass();
    await world.runPass('job2');
    expect((await world.db.find(ref))?.versions.size, step).toBe(1);
    expect(outcomesOf(world).toSorted(), step).toEqual(['committed', 'superseded']);
    expect(world.eventsOf('lease_lost'), 'it was taken, not lost').toEqual([]);
  }
});

it('a compaction pass ends as superseded, and not as a lost lease, after a restore at any step', async () => {
  for (const step of ['readReasons', 'recordPlan', 'commitVersion'] as const) {
    const restore = once(() => restoreStart(world));
    const world: Fixture = await openPass({ wrap: before('passes', step, restore) });
    await world.runPass();
    expect(await world.readVersion(), step).toMatchObject({ number: 1, cause: 'restore' });
    expect(outcomesOf(world), step).toEqual(['superseded']);
    expect(world.eventsOf('lease_lost'), step).toEqual([]);
  }
});

it('a worker reports a lost lease after another worker claimed its compaction pass, at any step', async () => {
  for (const step of ['recordPlan', 'parkPass', 'readReasons'] as const) {
    const claim = once(async () => {
      world.db.advance(PASS_LIMITS.leaseMs + 1);
      await world.store.claimPass(ref, 'other', 'job', 'w');
    });
    const world: Fixture = await openPass({ wrap: before('passes', step, claim) });
    await world.deliver();
    expect(world.eventsOf('pass_ended'), step).toEqual([]);
    expect(world.eventsOf('lease_lost'), step).toMatchObject([{ what: 'pass', why: 'fenced' }]);
  }
});

it('the next owner of a compaction pass that was taken over uses the existing summaries', async () => {
  const summarizer = brief();
  const world = await openPass({ summarizers: [summarizer] });
  for (const child of await world.fanOut()) await world.summarize(child);
  await takeOverPass(world.ports, ref);
  expect(await world.readVersion()).toMatchObject({ strategy: 'summarize', archived: 10 });
  expect(summarizer.requests).toHaveLength(5);
  expect(await world.deliver('job1', true)).toEqual({ status: 'done' });
  expect((await world.db.find(ref))?.versions.size).toBe(1);
});

it.each(['readContext', 'readConversation', 'readLog'] as const)(
  'a compaction worker writes nothing after the conversation was erased during its call of %s',
  async (read) => {
    const erase = once(async () => void (await world.store.erase(ref)));
    const world: Fixture = await openPass({ wrap: before('contexts', read, erase) });
    expect(await world.deliver()).toEqual({ status: 'done' });
    expect(await world.db.find(ref)).toBeUndefined();
    expect(world.eventsOf('pass_ended')).toEqual([]);
    expect(world.eventsOf('lease_lost')).toMatchObject([{ what: 'pass', why: 'gone' }]);
  },
);
