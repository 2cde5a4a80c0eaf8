import { describe, expect, test } from 'vitest';
import { PLACEHOLDER } from '../../src/compaction/budget.ts';
import { keepLastEvidence } from '../../src/compaction/context-evidence.ts';
import { explainPlan, explainPlanInSlices } from '../../src/compaction/explain.ts';
import { runToEnd } from '../../src/domain/interruptible.ts';
import { resolveLimits } from '../../src/domain/limits.ts';
import { passPlanSchema } from '../../src/domain/pass-plan.ts';
import { completePolicy } from '../../src/domain/policy.ts';
import { NO_OVERHEAD } from '../../src/domain/size.ts';
import { contextOf, logOf } from './alphabet.ts';
import { maskPlan, planLine, planPass, requestOver, weighText } from './passes.ts';

const sequence = 'su(a:200)x2';

describe('compaction plan', () => {
  test('the compaction plan is to do nothing if there is no reason to compact or compaction is off', () => {
    expect(planLine(sequence, { policy: { retentionWindow: 0 }, reasons: [] })).toMatchObject({
      kind: 'none',
      explained: [],
    });
    const off = { retentionWindow: 0, enabled: false };
    expect(planLine(sequence, { policy: off, reasons: ['manual'] })).toMatchObject({ kind: 'none', sequences: [] });
  });

  test('a compaction plan names its version and log length, and is unchanged after storing and parsing', () => {
    const plan = planLine(sequence, { policy: { retentionWindow: 0 }, reasons: ['ratio', 'turn_end'] });
    expect(plan).toStrictEqual({
      kind: 'summarize',
      reasons: ['ratio', 'turn_end'],
      version: 0,
      head: 4,
      tokens: 10 + 10 + 400 + 3,
      sequences: [{ from: 3, to: 4, tokens: 400, maxTokens: 200, userTokens: 0 }],
      evict: [],
      explained: [],
    });
    expect(passPlanSchema.parse(JSON.parse(JSON.stringify(plan)))).toStrictEqual(plan);
  });

  test('a planned eviction reduces the context to maxTokens only if a token limit was the reason for the compaction', () => {
    const line = 's(u a)x10 u';
    const policy = { retentionWindow: 0, strategy: { retain: 20 }, maxTokens: 103 };
    const goal = planLine(line, { policy, reasons: ['token_threshold', 'turn_end'] });
    expect(maskPlan(line, goal)).toBe('su............auauauau');
    expect(goal.explained).toStrictEqual([]);
    const once = planLine(line, { policy, reasons: ['turn_end'] });
    expect(maskPlan(line, once)).toBe('su..auauauauauauauauau');
    expect(once.explained).toStrictEqual(['no_token_reason']);
    expect(
      planLine(line, { policy: { ...policy, maxTokens: undefined }, reasons: ['turn_end'] }).explained,
    ).toStrictEqual([]);
  });

  test('a soft compaction plan keeps the retention window and explains that, and a hard plan removes messages from the window', () => {
    const line = 's(ua)x4';
    const policy = { retentionWindow: 4, maxTokens: 40, keepFirstUser: false };
    const soft = planLine(line, { policy, reasons: ['ratio'] });
    expect(soft).toMatchObject({ kind: 'evict', explained: ['retention_floor'] });
    expect(maskPlan(line, soft)).toBe('s....uaua');
    const hard = planLine(line, { policy, reasons: ['hard_limit'] });
    expect(hard).toMatchObject({ kind: 'evict', explained: [] });
    expect(maskPlan(line, hard)).toBe('s......ua');
  });

  test('a plan for a context that stays too large without a retention window has the explanation nothing_removable', () => {
    const plan = planLine('su a u:500', { policy: { retentionWindow: 0, maxTokens: 100 }, reasons: ['hard_limit'] });
    expect(plan).toMatchObject({ kind: 'evict', explained: ['nothing_removable'] });
  });

  test('a plan says that the context is within its budget if a person requests a compaction that is not needed', () => {
    const plan = planLine('su a u:50', { policy: { maxTokens: 10_000 }, reasons: ['manual'] });
    expect(plan).toMatchObject({ kind: 'none', explained: ['within_budget'] });
  });

  test('a compaction plan without removable messages does nothing below the token limit, and is infeasible above that limit', () => {
    expect(planLine('su', { reasons: ['turn_end'] })).toMatchObject({ kind: 'none', explained: ['nothing_removable'] });
    const policy = { maxTokens: 100, retentionWindow: 1 };
    const overhead = { tokens: 40, bytes: 0, calibration: 1 };
    const plan = planLine('s:20 u:5! u:50 a:30', { policy, reasons: ['ratio'], overhead });
    expect(plan).toMatchObject({
      kind: 'infeasible',
      explained: ['nothing_removable'],
      infeasible: { fixed: 40 + 20 + 3, pinned: 5, open: 50, floor: 30, max: 100 },
    });
    expect(passPlanSchema.parse(JSON.parse(JSON.stringify(plan)))).toStrictEqual(plan);
  });

  test('an infeasible plan counts the pinned texts of the policy as pinned, not as fixed', () => {
    const policy = { maxTokens: 100, retentionWindow: 1 };
    const overhead = { tokens: 40, pinTokens: 15, bytes: 0, calibration: 1 };
    const { infeasible } = planLine('s:20 u:5! u:50 a:30', { policy, reasons: ['ratio'], overhead });
    expect(infeasible).toEqual({ fixed: 25 + 20 + 3, pinned: 5 + 15, open: 50, floor: 30, max: 100 });
  });

  test('a compaction plan keeps the first user message of the log, even if an earlier compaction already shortened the context', () => {
    const { firstUserSeq: _, ...request } = requestOver(contextOf('suauau'), {
      policy: { retentionWindow: 0, strategy: { evict: 1 } },
    });
    expect(maskPlan('suauau', planPass(request))).toBe('s....u');
    expect(maskPlan('suauau', planPass({ ...request, firstUserSeq: 2 }))).toBe('su...u');
  });
});

