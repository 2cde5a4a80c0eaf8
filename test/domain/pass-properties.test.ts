import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { planPass } from '../../src/domain/compaction/plan.ts';
import { settlePass } from '../../src/domain/compaction/settle.ts';
import type { ContextItem } from '../../src/domain/context.ts';
import { forEachPass, forEachVersion } from './every-pass.ts';
import {
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
import { acceptedSummary } from './passes.ts';
import { playScenario, scenarios } from './scenarios.ts';

function freezeDeep(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  Object.values(value).forEach(freezeDeep);
}

describe('for any history, policy and reasons', () => {
  test('random scenarios reach every kind of end often enough', () => {
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

  test('a pass never splits a tool round: all of the round stays, is removed, or is in one summary', () => {
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

  test('a pass keeps system messages, pins, open rounds, unread results and the last user message', () => {
    forEachVersion((pass) => {
      const fates = fatesOf(pass);
      for (const position of fixedPositions(pass.request.context.items)) expect(fates[position]).toBe('kept');
    });
  });

  test('a pass keeps the floor, unless a hard pass reports the floor as relaxed', () => {
    forEachVersion((pass) => {
      if (!isSoft(pass) && pass.settlement.isFloorRelaxed) return;
      const fates = fatesOf(pass);
      for (const position of floorPositions(pass)) {
        if (!maySummaryTake(pass, position)) expect(fates[position]).toBe('kept');
        else expect(fates[position]).not.toBe('gone');
      }
    });
  });

  test('a soft pass never evicts the first user message, in any scope', () => {
    forEachVersion((pass) => {
      if (!isSoft(pass) || !pass.request.policy.keepFirstUser) return;
      const { firstUserSeq } = pass.request;
      if (firstUserSeq === undefined) return;
      const holdsIt = ({ from, to, message: { role } }: ContextItem): boolean =>
        from <= firstUserSeq && firstUserSeq <= to && (role === 'user' || role === 'summary');
      if (!pass.request.context.items.some(holdsIt)) return;
      expect(contextAfter(pass).items.some(holdsIt)).toBe(true);
    });
  });

  test('a summary never covers the floor, and covers user messages only with scope prefix', () => {
    forEachVersion((pass) => {
      const floor = floorPositions(pass);
      const taken = ['assistant', 'tool', 'summary', ...(pass.request.policy.scope === 'prefix' ? ['user'] : [])];
      const dropped = droppablePositions(pass.request.context.items);
      if (isFold(pass)) return;
      fatesOf(pass).forEach((fate, position) => {
        if (!fate.startsWith('under') || dropped.has(position)) return;
        expect(taken).toContain(pass.request.context.items[position]?.message.role);
        expect(floor.has(position) && !maySummaryTake(pass, position)).toBe(false);
      });
    });
  });

  test('a context after an eviction starts with a user message, a summary or a protected message', () => {
    forEachVersion((pass) => {
      const { items } = pass.request.context;
      if (!pass.settlement.steps.some(({ step }) => step === 'evict' || step === 'relax')) return;
      const first = contextAfter(pass).items.find((item) => item.message.role !== 'system');
      if (first === undefined || ['user', 'summary'].includes(first.message.role)) return;
      const stays = new Set([...fixedPositions(items), ...floorPositions(pass)]);
      expect(stays.has(items.findIndex((item) => item.from === first.from))).toBe(true);
    });
  });

  test('the same input gives the same plan and settlement, and the input is not modified', () => {
    forEachPass(({ request, plan, settlement }) => {
      freezeDeep(request);
      expect(planPass(request)).toStrictEqual(plan);
      if (settlement === undefined) return;
      const summaries = plan.sequences.map((sequence) => acceptedSummary(sequence, Math.floor(sequence.tokens / 3)));
      const again = { ...request, plan, summaries };
      freezeDeep(again);
      const { weigh, ...data } = again;
      expect(settlePass(again)).toStrictEqual(settlePass({ ...structuredClone(data), weigh }));
    });
  });
});
