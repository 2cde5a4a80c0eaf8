import { describe, expect, test } from 'vitest';
import { opensWithUser } from '../../src/compaction/budget.ts';
import { weighItems } from '../../src/compaction/context.ts';
import { diffInSlices } from '../../src/compaction/diff.ts';
import { runToEnd } from '../../src/domain/interruptible.ts';
import { hasTokenReason } from '../../src/domain/pass.ts';
import type { ContextItem, SeqRange } from '../../src/domain/version.ts';
import {
  type CommittedPass,
  contextAfter,
  droppablePositions,
  fatesOf,
  fixedPositions,
  floorPositions,
  isCommitted,
  mayFold,
  maySummaryTake,
} from './fates.ts';
import { type TakenPass, takePass } from './passes.ts';
import { forEachPlayed, playAll, RUNS } from './played.ts';
import { cycleShares } from './scenarios.ts';
import { findSystemPlaces } from './system-places.ts';

function forEachPass(check: (pass: TakenPass) => void): void {
  forEachPlayed(({ passes }) => passes.forEach(check));
}

function forEachVersion(check: (pass: CommittedPass) => void): void {
  forEachPass((pass) => {
    if (isCommitted(pass)) check(pass);
  });
}

describe('a compaction pass over any history, with any policy and any reasons', () => {
  test('random scenarios reach every kind of outcome of a compaction pass often enough', () => {
    const ends = new Map<string, number>();
    const count = (end: string): void => void ends.set(end, (ends.get(end) ?? 0) + 1);
    for (const pass of playAll().flatMap(({ passes }) => passes)) {
      count(pass.settlement === undefined ? `plan ${pass.plan.kind}` : pass.settlement.kind);
      if (!isCommitted(pass)) continue;
      count(pass.settlement.strategy);
      for (const explained of pass.settlement.explained) count(explained);
      if (pass.settlement.isFloorRelaxed) count('relaxed');
      const merged = fatesOf(pass).some(
        (fate, position) => fate.startsWith('under') && pass.request.context.items[position]?.segment !== undefined,
      );
      if (merged) count('merged');
    }
    const rare = ['plan none', 'plan infeasible', 'no_gain', 'infeasible', 'none', 'merged', 'retention_floor'];
    const common = ['version', 'summarize', 'evict', 'relaxed', 'summaries_missing', 'no_token_reason'];
    for (const end of [...rare, ...common]) {
      expect(ends.get(end) ?? 0, end).toBeGreaterThanOrEqual(RUNS * (rare.includes(end) ? 0.003 : 0.05));
    }
  });

  test('a summary never replaces protected messages, and replaces user messages only with the setting `scope: prefix` or for a token reason', () => {
    forEachVersion((pass) => {
      const floor = floorPositions(pass);
      const { first, last } = findSystemPlaces(pass.request.context.items, pass.request.firstUserSeq);
      const taken = ['assistant', 'tool', 'summary', 'system', ...(mayFold(pass) ? ['user'] : [])];
      const dropped = droppablePositions(pass);
      fatesOf(pass).forEach((fate, position) => {
        if (!fate.startsWith('under') || dropped.has(position)) return;
        expect(taken).toContain(pass.request.context.items[position]?.message.role);
        expect(first.has(position) || position === last).toBe(false);
        expect(floor.has(position) && !maySummaryTake(pass, position)).toBe(false);
      });
    });
  });

  test('after an eviction the context starts with a user message, a summary or a protected message, if it did so before', () => {
    forEachVersion((pass) => {
      const { items } = pass.request.context;
      // For a budget, a context may start with another role as before.
      if (hasTokenReason(pass.request.reasons) && !opensWithUser(items)) return;
      if (!pass.settlement.steps.some(({ step }) => step === 'evict' || step === 'relax')) return;
      const first = contextAfter(pass).items.find((item) => item.message.role !== 'system');
      if (first === undefined || ['user', 'summary'].includes(first.message.role)) return;
      const stays = new Set([...fixedPositions(pass), ...floorPositions(pass)]);
      expect(stays.has(items.findIndex((item) => item.from === first.from))).toBe(true);
    });
  });

  test('the segments of a version cover the whole log without gaps or overlaps, and neighbours differ in kind', () => {
    forEachVersion(({ plan, settlement: { segments } }) => {
      let next = 1;
      segments.forEach((segment, index) => {
        expect(segment.from).toBe(next);
        expect(segment.to).toBeGreaterThanOrEqual(segment.from);
        // A segment of these kinds is about one summary or one message.
        const isSingle = ['summary', 'clipped', 'excerpt'].includes(segment.kind);
        if (!isSingle) expect(segments[index - 1]?.kind).not.toBe(segment.kind);
        next = segment.to + 1;
      });
      expect(next).toBe(plan.head + 1);
    });
  });

  test('the recorded weight (tokens and bytes) of a version is the sum of its items as they are read back', () => {
    forEachVersion((pass) => {
      expect(pass.settlement.weight).toStrictEqual(weighItems(contextAfter(pass).items));
    });
  });

  test('a compaction pass evicts and shortens exactly the messages that its plan names', () => {
    forEachVersion((pass) => {
      const { plan, request } = pass;
      if (plan.kind !== 'evict') return;
      const isIn = (ranges: readonly SeqRange[], seq: number): boolean =>
        ranges.some(({ from, to }) => from <= seq && seq <= to);
      const planned = request.context.items.map(({ from, to }) => {
        if (isIn(plan.evict, from)) return 'gone';
        return isIn(plan.shorten ?? [], from) ? `under ${from}-${to}` : 'kept';
      });
      expect(fatesOf(pass)).toStrictEqual(planned);
      expect(pass.settlement.explained).toStrictEqual(plan.explained);
    });
  });

  test('the ranges that a plan summarizes consist of whole tool rounds and messages, do not overlap and have the minimum size', () => {
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

  test('the difference between a version and its parent lists exactly the changes of the compaction pass', () => {
    forEachVersion((pass) => {
      const changes = runToEnd(diffInSlices(pass.request.context.version, pass.story.version));
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

  test('repeated compaction for the same reasons stops after a limited number of versions', () => {
    forEachPlayed(({ scenario, passes }) => {
      const setting = { ...scenario.settings[0], summarize: cycleShares(scenario.shares) };
      let { story } = passes.at(-1) as TakenPass;
      // Each compaction pass removes a message, or replaces several items by one summary.
      const bound = 2 * story.entries.length + 2;
      for (let count = 0; ; count += 1) {
        expect(count).toBeLessThanOrEqual(bound);
        const taken = takePass(story, setting);
        if (taken.settlement?.kind !== 'version') return;
        story = taken.story;
      }
    });
  });
});