describe('explained plan', () => {
  const policy = completePolicy({ messageThreshold: 4, retentionWindow: 1 });

  test('an explained plan counts the whole log and lists the messages that no soft compaction would remove', () => {
    expect(explainPlan(logOf('s u t:300 r:300 u! a t'), policy, weighText)).toMatchObject({
      plan: { kind: 'summarize', reasons: ['message_threshold'], tokens: 653, sequences: [{ from: 3, to: 4 }] },
      messages: 7,
      turns: 2,
      protectedPositions: [0, 1, 4, 6],
    });
  });

  test('an explained plan states the size of the context after compaction, with each summary at its largest', () => {
    const { plan, tokensAfter } = explainPlan(logOf('s u t:300 r:300 u! a t'), policy, weighText);
    const saved = plan.sequences.reduce((sum, { tokens, maxTokens }) => sum + tokens - maxTokens, 0);
    expect(tokensAfter).toBe(653 - saved);
    expect(saved).toBeGreaterThan(0);
    const none = explainPlan(logOf('sua'), completePolicy({}), weighText);
    expect(none.tokensAfter).toBe(none.plan.tokens);
  });

  test.each(['s(u t r:300)x8 u', 's(ua:400)x12 u', 's u t:2000 r:2000 u a'])(
    'an estimated plan of %s reaches the budget like an exact plan, without notes and excerpts',
    (line) => {
      const given = completePolicy({
        maxTokens: 1_000,
        tokenThreshold: 1_000,
        minSequenceMessages: 99,
        retentionWindow: 1,
      });
      const context = contextOf(line);
      const request = { context, policy: given, limits: resolveLimits(given), overhead: NO_OVERHEAD, weigh: weighText };
      const exact = runToEnd(explainPlanInSlices(request));
      const evidence = keepLastEvidence();
      for (const maskToolResults of [false, true]) {
        const estimate = runToEnd(
          explainPlanInSlices({ ...request, policy: { ...given, maskToolResults }, evidence, isEstimate: true }),
        );
        expect(estimate.plan.kind).not.toBe('none');
        expect(estimate.tokensAfter).toBeLessThanOrEqual(1_000);
        expect(estimate.protectedPositions).toStrictEqual(exact.protectedPositions);
      }
      expect(exact.tokensAfter).toBeLessThanOrEqual(1_000);
    },
  );

  test('an explained plan accepts an empty log and a log without user messages', () => {
    expect(explainPlan([], policy, weighText)).toMatchObject({
      plan: { kind: 'none', tokens: 3 + PLACEHOLDER.tokens },
      messages: 0,
      protectedPositions: [],
    });
    expect(explainPlan(logOf('s(a:200)x4'), policy, weighText)).toMatchObject({
      plan: { kind: 'summarize', sequences: [{ from: 2, to: 4 }] },
      turns: 0,
      protectedPositions: [0, 4],
    });
  });

  test('an explained plan has the reason turn_end only if the log ends with an answer', () => {
    const atEnd = completePolicy({ onTurnEnd: true });
    expect(explainPlan(logOf('sua'), atEnd, weighText).plan.reasons).toStrictEqual(['turn_end']);
    for (const line of ['su', 'sut', 'sutr'])
      expect(explainPlan(logOf(line), atEnd, weighText).plan.reasons).toStrictEqual([]);
  });

  test('an explained plan accepts maxTokens smaller than the messages that must stay', () => {
    const tight = completePolicy({ maxTokens: 10, tokenThreshold: 20 });
    expect(explainPlan(logOf('s(ua)x2'), tight, weighText).plan.kind).toBe('infeasible');
    expect(explainPlan(logOf('s(ua)x9'), tight, weighText).plan).toMatchObject({
      kind: 'evict',
      explained: ['retention_floor'],
    });
  });
});
