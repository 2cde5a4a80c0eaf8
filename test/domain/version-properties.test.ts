import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { requestTokens } from '../../src/domain/compaction/budget.ts';
import { nameSegment } from '../../src/domain/compaction/segments.ts';
import { hasTokenReason } from '../../src/domain/compaction/thresholds.ts';
import { type ContextItem, weighItems } from '../../src/domain/context.ts';
import { diffVersions } from '../../src/domain/diff.ts';
import { upperBoundTokens } from '../../src/domain/size.ts';
import { forEachPass, forEachVersion, RUNS } from './every-pass.ts';
import {
  type CommittedPass,
  contextAfter,
  fatesOf,
  fixedPositions,
  floorPositions,
  isSoft,
  maySummaryTake,
} from './fates.ts';
import { type TakenPass, takePass } from './passes.ts';
import { cycleShares, playScenario, scenarios } from './scenarios.ts';

describe('the result for any history, policy and reasons', () => {
  test('a committed version is smaller than its parent, by minGain after a soft pass, and states its true weight', () => {
    forEachVersion((pass) => {
      const { request, settlement } = pass;
      const { items } = contextAfter(pass);
      expect(settlement.tokensAfter).toBeLessThan(settlement.tokensBefore);
      expect(settlement.tokensBefore).toBe(requestTokens(request, weighItems(request.context.items).tokens));
      expect(settlement.tokensAfter).toBe(requestTokens(request, weighItems(items).tokens));
      expect(settlement.weight).toStrictEqual(weighItems(items));
      expect(weighItems(settlement.segments.map((segment) => segment.weight))).toStrictEqual(settlement.weight);
      const gain = (settlement.tokensBefore - settlement.tokensAfter) / settlement.tokensBefore;
      if (isSoft(pass)) expect(gain).toBeGreaterThanOrEqual(request.policy.minGain);
    });
  });

  test('a committed version has at most maxTokens or explains why not', () => {
    forEachVersion(({ request, settlement }) => {
      const { maxTokens, upperBoundFactor } = request.limits;
      if (maxTokens === undefined) return;
      const isOver = upperBoundTokens(settlement.tokensAfter, upperBoundFactor) > maxTokens;
      const isTokenBound = hasTokenReason(request.reasons);
      const whys = isTokenBound ? ['retention_floor', 'nothing_removable'] : ['no_token_reason'];
      const isExplained = settlement.explained.some((explanation) => whys.includes(explanation));
      expect(isOver && !isExplained).toBe(false);
      expect(isExplained && isTokenBound && !isOver).toBe(false);
    });
  });

  test('a pass is infeasible only if its arithmetic exceeds the limit and nothing more can be removed', () => {
    forEachPass((pass) => {
      const { plan, settlement, request } = pass;
      const details = settlement?.kind === 'infeasible' ? settlement.details : plan.infeasible;
      if (details === undefined) return;
      const sum = details.fixed + details.pinned + details.open + details.floor;
      expect(sum).toBeGreaterThan(details.max);
      expect(details.max).toBe(request.limits.maxTokens);
      const { items } = request.context;
      // A summary changes the weight of the first user message.
      if (
        plan.sequences.some(({ from, to }) =>
          items.some((item, at) => from <= item.from && item.to <= to && maySummaryTake(pass, at)),
        )
      )
        return;
      const stays = fixedPositions(items);
      for (const position of isSoft(pass) ? floorPositions(pass) : []) stays.add(position);
      const left = requestTokens(request, weighItems(items.filter((_, position) => stays.has(position))).tokens);
      expect(sum).toBe(upperBoundTokens(left, request.limits.upperBoundFactor));
    });
  });

  test('the segments of a version cover 1…head without gap or overlap, with neighbours of a kind joined', () => {
    forEachVersion(({ plan, settlement: { segments } }) => {
      let next = 1;
      segments.forEach((segment, index) => {
        expect(segment.from).toBe(next);
        expect(segment.to).toBeGreaterThanOrEqual(segment.from);
        if (segment.kind !== 'summary') expect(segments[index - 1]?.kind).not.toBe(segment.kind);
        next = segment.to + 1;
      });
      expect(next).toBe(plan.head + 1);
    });
  });

  test('a pass keeps the remaining items in their order and counts only raw messages as archived', () => {
    forEachVersion((pass) => {
      const before = pass.request.context.items;
      const fates = fatesOf(pass);
      const kept = before.filter((_, position) => fates[position] === 'kept');
      const isNew = new Set(pass.settlement.summaryKeys);
      const after = contextAfter(pass).items;
      expect(
        after.filter((item) => !isNew.has(item.segment === undefined ? '' : nameSegment(item.segment))),
      ).toStrictEqual(kept);
      const lost = before.filter((item, position) => item.segment === undefined && fates[position] !== 'kept');
      expect(pass.settlement.archived).toBe(lost.length);
    });
  });

  test('a pass evicts the ranges of its plan', () => {
    forEachVersion((pass) => {
      const { plan, request } = pass;
      if (plan.kind !== 'evict') return;
      const isPlanned = (seq: number): boolean => plan.evict.some(({ from, to }) => from <= seq && seq <= to);
      const planned = request.context.items.map((item) => (isPlanned(item.from) ? 'gone' : 'kept'));
      expect(fatesOf(pass)).toStrictEqual(planned);
      expect(pass.settlement.explained).toStrictEqual(plan.explained);
    });
  });

  test('the sequences of a plan hold whole items, do not overlap and are large enough', () => {
    forEachPass(({ plan, request: { context, policy } }) => {
      let next = 1;
      const isDropped = (item: ContextItem): boolean =>
        plan.evict.some(({ from, to }) => from <= item.from && item.to <= to);
      for (const { from, to, tokens } of plan.sequences) {
        const items = context.items.filter((item) => item.from >= from && item.to <= to && !isDropped(item));
        expect(from).toBeGreaterThanOrEqual(next);
        expect(items[0]?.from).toBe(from);
        expect(items.at(-1)?.to).toBe(to);
        expect(tokens).toBe(weighItems(items).tokens);
        expect(tokens).toBeGreaterThanOrEqual(policy.minSequenceTokens);
        expect(items.length).toBeGreaterThanOrEqual(policy.minSequenceMessages);
        next = to + 1;
      }
    });
  });

  test('the diff of a version and its parent lists exactly the changes of the pass', () => {
    forEachVersion((pass) => {
      const changes = diffVersions(pass.request.context.version, pass.story.version);
      const isChanged = (seq: number): boolean => changes.some(({ from, to }) => from <= seq && seq <= to);
      fatesOf(pass).forEach((fate, position) => {
        const { from, to } = pass.request.context.items[
          position
        ] as CommittedPass['request']['context']['items'][number];
        expect(isChanged(from)).toBe(fate !== 'kept');
        expect(isChanged(to)).toBe(fate !== 'kept');
      });
    });
  });

  test('passes with the same reasons end after a bounded number of versions', () => {
    fc.assert(
      fc.property(scenarios, (scenario) => {
        const setting = { ...scenario.settings[0], summarize: cycleShares(scenario.shares) };
        let { story } = playScenario(scenario).at(-1) as TakenPass;
        // Each pass removes a raw message, or replaces several items by one summary.
        const bound = 2 * story.entries.length + 2;
        for (let passes = 0; ; passes += 1) {
          expect(passes).toBeLessThanOrEqual(bound);
          const taken = takePass(story, setting);
          if (taken.settlement?.kind !== 'version') return;
          story = taken.story;
        }
      }),
      RUNS,
    );
  });
});
