import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { planPass } from '../../src/domain/compaction/plan.ts';
import { requestTokens } from '../../src/domain/compaction/request-size.ts';
import { nameOf } from '../../src/domain/compaction/segments.ts';
import { settlePass } from '../../src/domain/compaction/settle.ts';
import { hasTokenReason } from '../../src/domain/compaction/thresholds.ts';
import { type ContextItem, weighItems } from '../../src/domain/context.ts';
import { diffVersions } from '../../src/domain/diff.ts';
import { upperBoundTokens } from '../../src/domain/size.ts';
import {
  type CommittedPass,
  contextAfter,
  droppablePositions,
  fatesOf,
  fixedPositions,
  floorPositions,
  isCommitted,
  isFold,
  isSoft,
  maySummaryTake,
  ownersOf,
} from './fates.ts';
import { summaryOf, type TakenPass, takePass } from './passes.ts';
import { cycleShares, playScenario, scenarios } from './scenarios.ts';

const RUNS = { numRuns: 1_000 };

function forEachPass(check: (pass: TakenPass) => void): void {
  fc.assert(
    fc.property(scenarios, (scenario) => playScenario(scenario).forEach(check)),
    RUNS,
  );
}

function forEachVersion(check: (pass: CommittedPass) => void): void {
  forEachPass((pass) => {
    if (isCommitted(pass)) check(pass);
  });
}

function freezeDeep(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  Object.values(value).forEach(freezeDeep);
}

