import { array, assert as assertProperty, constantFrom, property } from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import type { StepRecord } from '../../../src/domain/turn.ts';
import {
  applyWaitEvent,
  countsAsRetry,
  hasWaitedForPass,
  mayWaitForPass,
  readStepWaits,
  type StepWaits,
  type WaitEvent,
  waitForPass,
  waitForRetry,
} from '../../../src/workers/turn/step-decision.ts';
import { decideCall, waitForCalls } from '../../../src/workers/turn/tool-calls.ts';
import { countSteps, MODEL_STEP } from '../../../src/workers/turn/turn-journal.ts';

const RECORD: StepRecord = { status: 'started', at: 1 };
const FRESH = readStepWaits(new Map(), 'model-2');

function applyAll(events: readonly WaitEvent[], step = 'model-2'): { waits: StepWaits; marks: string[] } {
  let waits = readStepWaits(new Map(), step);
  const marks: string[] = [];
  for (const event of events) {
    const transition = applyWaitEvent(waits, event);
    marks.push(transition.mark);
    waits = transition.waits;
  }
  return { waits, marks };
}

it.each<{ events: WaitEvent[]; state: Partial<StepWaits>; mark: string }>([
  { events: ['pass_settled'], state: { threshold: 'used' }, mark: 'waited-threshold-model-2' },
  { events: ['pass_unsettled'], state: { unsettledPasses: 1 }, mark: 'unsettled-model-2-1' },
  { events: ['pass_unsettled', 'pass_unsettled'], state: { unsettledPasses: 2 }, mark: 'unsettled-model-2-2' },
  { events: ['retry_due'], state: { retries: 1 }, mark: 'waited-retry-model-2-1' },
  { events: ['retry_due', 'retry_due'], state: { retries: 2 }, mark: 'waited-retry-model-2-2' },
  { events: ['size_refused'], state: { overflow: 'requested' }, mark: 'overflow-model-2' },
  { events: ['size_refused', 'pass_settled'], state: { overflow: 'used' }, mark: 'waited-overflow-model-2' },
  {
    events: ['size_refused', 'pass_unsettled'],
    state: { overflow: 'requested', unsettledPasses: 1 },
    mark: 'unsettled-model-2-1',
  },
  {
    events: ['pass_settled', 'size_refused', 'pass_settled'],
    state: { threshold: 'used', overflow: 'used' },
    mark: 'waited-overflow-model-2',
  },
  {
    events: ['pass_settled', 'rolled_back'],
    state: { threshold: 'used', rollback: 'available' },
    mark: 'rollback-model-2',
  },
  {
    events: ['pass_settled', 'rolled_back', 'size_refused', 'pass_settled'],
    state: { threshold: 'used', overflow: 'requested', rollback: 'used' },
    mark: 'waited-rollback-model-2',
  },
  {
    events: ['pass_settled', 'rolled_back', 'pass_settled', 'rolled_back'],
    state: { threshold: 'used', rollback: 'used' },
    mark: 'rollback-model-2',
  },
])('after the events $events, the last wait marker that a model step records is $mark', ({ events, state, mark }) => {
  const { waits, marks } = applyAll(events);
  expect(waits).toEqual({ ...FRESH, ...state });
  expect(marks.at(-1)).toBe(mark);
});

it('the waits of a model step are computed only from the marker records that this step has stored', () => {
  const event = constantFrom<WaitEvent>('size_refused', 'rolled_back', 'pass_settled', 'pass_unsettled', 'retry_due');
  assertProperty(
    property(array(event, { maxLength: 12 }), array(event, { maxLength: 12 }), (events, ofOther) => {
      const { waits, marks } = applyAll(events);
      const others = ['model-1', 'tool-c2_0', ...applyAll(ofOther, 'model-22').marks];
      const steps = new Map([...marks, ...others].map((key) => [key, RECORD]));
      expect(readStepWaits(steps, 'model-2')).toEqual(waits);
    }),
  );
});

