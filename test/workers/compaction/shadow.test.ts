import { expect, it } from 'vitest';
import type { PolicyInput } from '../../../src/domain/policy.ts';
import type { Summarizer } from '../../../src/domain/summarizer.ts';
import { prepareShadow } from '../../../src/host/agents.ts';
import { scriptedModel } from '../../../src/providers/scripted.ts';
import { createShadow } from '../../../src/workers/compaction/shadow.ts';
import { type AllPorts, brief, FIVE_SEQUENCES, Fixture, type FixtureOptions } from './fixture.ts';

const EVICTING: PolicyInput = {
  tokenThreshold: 1_500,
  maxTokens: 1_000,
  retentionWindow: 2,
  minSequenceTokens: 90_000,
};

interface ShadowOptions extends FixtureOptions {
  readonly shadow: PolicyInput;
  readonly shadowSummarizer?: Summarizer;
  /** Messages before the compaction pass. */
  readonly script?: string;
}

/** Workers with a shadow policy. The shadow's calls of ports are counted, and calls that it must not make throw. */
async function openShadowed(given: ShadowOptions) {
  const { shadow, shadowSummarizer = brief('shadow'), script = FIVE_SEQUENCES, ...options } = given;
  const policy = { tokenThreshold: 1_500, maxTokens: 1_000, retentionWindow: 2, ...options.policy };
  const model = options.model ?? scriptedModel({ profile: { windowTokens: 100_000 }, decide: () => ({}) });
  const agent = { name: 'guide', system: 'You guide.', model, tools: [], policy };
  const agents = await prepareShadow([agent], shadow, () => 1);
  const wrap = (ports: AllPorts): AllPorts => ({
    ...ports,
    shadow: createShadow({
      contexts: {
        readSystem: async () => undefined,
        readOwn: async () => undefined,
        readLog: (conversation, ranges) => ports.contexts.readLog(conversation, ranges),
      },
      agents,
      summarizers: () => [shadowSummarizer],
      clock: ports.clock,
      ids: { next: () => 'shadow' },
      timers: ports.timers,
      onEvent: ports.onEvent,
    }),
  });
  const world = await Fixture.open({ ...options, wrap });
  await world.append(script);
  await world.request('token_threshold');
  return world;
}

it('the measurement of a shadow policy, which is tried without effect, reports the results of both policies for the same context', async () => {
  const world = await openShadowed({ shadow: EVICTING });
  await world.runPass();
  const [measured, ...others] = world.eventsOf('pass_shadowed');
  expect(others).toEqual([]);
  const [ended] = world.eventsOf('pass_ended');
  expect(measured?.live).toEqual({
    outcome: 'committed',
    strategy: 'summarize',
    tokensBefore: ended?.tokensBefore,
    tokensAfter: ended?.tokensAfter,
    summaries: 5,
    evictedTokens: 0,
  });
  expect(measured?.shadow).toMatchObject({ outcome: 'committed', strategy: 'evict', summaries: 0 });
  const { tokensBefore = 0, tokensAfter = 0, evictedTokens } = measured?.shadow ?? {};
  expect(tokensBefore).toBe(measured?.live.tokensBefore);
  expect(tokensAfter).toBeLessThanOrEqual(1_000);
  expect(evictedTokens).toBeGreaterThan(0);
  expect(evictedTokens, 'the other tokens were clipped').toBeLessThanOrEqual(tokensBefore - tokensAfter);
});

it('the measurement of a shadow policy counts the placeholder before a context that starts with an answer', async () => {
  const world = await openShadowed({ shadow: { tokenThreshold: 50_000 }, script: `a20 ${FIVE_SEQUENCES}` });
  await world.runPass();
  const [measured] = world.eventsOf('pass_shadowed');
  const [ended] = world.eventsOf('pass_ended');
  expect(measured?.live.tokensBefore).toBe(ended?.tokensBefore);
  expect(measured?.shadow?.tokensAfter).toBe(ended?.tokensBefore);
});

it('a shadow policy is measured once per compaction pass, after the pass has ended', async () => {
  const world = await openShadowed({ shadow: EVICTING });
  await world.runPass();
  await world.append('u20 a20 a580 '.repeat(5));
  await world.request('token_threshold');
  await world.runPass('job2');
  const order = world.events.map(({ type }) => type).filter((type) => /ended|shadowed/.test(type));
  expect(order.filter((type) => type !== 'summary_ended')).toEqual([
    'pass_ended',
    'pass_shadowed',
    'pass_ended',
    'pass_shadowed',
  ]);
  const [, second] = world.eventsOf('pass_shadowed');
  expect(second?.live.tokensBefore).toBe(world.eventsOf('pass_ended')[1]?.tokensBefore);
  expect(second?.shadow?.tokensBefore).toBe(second?.live.tokensBefore);
});

