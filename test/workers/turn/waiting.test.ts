import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type StepRecord, TURN_LIMITS } from '../../../src/domain/turn.ts';
import { countModelSteps, countSteps, countWaits, nextWaitMark } from '../../../src/workers/turn/step-keys.ts';
import { readCallWait, waitForCalls, waitForPass, waitForRetry } from '../../../src/workers/turn/waiting.ts';

describe('a wait has a deadline', () => {
  it('of 7 days for what people bring, unless the tool says otherwise, and of 20 s for a pass', () => {
    const tool = { name: 'ask', description: '', input: z.object({}) };
    const call = { id: 'c2_0', name: 'ask', arguments: '{}' };
    const usual = readCallWait(call, [tool]);
    const short = readCallWait({ ...call, id: 'c2_1' }, [{ ...tool, answerWithinMs: 60_000 }]);
    expect(usual).toEqual({ ...call, waitMs: 604_800_000 });
    const calls = [usual, short];
    expect(waitForCalls('tools', 'model-1', calls)).toEqual({ for: 'tools', step: 'model-1', waitMs: 60_000, calls });
    expect(waitForPass('model-2', 'p1')).toMatchObject({ for: 'compaction', waitMs: 20_000, calls: [], passId: 'p1' });
  });

  it('that doubles from 1 s to 60 s for a provider that names no time', () => {
    const waits = [0, 1, 2, 3, 4, 5, 6, 7, 19];
    const seconds = waits.map((count) => waitForRetry('model-1', { waits: count }).waitMs / 1_000);
    expect(seconds).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
  });

  it('that a provider names is the earliest: no sooner, and no sooner than without a name', () => {
    const waitMs = (waits: number, retryAfterMs: number): number =>
      waitForRetry('model-1', { waits, retryAfterMs }).waitMs;
    expect(waitMs(0, 3_000)).toBe(3_000);
    expect(waitMs(5, 300_000), 'past the longest of ours').toBe(300_000);
    expect(waitMs(0, -3_000), 'never at once').toBe(1_000);
    expect(waitMs(5, 3_000)).toBe(32_000);
  });

  it('that outlasts an outage of minutes, however soon its provider says to come back', () => {
    const waits = Array.from({ length: TURN_LIMITS.maxSuspensions }, (_, count) => count);
    const total = waits.reduce(
      (sum, count) => sum + waitForRetry('model-1', { waits: count, retryAfterMs: 300 }).waitMs,
      0,
    );
    expect(total).toBe(903_000);
  });
});

describe('step keys', () => {
  const record: StepRecord = { status: 'started', at: 1 };
  const keys = ['model-1', 'tool-c2_0', 'tool-c2_1', 'waited-retry-model-2-1', 'waited-compaction-model-2-1'];
  const steps = new Map(keys.map((key) => [key, record]));

  it('count model and tool calls, but no waits', () => {
    expect(countModelSteps(steps)).toBe(1);
    expect(countSteps(steps)).toBe(3);
  });

  it('tell how often a step has waited, for what', () => {
    expect(countWaits(steps, 'retry', 'model-2')).toBe(1);
    expect(countWaits(steps, 'compaction', 'model-2')).toBe(1);
    expect(countWaits(steps, 'compaction', 'model-1')).toBe(0);
    expect(countWaits(new Map([['waited-retry-model-12-1', record]]), 'retry', 'model-1')).toBe(0);
    expect(nextWaitMark(steps, 'retry', 'model-2')).toBe('waited-retry-model-2-2');
    expect(nextWaitMark(steps, 'retry', 'model-3')).toBe('waited-retry-model-3-1');
  });
});
