import { expect, it } from 'vitest';
import { planInSlices } from '../../../src/compaction/plan.ts';
import type { SettledContext } from '../../../src/compaction/settle.ts';
import { runToEnd } from '../../../src/domain/interruptible.ts';
import type { PolicyInput } from '../../../src/domain/policy.ts';
import type { Summarizer } from '../../../src/domain/summarizer.ts';
import { START_VERSION, type Version } from '../../../src/domain/version.ts';
import { settleSendable, type VersionRefusal } from '../../../src/workers/compaction/plan-and-settle.ts';
import { hashSegments } from '../../../src/workers/content-hash.ts';
import { contextOf } from '../../domain/alphabet.ts';
import { acceptedSummary, requestOver } from '../../domain/passes.ts';
import { brief, FIVE_SEQUENCES, Fixture, ref } from './fixture.ts';

/**
 * Settles the context `su(a:200)x3 u` with a summary of its sequence. Versions for which `isRefused` is true break a
 * rule.
 */
function settle(isRefused: (settled: SettledContext) => boolean, quarantine?: string) {
  const request = requestOver(contextOf('su(a:200)x3 u'), {
    policy: { retentionWindow: 0, maxTokens: 100 },
    reasons: ['ratio'],
  });
  const plan = runToEnd(planInSlices(request));
  const summaries = plan.sequences.map((sequence) => acceptedSummary(sequence, 20));
  const refusals: VersionRefusal[] = [];
  const settling = settleSendable(
    { ...request, plan, summaries },
    {
      quarantine: quarantine === undefined ? undefined : { version: 2, segments: quarantine },
      *check(made) {
        yield;
        if (!isRefused(made)) return [];
        return [
          { rule: 'A4', path: 'messages[1]', message: 'no result' },
          { rule: 'A4', path: 'messages[3]', message: 'no result' },
        ];
      },
      onRefusal: (refusal) => refusals.push(refusal),
    },
  );
  return { settled: runToEnd(settling), refusals };
}

it('settleSendable builds a context without summaries if the context with summaries breaks a provider’s rule, and reports that rule', () => {
  const { settled, refusals } = settle(({ strategy }) => strategy === 'summarize');
  expect(settled).toMatchObject({ kind: 'version', summaryKeys: [], explained: ['summaries_missing'] });
  expect(refusals).toEqual([{ codes: ['A4'], message: 'messages[1]: no result' }]);
});

it('settleSendable returns no new version if the contexts with and without summaries both break a provider’s rule', () => {
  const { settled, refusals } = settle(() => true);
  expect(settled).toEqual({ kind: 'refused', refusal: refusals.at(-1) });
  expect(refusals).toHaveLength(2);
});

it('settleSendable returns the context with its summaries if that context breaks no provider’s rule', () => {
  const { settled, refusals } = settle(() => false);
  expect(settled).toMatchObject({ strategy: 'summarize' });
  expect(refusals).toEqual([]);
});

it('settleSendable refuses compacted ranges (segments) that a provider refused before, even if they break no known rule', () => {
  const { settled } = settle(() => false);
  if (settled.kind !== 'version') throw new Error('no version');
  const again = settle(() => false, hashSegments(settled.segments));
  expect(again.settled).toMatchObject({ kind: 'version', summaryKeys: [] });
  expect(again.refusals).toMatchObject([{ codes: ['quarantined'] }]);
});

/** A summarizer that writes a new text each time, because a refused text is not sent again. */
function inventive() {
  const summarizer = brief();
  const summarize: Summarizer['summarize'] = async (request) => {
    await summarizer.summarize(request);
    return { status: 'written', text: `what happened, told for the ${summarizer.requests.length}. time` };
  };
  return { ...summarizer, summarize };
}

/** A conversation with a live context version that a provider will refuse. */
async function commitVersion(policy: PolicyInput = { summarizer: { models: ['brief'] } }) {
  const summarizer = inventive();
  const world = await Fixture.open({ policy, summarizers: [summarizer] });
  await world.append(FIVE_SEQUENCES);
  await world.request('token_threshold');
  await world.runPass();
  return { world, summarizer };
}

/** Rolls back version 1, which is the live context version. */
async function refuseVersion(world: Fixture) {
  const refused = await world.readVersion();
  await world.accept('t1', 'go on');
  const claim = await world.store.claim(ref, world.nextId(), world.nextId());
  if (refused === undefined || claim.status !== 'claimed') throw new Error('nothing to roll back');
  const rollback: Version = { ...START_VERSION, number: 2, parent: 1, cause: 'rollback' };
  await world.store.rollBackVersion(claim.turn.lease, {
    expectedVersion: 1,
    shownVersion: 1,
    version: rollback,
    refusedSegments: hashSegments(refused.segments),
    keepVersions: 10,
  });
  await world.store.settle(claim.turn.lease, { state: 'completed', answerSeq: 17 }, undefined);
}

async function rollBack(policy?: PolicyInput) {
  const { world, summarizer } = await commitVersion(policy);
  await refuseVersion(world);
  return { world, summarizer };
}

