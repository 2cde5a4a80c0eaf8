import { describe, expect, it } from 'vitest';
import { planPass } from '../../../src/domain/compaction/plan.ts';
import type { SettledContext } from '../../../src/domain/compaction/settle.ts';
import type { PolicyInput } from '../../../src/domain/policy.ts';
import type { Summarizer } from '../../../src/domain/ports/summarizer.ts';
import { runToEnd } from '../../../src/domain/sliced.ts';
import { START_VERSION, type Version } from '../../../src/domain/version.ts';
import { type Refusal, settleSendable } from '../../../src/workers/compaction/settle-sendable.ts';
import { hashSegments } from '../../../src/workers/content-hash.ts';
import { contextOf } from '../../domain/alphabet.ts';
import { acceptedSummary, requestOver } from '../../domain/passes.ts';
import { brief, FIVE_SEQUENCES, Fixture, ref } from './fixture.ts';

/** Settles `su(a:200)x3 u` with a summary of its sequence, before a check that refuses what it is told to. */
function settle(isRefused: (settled: SettledContext) => boolean, quarantine?: string) {
  const request = requestOver(contextOf('su(a:200)x3 u'), {
    policy: { retentionWindow: 0, maxTokens: 100 },
    reasons: ['ratio'],
  });
  const plan = planPass(request);
  const summaries = plan.sequences.map((sequence) => acceptedSummary(sequence, 20));
  const refusals: Refusal[] = [];
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

describe('a settled version that its provider would refuse', () => {
  it('is settled again without its summaries, and told of', () => {
    const { settled, refusals } = settle(({ strategy }) => strategy === 'summarize');
    expect(settled).toMatchObject({ kind: 'version', strategy: 'evict', explained: ['summaries_missing'] });
    expect(refusals).toEqual([{ codes: ['A4'], message: 'messages[1]: no result' }]);
  });

  it('is not made where that one would be refused, too', () => {
    const { settled, refusals } = settle(() => true);
    expect(settled).toEqual({ kind: 'refused', refusal: refusals.at(-1) });
    expect(refusals).toHaveLength(2);
  });

  it('is made as it is where nothing is wrong', () => {
    const { settled, refusals } = settle(() => false);
    expect(settled).toMatchObject({ strategy: 'summarize' });
    expect(refusals).toEqual([]);
  });

  it('and one that was refused before is not tried again, whatever the check says', () => {
    const { settled } = settle(() => false);
    if (settled.kind !== 'version') throw new Error('no version');
    const again = settle(() => false, hashSegments(settled.segments));
    expect(again.settled).toMatchObject({ kind: 'version', strategy: 'evict' });
    expect(again.refusals).toMatchObject([{ codes: ['quarantined'] }]);
  });
});

describe('a pass over a version that was rolled back', () => {
  /** Never the same text twice: a refused one is not sent again, whoever writes it. */
  function inventive() {
    const summarizer = brief();
    const summarize: Summarizer['summarize'] = async (request) => {
      await summarizer.summarize(request);
      return { status: 'written', text: `what happened, told for the ${summarizer.requests.length}. time` };
    };
    return { ...summarizer, summarize };
  }

  /** A version is live that a provider will refuse. */
  async function commitVersion(policy: PolicyInput = { summarizer: { models: ['brief'] } }) {
    const summarizer = inventive();
    const world = await Fixture.open({ policy, summarizers: [summarizer] });
    await world.append(FIVE_SEQUENCES);
    await world.request('token_threshold');
    await world.runPass();
    return { world, summarizer };
  }

  /** The live version is the first one, and is refused. */
  async function refuseVersion(world: Fixture) {
    const refused = world.version;
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

  it('asks no model and takes no summary of one: it writes its own', async () => {
    const { world, summarizer } = await rollBack();
    world.policies.length = 0;
    await world.request('token_threshold');
    await world.runPass('job2');
    expect(world.version).toMatchObject({ number: 3, parent: 2, cause: 'pass', strategy: 'summarize' });
    expect(new Set(world.policies.map((policy) => policy.summarizer))).toEqual(new Set(['structural']));
    expect(summarizer.requests, 'nothing of the refused version is used again').toHaveLength(10);
  });

  it('evicts where the refused one was its own, too', async () => {
    const { world } = await rollBack({});
    await world.request('token_threshold');
    await world.runPass('job2');
    expect(world.version).toMatchObject({ number: 3, strategy: 'evict' });
    expect(world.eventsOf('version_rejected')).toMatchObject([{ by: 'check', version: 3, codes: ['quarantined'] }]);
  });

  it('evicts where without a model the refused text comes out again', async () => {
    const { world } = await rollBack();
    let told = 0;
    const again: Summarizer['summarize'] = async () => {
      told += 1;
      return { status: 'written', text: `what happened, told for the ${told}. time` };
    };
    world.summarizers = [{ id: 'brief', summarize: again }];
    await world.request('token_threshold');
    await world.runPass('job2');
    expect(world.version).toMatchObject({ number: 3, strategy: 'evict' });
    expect(world.eventsOf('version_rejected')).toMatchObject([{ codes: ['quarantined'] }]);
  });

  it('is the last of its kind: the next one asks models again', async () => {
    const { world } = await rollBack();
    await world.request('token_threshold');
    await world.runPass('job2');
    world.policies.length = 0;
    await world.append(FIVE_SEQUENCES);
    await world.request('token_threshold');
    await world.runPass('job3');
    expect(world.version).toMatchObject({ number: 4 });
    expect(world.policies.map((policy) => policy.summarizer)).not.toContain('structural');
  });

  /** A soft pass waits for the summaries of what was appended behind the version that is refused then. */
  async function parkPass() {
    const { world, summarizer } = await commitVersion();
    await world.append(FIVE_SEQUENCES);
    await world.request('token_threshold');
    const children = await world.fanOut('job2');
    return { world, summarizer, children };
  }

  it('plans anew where it had planned before, and evicts nothing for want of the summaries of then', async () => {
    const { world, children } = await parkPass();
    for (const child of children) await world.summarize(child);
    await refuseVersion(world);
    world.policies.length = 0;
    const again = await world.deliver('job2', true);
    for (const child of again.status === 'parked' ? again.children : []) await world.summarize(child);
    expect(new Set(world.policies.map((policy) => policy.summarizer))).toEqual(new Set(['structural']));
    await world.deliver('job2', true);
    expect(world.version).toMatchObject({ number: 3, strategy: 'summarize', explained: [] });
    expect(world.segments.filter((segment) => segment.startsWith('evicted'))).toEqual([]);
  });

  it('plans anew where it was rolled back while it settled', async () => {
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
    expect(world.version).toMatchObject({ number: 3, strategy: 'summarize', explained: [] });
  });

  it('lets no child of then write another text under the name of the model’s', async () => {
    const { world, summarizer, children } = await parkPass();
    await refuseVersion(world);
    summarizer.requests.length = 0;
    const [child] = children;
    if (child === undefined) throw new Error('no child');
    expect(await world.summarize(child)).toEqual({ status: 'ended', outcome: 'superseded' });
    expect(summarizer.requests).toEqual([]);
    expect(await world.store.readSummaries(ref, [child.hash])).toEqual([undefined]);
  });
});
