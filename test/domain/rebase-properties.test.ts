import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { buildContext, weighItems } from '../../src/compaction/context.ts';
import { canRebase } from '../../src/compaction/rebase.ts';
import { segmentItems } from '../../src/compaction/segments.ts';
import type { SeqRange, Summary, Version } from '../../src/domain/version.ts';
import { droppablePositions, fatesOf, fixedPositions, isCommitted, ownersOf } from './fates.ts';
import { acceptedSummary, type Story, settlePass, type TakenPass } from './passes.ts';
import { playAll, RUNS } from './played.ts';

/**
 * The current version after another worker evicted these groups. A group is named by the position of its first message.
 */
function evictMeanwhile(pass: TakenPass, owners: ReadonlySet<number>): Version {
  const { version, head, items } = pass.request.context;
  const ownerOf = ownersOf(items);
  const kept = items.filter((_, position) => !owners.has(ownerOf[position] as number));
  const segments = segmentItems(kept, head);
  return { ...version, number: version.number + 1, base: head, segments, weight: weighItems(kept) };
}

/** Removable groups, divided into those that the plan changes and the others. */
function removableOwners({ request, plan }: TakenPass): { planned: number[]; others: number[] } {
  const { items } = request.context;
  const fixed = fixedPositions({ request });
  const ranges: readonly SeqRange[] = [...plan.sequences, ...plan.evict, ...(plan.shorten ?? [])];
  const isPlanned = (position: number): boolean => {
    const { from } = items[position] as (typeof items)[number];
    return ranges.some((range) => range.from <= from && from <= range.to);
  };
  const owners = ownersOf(items);
  const plannedOwners = new Set(owners.filter((_, position) => isPlanned(position)));
  const removable = [...new Set(owners)].filter((owner) => !fixed.has(owner));
  return {
    planned: removable.filter((owner) => plannedOwners.has(owner)),
    others: removable.filter((owner) => !plannedOwners.has(owner)),
  };
}

function storyOf(pass: TakenPass, version: Version, texts: readonly (readonly [string, Summary])[] = []): Story {
  return { ...pass.story, version, summaries: new Map([...pass.story.summaries, ...texts]) };
}

/** The last pass of each scenario, with groups to choose. */
function lastPasses(): { pass: TakenPass; pick: readonly boolean[]; choice: number }[] {
  const picks = fc.array(fc.boolean(), { minLength: 1, maxLength: 7 });
  const choices = fc.sample(fc.tuple(picks, fc.nat()), { numRuns: RUNS, seed: 1 });
  return playAll().map(({ passes }, index) => {
    const [pick, choice] = choices[index] as [boolean[], number];
    return { pass: passes.at(-1) as TakenPass, pick, choice };
  });
}

describe('a plan whose live version changed', () => {
  test('a compaction plan still gives a valid context version after the commit of another version that left the planned messages unchanged', () => {
    let settledPasses = 0;
    for (const { pass, pick } of lastPasses()) {
      const { plan } = pass;
      const { others } = removableOwners(pass);
      const evicted = new Set(others.filter((_, index) => pick[index % pick.length]));
      const live = evictMeanwhile(pass, evicted);
      expect(canRebase(plan, pass.request.context.version, live)).toBe(true);
      if (plan.sequences.length === 0) continue;
      const context = buildContext({ ...storyOf(pass, live), head: plan.head });
      const summaries = plan.sequences.map((sequence) => acceptedSummary(sequence, Math.floor(sequence.tokens / 4)));
      const settlement = settlePass({ ...pass.request, context, plan, summaries });
      if (settlement.kind !== 'version') continue;
      settledPasses += 1;
      // All items that the segments contain, or all original items if nothing was removed. More may stay after an
      // eviction by another worker: the retention window then reaches further back, and a result without its answer
      // counts as unread.
      const shown = settlement.segments.flatMap((segment) => (segment.kind === 'summary' ? [segment.summaryKey] : []));
      const placed = summaries.map((summary) => summary.summaryKey);
      expect(settlement.summaryKeys).toStrictEqual(placed.filter((text) => shown.includes(text)));
      const wasCut = settlement.steps.some(({ step }) => step === 'evict' || step === 'relax');
      if (!wasCut && evicted.size === 0) expect(settlement.summaryKeys).toStrictEqual(placed);
      const texts = summaries.map(({ summaryKey: text, range }): [string, Summary] => [
        text,
        { text, covers: range, sources: [], depth: 1, model: 'test' },
      ]);
      const version = { ...live, number: live.number + 1, segments: [...settlement.segments] };
      const request = { ...pass.request, context };
      const fates = fatesOf({ ...pass, request, settlement, story: storyOf(pass, version, texts) });
      const dropped = droppablePositions({ request });
      ownersOf(context.items).forEach((owner, position) => {
        if (!dropped.has(owner)) expect(fates[position]).toBe(fates[owner]);
      });
      const ends = settlement.segments.map(({ to }) => to);
      expect(settlement.segments.map(({ from }) => from)).toStrictEqual([1, ...ends.slice(0, -1).map((to) => to + 1)]);
      expect(ends.at(-1)).toBe(plan.head);
    }
    expect(settledPasses).toBeGreaterThan(RUNS * 0.05);
  });

  test('a compaction plan no longer applies after another committed version removed some of the planned messages', () => {
    for (const { pass, choice } of lastPasses()) {
      const { planned } = removableOwners(pass);
      if (planned.length === 0) continue;
      const live = evictMeanwhile(pass, new Set([planned[choice % planned.length] as number]));
      expect(canRebase(pass.plan, pass.request.context.version, live)).toBe(false);
    }
  });

  test('a compaction plan does not apply a second time after the eviction that it planned was committed', () => {
    for (const { passes } of playAll()) {
      const evictions = passes.filter((pass) => isCommitted(pass) && pass.plan.kind === 'evict');
      for (const { plan, request, story } of evictions) {
        expect(canRebase(plan, request.context.version, story.version)).toBe(false);
      }
    }
  });
});