it('after the provider refused a compacted context, the next compaction pass writes summaries without a model', async () => {
  const { world, summarizer } = await rollBack();
  world.policies.length = 0;
  await world.request('token_threshold');
  await world.runPass('job2');
  expect(await world.readVersion()).toMatchObject({ number: 3, parent: 2, cause: 'pass', strategy: 'summarize' });
  expect(new Set(world.policies.map((policy) => policy.summarizer))).toEqual(new Set(['structural']));
  expect(summarizer.requests, 'nothing of the refused version is used again').toHaveLength(10);
});

it('a compaction pass uses no summaries if the provider refused the context with the same summaries', async () => {
  const { world } = await rollBack({});
  await world.request('token_threshold');
  await world.runPass('job2');
  expect(await world.readVersion()).toMatchObject({ number: 3, cause: 'pass', explained: ['summaries_missing'] });
  expect((await world.readSegments()).filter((segment) => segment.startsWith('summary'))).toEqual([]);
  expect((await world.readVersion())?.tokensAfter).toBeLessThanOrEqual(1_100);
  expect(world.eventsOf('version_refused')).toMatchObject([{ by: 'check', version: 3, codes: ['quarantined'] }]);
});

it('after a rollback, a compaction pass uses no summaries if the text written without a model equals the text that the provider refused', async () => {
  const { world } = await rollBack();
  let told = 0;
  const again: Summarizer['summarize'] = async () => {
    told += 1;
    return { status: 'written', text: `what happened, told for the ${told}. time` };
  };
  world.summarizers = [{ id: 'brief', summarize: again }];
  await world.request('token_threshold');
  await world.runPass('job2');
  expect(await world.readVersion()).toMatchObject({ number: 3, cause: 'pass', explained: ['summaries_missing'] });
  expect((await world.readSegments()).filter((segment) => segment.startsWith('summary'))).toEqual([]);
  expect((await world.readVersion())?.tokensAfter).toBeLessThanOrEqual(1_100);
  expect(world.eventsOf('version_refused')).toMatchObject([{ codes: ['quarantined'] }]);
});

it('after a rollback, the first compaction pass runs without models, and the second uses models again', async () => {
  const { world } = await rollBack();
  await world.request('token_threshold');
  await world.runPass('job2');
  world.policies.length = 0;
  await world.append(FIVE_SEQUENCES);
  await world.request('token_threshold');
  await world.runPass('job3');
  expect(await world.readVersion()).toMatchObject({ number: 4 });
  expect(world.policies.map((policy) => policy.summarizer)).not.toContain('structural');
});

/** A soft compaction pass that waits for its child jobs while the context version before it is refused. */
async function parkPass() {
  const { world, summarizer } = await commitVersion();
  await world.append(FIVE_SEQUENCES);
  await world.request('token_threshold');
  const children = await world.fanOut('job2');
  return { world, summarizer, children };
}

it('a compaction pass that plans again after a rollback writes new summaries for sequences without one, instead of evicting them', async () => {
  const { world, children } = await parkPass();
  for (const child of children) await world.summarize(child);
  await refuseVersion(world);
  world.policies.length = 0;
  const again = await world.deliver('job2', true);
  for (const child of again.status === 'parked' ? again.children : []) await world.summarize(child);
  expect(new Set(world.policies.map((policy) => policy.summarizer))).toEqual(new Set(['structural']));
  await world.deliver('job2', true);
  expect(await world.readVersion()).toMatchObject({ number: 3, strategy: 'summarize', explained: [] });
  expect((await world.readSegments()).filter((segment) => segment.startsWith('evicted'))).toEqual([]);
});

it('a compaction pass plans again if a rollback happens while it builds the new context', async () => {
  const { world, children } = await parkPass();
  for (const child of children) await world.summarize(child);
  const passes = { ...world.ports.passes };
  let isRefused = false;
  Object.assign(world.ports.passes, {
    readReasons: async (...args: Parameters<typeof passes.readReasons>) => {
      if (!isRefused) await refuseVersion(world);
      isRefused = true;
      return await passes.readReasons(...args);
    },
  });
  const again = await world.deliver('job2', true);
  expect(again).toMatchObject({ status: 'parked' });
  for (const child of again.status === 'parked' ? again.children : []) await world.summarize(child);
  await world.deliver('job2', true);
  expect(await world.readVersion()).toMatchObject({ number: 3, strategy: 'summarize', explained: [] });
});

it('a summarization job from before a rollback does not record text written without a model under the key of a model’s summary', async () => {
  const { world, summarizer, children } = await parkPass();
  await refuseVersion(world);
  summarizer.requests.length = 0;
  const [child] = children;
  if (child === undefined) throw new Error('no child');
  expect(await world.summarize(child)).toEqual({ status: 'ended', outcome: 'superseded' });
  expect(summarizer.requests).toEqual([]);
  expect(await world.store.readSummaries(ref, [child.hash])).toEqual([undefined]);
});