it('a shadow policy changes neither the store nor the events of a compaction pass', async () => {
  const plain = await Fixture.open();
  await plain.append(FIVE_SEQUENCES);
  await plain.request('token_threshold');
  await plain.runPass();
  const shadowed = await openShadowed({ shadow: EVICTING });
  await shadowed.runPass();
  expect((await shadowed.readVersion())?.number).toBe(1);
  expect(shadowed.db.dump()).toEqual(plain.db.dump());
  expect(shadowed.eventsOf('pass_ended')).toEqual(plain.eventsOf('pass_ended'));
});

it('the measurement of a shadow policy, which is tried without effect, reports that the policy would remove nothing', async () => {
  const world = await openShadowed({ shadow: { tokenThreshold: 50_000 } });
  await world.runPass();
  const [measured] = world.eventsOf('pass_shadowed');
  expect(measured?.shadow).toMatchObject({ outcome: 'no_reason', strategy: 'none', summaries: 0 });
  expect(measured?.shadow?.tokensAfter).toBe(measured?.live.tokensBefore);
});

it('a shadow policy is measured, without the live policy’s backoff, at a compaction pass that found nothing to remove', async () => {
  const idle = { messageThreshold: 3, tokenThreshold: 60_000, minSequenceTokens: 90_000, strategy: { evict: 0 } };
  const world = await openShadowed({ policy: idle, shadow: EVICTING });
  await world.request('turn_threshold');
  await world.deliver();
  expect(world.eventsOf('pass_ended').map(({ outcome }) => outcome)).toEqual(['none']);
  expect(world.eventsOf('pass_shadowed')[0]).toMatchObject({
    live: { outcome: 'none', strategy: 'none', evictedTokens: 0 },
    shadow: { outcome: 'committed', strategy: 'evict' },
  });
});

it('a shadow policy is measured at a compaction pass that proposes its new context', async () => {
  const world = await openShadowed({ policy: { mode: 'review' }, shadow: EVICTING });
  await world.runPass();
  expect(await world.readVersion()).toBeUndefined();
  expect(world.eventsOf('pass_shadowed')).toMatchObject([
    { live: { outcome: 'proposed', strategy: 'summarize', summaries: 5 }, shadow: { strategy: 'evict' } },
  ]);
});

it('a shadow policy is not measured at a compaction pass that ends without a reason', async () => {
  const world = await openShadowed({ policy: { tokenThreshold: 60_000 }, shadow: EVICTING });
  await world.deliver();
  expect(world.eventsOf('pass_ended').map(({ outcome }) => outcome)).toEqual(['no_reason']);
  expect(world.eventsOf('pass_shadowed')).toEqual([]);
});

it('a shadow policy whose measurements fail is reported once and counted each time, and does not affect the compaction pass', async () => {
  const failing: Summarizer = { id: 'failing', summarize: () => Promise.reject(new Error('no shadow today')) };
  const world = await openShadowed({
    shadow: { tokenThreshold: 1_500, maxTokens: 1_100, retentionWindow: 2 },
    shadowSummarizer: failing,
  });
  await world.runPass();
  await world.append('u20 a20 a580 '.repeat(5));
  await world.request('token_threshold');
  await world.runPass('job2');
  expect(world.eventsOf('pass_ended').map(({ outcome }) => outcome)).toEqual(['committed', 'committed']);
  expect(world.eventsOf('pass_shadowed').map(({ shadow }) => shadow)).toEqual([undefined, undefined]);
  expect(world.eventsOf('worker_failed')).toMatchObject([{ where: 'shadow', error: { message: 'no shadow today' } }]);
});

it('a worker with a shadow policy that cannot work with an agent refuses to start and names the wrong field', async () => {
  const model = scriptedModel({ profile: { windowTokens: 10_000 }, decide: () => ({}) });
  const agent = { name: 'guide', system: '', model, tools: [], policy: {} };
  const refused = prepareShadow([agent], { tokenThreshold: 50_000 }, () => 1);
  await expect(refused).rejects.toMatchObject({
    code: 'invalid_policy',
    field: 'shadow.agents.guide.tokenThreshold',
  });
});

it('an error behind the commit of a pass is reported, and does not fail the pass', async () => {
  const wrap = (ports: AllPorts): AllPorts => ({
    ...ports,
    shadow: { measure: () => Promise.reject(new TypeError('broken')) },
  });
  const world = await Fixture.open({ policy: { tokenThreshold: 1_500, maxTokens: 1_000, retentionWindow: 2 }, wrap });
  await world.append(FIVE_SEQUENCES);
  await world.request('token_threshold');
  await world.runPass();
  expect(world.eventsOf('pass_ended')).toMatchObject([{ outcome: 'committed' }]);
  expect(world.eventsOf('worker_failed')).toMatchObject([{ where: 'pass end', error: new TypeError('broken') }]);
});
