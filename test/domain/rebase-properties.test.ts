import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canRebase } from '../../src/domain/compaction/rebase.ts';
import { settlePass } from '../../src/domain/compaction/settle.ts';
import { buildContext } from '../../src/domain/context.ts';
import type { Checkpoint } from '../../src/domain/version.ts';
import { type CommittedPass, fatesOf, isCommitted, ownersOf } from './fates.ts';
import { type PassSetting, summaryOf, type TakenPass, takePass } from './passes.ts';
import { playScenario, type Scenario, scenarios } from './scenarios.ts';

interface Meeting {
  readonly pass: CommittedPass;
  /** the version that another pass made meanwhile, from the same one */
  readonly live: TakenPass['story'];
  readonly canRebase: boolean;
}

/** The last pass of a scenario, and another one over the same story that committed first. */
function meet(scenario: Scenario, other: Scenario): Meeting | undefined {
  const passes = playScenario(scenario);
  const pass = passes.at(-1) as TakenPass;
  if (!isCommitted(pass)) return undefined;
  const parent = { ...pass.story, version: pass.request.context.version };
  const summarize = ({ tokens }: { tokens: number }): number => Math.floor(tokens / 2);
  const live = takePass(parent, { ...(other.settings[0] as PassSetting), summarize }).story;
  if (live.version === parent.version) return undefined;
  return { pass, live, canRebase: canRebase(pass.plan, parent.version, live.version) };
}

describe('a plan and a version that was made meanwhile', () => {
  test('settle well where the plan may be rebased: rounds whole, every summary in its place, nothing uncovered', () => {
    let rebased = 0;
    let refused = 0;
    fc.assert(
      fc.property(scenarios, scenarios, (scenario, other) => {
        const meeting = meet(scenario, other);
        if (meeting === undefined) return;
        if (!meeting.canRebase) {
          refused += 1;
          return;
        }
        const { pass, live } = meeting;
        const { plan } = pass;
        const context = buildContext({ ...live, head: plan.head });
        const summaries = plan.sequences.map((sequence) => summaryOf(sequence, Math.floor(sequence.tokens / 4)));
        const settled = settlePass({ ...pass.request, context, plan, summaries });
        if (settled.kind !== 'version') return;
        rebased += 1;
        const smaller = plan.sequences
          .filter((sequence) => sequence.tokens > 0)
          .map(({ from, to }) => `text-${from}-${to}`);
        expect(settled.texts).toStrictEqual(smaller);
        const texts = summaries.map(({ text, range }): [string, Checkpoint] => [
          text,
          { text, covers: range, sources: [], depth: 1, model: 'test' },
        ]);
        const version = { ...live.version, number: 99, base: plan.head, segments: [...settled.segments] };
        const story = { ...live, version, checkpoints: new Map([...live.checkpoints, ...texts]) };
        const fates = fatesOf({ ...pass, request: { ...pass.request, context }, settlement: settled, story });
        ownersOf(context.items).forEach((owner, position) => {
          expect(fates[position]).toBe(fates[owner]);
        });
        let next = 1;
        for (const { from, to } of settled.segments) {
          expect(from).toBe(next);
          next = to + 1;
        }
        expect(next).toBe(plan.head + 1);
      }),
      { numRuns: 2_000 },
    );
    expect(Math.min(rebased, refused)).toBeGreaterThan(20);
  });

  test('what a pass replaced itself is no longer there', () => {
    fc.assert(
      fc.property(scenarios, (scenario) => {
        for (const pass of playScenario(scenario)) {
          if (!isCommitted(pass) || pass.plan.kind !== 'evict') continue;
          expect(canRebase(pass.plan, pass.request.context.version, pass.story.version)).toBe(false);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