it.each<{ events: WaitEvent[]; threshold: boolean; overflow: boolean; waited: boolean }>([
  { events: [], threshold: true, overflow: true, waited: false },
  { events: ['pass_unsettled', 'retry_due'], threshold: true, overflow: true, waited: false },
  { events: ['pass_settled'], threshold: false, overflow: true, waited: true },
  { events: ['size_refused', 'pass_settled'], threshold: true, overflow: false, waited: true },
  { events: ['pass_settled', 'size_refused', 'pass_settled'], threshold: false, overflow: false, waited: true },
  { events: ['pass_settled', 'rolled_back'], threshold: true, overflow: true, waited: true },
  { events: ['pass_settled', 'rolled_back', 'pass_settled'], threshold: false, overflow: true, waited: true },
])(
  'after the events $events, a model step may wait for compaction at a threshold ($threshold) and after a refused size ($overflow)',
  (expected) => {
    const { waits } = applyAll(expected.events);
    expect(mayWaitForPass(waits, 'threshold')).toBe(expected.threshold);
    expect(mayWaitForPass(waits, 'overflow')).toBe(expected.overflow);
    expect(hasWaitedForPass(waits)).toBe(expected.waited);
  },
);

it('marker records of waits do not count as model or tool calls of the turn', () => {
  const keys = ['model-1', 'tool-c2_0', 'tool-c2_1', ...applyAll(['retry_due', 'pass_settled', 'rolled_back']).marks];
  const steps = new Map(keys.map((key) => [key, RECORD]));
  expect([countSteps(steps, MODEL_STEP), countSteps(steps)]).toEqual([1, 3]);
});

it('a turn waits 7 days for a tool result, unless the tool sets its own deadline, and 20 s for a compaction pass', () => {
  const tool = { name: 'ask', description: '', input: z.object({}) };
  const call = { id: 'c2_0', name: 'ask', arguments: '{}' };
  const facts = { steps: new Map(), answers: new Map(), waits: new Map(), claimedAt: 5 };
  const calls = [tool, { ...tool, answerWithinMs: 60_000 }].map((one) => {
    const decision = decideCall(call, { ...facts, tools: [one] });
    if (decision.kind !== 'wait') throw new Error(`the call does not wait: ${decision.kind}`);
    return decision.call;
  });
  expect(calls.map(({ waitMs }) => waitMs)).toEqual([604_800_000, 60_000]);
  expect(waitForCalls('tools', 'model-1', calls)).toEqual({ for: 'tools', step: 'model-1', waitMs: 60_000, calls });
  expect(waitForPass('model-2', 'p1')).toMatchObject({ for: 'compaction', waitMs: 20_000, calls: [], passId: 'p1' });
});

const waitMs = (retries: number, retryAfterMs?: number, random = 1): number =>
  waitForRetry({ step: 'model-1', retries }, retryAfterMs, random).waitMs;

it('the maximum retry delay of a model call doubles from 1 s to 64 s if the provider names no time', () => {
  const seconds = [0, 1, 2, 3, 4, 5, 6, 7, 19].map((retries) => waitMs(retries) / 1_000);
  expect(seconds).toEqual([1, 2, 4, 8, 16, 32, 64, 64, 64]);
});

it('a retry delay is random between 0 and its maximum, so that turns do not all retry together', () => {
  expect([0, 0.25, 0.5, 1].map((random) => waitMs(3, 0, random))).toEqual([0, 2_000, 4_000, 8_000]);
});

it('the retry delay of a model call is never shorter than the provider asks', () => {
  expect(waitMs(0, 3_000, 0)).toBe(3_000);
  expect(waitMs(5, 300_000, 0)).toBe(300_000);
  expect(waitMs(0, -3_000, 1), 'in the past').toBe(1_000);
  expect(waitMs(5, 3_000)).toBe(35_000);
});

it('a provider that asks for a pause of more than an hour is called again after an hour', () => {
  expect(waitMs(0, 86_400_000 * 365, 0)).toBe(3_600_000);
});

it('a wait that the model’s rate-limit gate chose, or any wait after six retries, is not recorded as a retry', () => {
  expect(countsAsRetry({ retries: 0 }, undefined)).toBe(true);
  expect(countsAsRetry({ retries: 0 }, true)).toBe(false);
  expect(countsAsRetry({ retries: 6 }, undefined)).toBe(false);
});
