import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Available, divideBudget } from '../../src/compaction/division.ts';
import { type BudgetDivision, budgetDivisionSchema } from '../../src/domain/pass-plan.ts';

const tokens = fc.nat(50_000);
const materials: fc.Arbitrary<Available> = fc
  .record({ users: tokens, summaries: tokens, minSummaries: fc.nat(2_000), tail: tokens, floor: tokens })
  .map((available) => ({ ...available, floor: Math.min(available.floor, available.tail) }));
const policies = fc
  .record({ users: fc.integer({ min: 0, max: 100 }), summaries: fc.integer({ min: 0, max: 100 }) })
  .filter(({ users, summaries }) => users + summaries <= 100)
  .map(({ users, summaries }) => ({ budgetShares: { users: users / 100, summaries: summaries / 100 } }));
const rooms = fc.record({ budget: tokens, fixed: tokens });

const PARTS = ['users', 'summaries', 'tail'] as const;
const spent = (division: BudgetDivision): number => PARTS.reduce((sum, part) => sum + division[part], 0);

describe('the division of a token budget', () => {
  test('divideBudget never spends more than the budget minus its fixed part, and gives no part more tokens than this part can use', () => {
    fc.assert(
      fc.property(rooms, policies, materials, (room, policy, available) => {
        const division = divideBudget(room, policy, available);
        expect(spent(division)).toBeLessThanOrEqual(Math.max(0, room.budget - room.fixed));
        for (const part of PARTS) expect(division[part]).toBeLessThanOrEqual(available[part]);
        expect(budgetDivisionSchema.parse(division)).toStrictEqual(division);
      }),
    );
  });

  test('no part of a divided token budget gets fewer tokens when the budget grows', () => {
    fc.assert(
      fc.property(rooms, fc.nat(1_000), policies, materials, ({ budget, fixed }, more, policy, available) => {
        const small = divideBudget({ budget, fixed }, policy, available);
        const large = divideBudget({ budget: budget + more, fixed }, policy, available);
        for (const part of PARTS) expect(large[part]).toBeGreaterThanOrEqual(small[part]);
      }),
      { numRuns: 2_000 },
    );
  });

  test('divideBudget spends the whole budget, unless every part already has all tokens it can use', () => {
    fc.assert(
      fc.property(rooms, policies, materials, (room, policy, available) => {
        const division = divideBudget(room, policy, available);
        const left = Math.max(0, room.budget - room.fixed) - spent(division);
        const isSated = PARTS.every((part) => division[part] === available[part]);
        // Each of the three parts is rounded down.
        expect(isSated || left < PARTS.length).toBe(true);
      }),
    );
  });

  test('divideBudget gives summaries their minimum before messages that must stay (the floor) and before the users’ words', () => {
    fc.assert(
      fc.property(rooms, policies, materials, (room, policy, available) => {
        const { summaries } = divideBudget(room, policy, available);
        const least = Math.min(available.summaries, available.minSummaries, Math.max(0, room.budget - room.fixed));
        expect(summaries).toBeGreaterThanOrEqual(least);
      }),
    );
  });

  const policy = { budgetShares: { users: 0.2, summaries: 0.6 } };
  const plenty: Available = { users: 9_000, summaries: 9_000, minSummaries: 160, tail: 9_000, floor: 0 };

  test.each<[string, Partial<Available>, Pick<BudgetDivision, 'users' | 'summaries' | 'tail'>]>([
    ['with plenty of each, every part gets its share', {}, { users: 200, summaries: 600, tail: 200 }],
    ['what users do not need goes to the tail', { users: 50 }, { users: 50, summaries: 600, tail: 350 }],
    ['what summaries do not need goes to the tail', { summaries: 100 }, { users: 200, summaries: 100, tail: 700 }],
    ['what the tail does not need goes to the summaries', { tail: 50 }, { users: 200, summaries: 750, tail: 50 }],
    [
      'what neither tail nor summaries need goes to the users',
      { tail: 50, summaries: 300 },
      { users: 650, summaries: 300, tail: 50 },
    ],
    ['the floor comes before users and summaries', { floor: 900 }, { users: 0, summaries: 160, tail: 840 }],
  ])('divideBudget follows its rules of division: %s', (_, changes, parts) => {
    const division = divideBudget({ budget: 1_500, fixed: 500 }, policy, { ...plenty, ...changes });
    expect(division).toEqual({ budget: 1_500, fixed: 500, ...parts });
  });

  test('divideBudget gives nothing to other parts if the fixed part exceeds the budget, and treats a budget below zero as zero', () => {
    const nothing = { users: 0, summaries: 0, tail: 0 };
    expect(divideBudget({ budget: 400, fixed: 500 }, policy, plenty)).toEqual({ budget: 400, fixed: 500, ...nothing });
    expect(divideBudget({ budget: -7, fixed: 0 }, policy, plenty)).toEqual({ budget: 0, fixed: 0, ...nothing });
  });
});