describe('of any history, policy and reasons', () => {
  test('the scenarios reach every kind of end often enough to mean something', () => {
    const ends = new Map<string, number>();
    const count = (end: string): void => void ends.set(end, (ends.get(end) ?? 0) + 1);
    for (const pass of fc.sample(scenarios, { numRuns: 1_000, seed: 11 }).flatMap(playScenario)) {
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
      expect(ends.get(end) ?? 0, end).toBeGreaterThanOrEqual(rare.includes(end) ? 5 : 50);
    }
  });

  test('a round is never split: all of it stays, goes, or lies under one checkpoint', () => {
    forEachVersion((pass) => {
      const fates = fatesOf(pass);
      const { items } = pass.request.context;
      const dropped = droppablePositions(items);
      ownersOf(items).forEach((owner, position) => {
        if (!dropped.has(owner)) expect(fates[position]).toBe(fates[owner]);
        else expect(fates[position] === 'kept').toBe(fates[owner] === 'kept');
      });
    });
  });

  test('system, pins, open rounds, unread results and the live user message stay', () => {
    forEachVersion((pass) => {
      const fates = fatesOf(pass);
      for (const position of fixedPositions(pass.request.context.items)) expect(fates[position]).toBe('kept');
    });
  });

  test('with soft reasons the floor stays; with hard ones, unless it is said to be relaxed', () => {
    forEachVersion((pass) => {
      if (!isSoft(pass) && pass.settlement.isFloorRelaxed) return;
      const fates = fatesOf(pass);
      for (const position of floorPositions(pass)) {
        if (!maySummaryTake(pass, position)) expect(fates[position]).toBe('kept');
        else expect(fates[position]).not.toBe('gone');
      }
    });
  });

  test('with soft reasons the first user message is never evicted, whatever the scope', () => {
    forEachVersion((pass) => {
      if (!isSoft(pass) || !pass.request.policy.keepFirstUser) return;
      const { firstUserSeq } = pass.request;
      if (firstUserSeq === undefined) return;
      const holdsIt = ({ from, to, message: { role } }: ContextItem): boolean =>
        from <= firstUserSeq && firstUserSeq <= to && (role === 'user' || role === 'checkpoint');
      if (!pass.request.context.items.some(holdsIt)) return;
      expect(contextAfter(pass).items.some(holdsIt)).toBe(true);
    });
  });

  test('no summary takes of the floor, nor a user message where it is to stand for a sequence', () => {
    forEachVersion((pass) => {
      const floor = floorPositions(pass);
      const taken = ['assistant', 'tool', 'checkpoint', ...(pass.request.policy.scope === 'prefix' ? ['user'] : [])];
      const dropped = droppablePositions(pass.request.context.items);
      if (isFold(pass)) return;
      fatesOf(pass).forEach((fate, position) => {
        if (!fate.startsWith('under') || dropped.has(position)) return;
        expect(taken).toContain(pass.request.context.items[position]?.message.role);
        expect(floor.has(position) && !maySummaryTake(pass, position)).toBe(false);
      });
    });
  });

  test('where something was evicted, the first message after system is a user message, a checkpoint, or protected', () => {
    forEachVersion((pass) => {
      const { items } = pass.request.context;
      if (!pass.settlement.steps.some(({ step }) => step === 'evict' || step === 'relax')) return;
      const first = contextAfter(pass).items.find((item) => item.message.role !== 'system');
      if (first === undefined || ['user', 'checkpoint'].includes(first.message.role)) return;
      const stays = new Set([...fixedPositions(items), ...floorPositions(pass)]);
      expect(stays.has(items.findIndex((item) => item.from === first.from))).toBe(true);
    });
  });

  test('the same input gives the same plan and settlement, and is not touched', () => {
    forEachPass(({ request, plan, settlement }) => {
      freezeDeep(request);
      expect(planPass(request)).toStrictEqual(plan);
      if (settlement === undefined) return;
      const summaries = plan.sequences.map((sequence) => summaryOf(sequence, Math.floor(sequence.tokens / 3)));
      const again = { ...request, plan, summaries };
      freezeDeep(again);
      const { weigh, ...data } = again;
      expect(settlePass(again)).toStrictEqual(settlePass({ ...structuredClone(data), weigh }));
    });
  });

  test('a version is strictly smaller, a soft one by minGain; and it weighs what it says', () => {
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

  test('a version is at most maxTokens or says why not', () => {
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

  test('what is infeasible is over the limit by its own arithmetic, and nothing more could go', () => {
    forEachPass((pass) => {
      const { plan, settlement, request } = pass;
      const details = settlement?.kind === 'infeasible' ? settlement.details : plan.infeasible;
      if (details === undefined) return;
      const sum = details.fixed + details.pinned + details.open + details.floor;
      expect(sum).toBeGreaterThan(details.max);
      expect(details.max).toBe(request.limits.maxTokens);
      const { items } = request.context;
      // Under a summary the first user message weighs something else.
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

  test('segments cover 1…head without gap or overlap, neighbours of a kind joined', () => {
    forEachVersion(({ plan, settlement: { segments } }) => {
      let next = 1;
      segments.forEach((segment, index) => {
        expect(segment.from).toBe(next);
        expect(segment.to).toBeGreaterThanOrEqual(segment.from);
        if (segment.kind !== 'checkpoint') expect(segments[index - 1]?.kind).not.toBe(segment.kind);
        next = segment.to + 1;
      });
      expect(next).toBe(plan.head + 1);
    });
  });

  test('what is kept is the old context’s items in their order; what is archived was raw', () => {
    forEachVersion((pass) => {
      const before = pass.request.context.items;
      const fates = fatesOf(pass);
      const kept = before.filter((_, position) => fates[position] === 'kept');
      const isNew = new Set(pass.settlement.texts);
      const after = contextAfter(pass).items;
      expect(after.filter((item) => !isNew.has(item.segment === undefined ? '' : nameOf(item.segment)))).toStrictEqual(
        kept,
      );
      const lost = before.filter((item, position) => item.segment === undefined && fates[position] !== 'kept');
      expect(pass.settlement.archived).toBe(lost.length);
    });
  });

  test('an eviction does what its plan said', () => {
    forEachVersion((pass) => {
      const { plan, request } = pass;
      if (plan.kind !== 'evict') return;
      const isPlanned = (seq: number): boolean => plan.evict.some(({ from, to }) => from <= seq && seq <= to);
      const planned = request.context.items.map((item) => (isPlanned(item.from) ? 'gone' : 'kept'));
      expect(fatesOf(pass)).toStrictEqual(planned);
      expect(pass.settlement.explained).toStrictEqual(plan.explained);
    });
  });

  test('sequences are ranges of whole items, apart from each other, and large enough', () => {
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

  test('the difference of two versions is what the pass changed', () => {
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

  test('pass after pass with the same reasons comes to an end', () => {
    fc.assert(
      fc.property(scenarios, (scenario) => {
        const setting = { ...scenario.settings[0], summarize: cycleShares(scenario.shares) };
        let { story } = playScenario(scenario).at(-1) as TakenPass;
        // Each pass takes a raw message out of the context, or puts one checkpoint where more than one item was.
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
