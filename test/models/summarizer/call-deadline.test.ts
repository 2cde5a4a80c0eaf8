import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { limitSummaryCall } from '../../../src/compaction/summary-time.ts';
import { openWorld, RECORD } from './fixture.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

/** Streams a summary with a pause before each piece. */
async function* stream(pauseMs: number, times: number): AsyncGenerator<string> {
  for (let piece = 0; piece < times; piece += 1) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    yield piece === 0 ? RECORD : ' and more';
  }
}

async function summarize(pauseMs: number, times: number) {
  const world = await openWorld({ decide: () => ({ content: stream(pauseMs, times) }) });
  const answer = world.summarize();
  const settled = answer.finally(() => clearInterval(pump));
  const pump = setInterval(() => void vi.advanceTimersByTimeAsync(5_000), 0);
  return await settled;
}

it('a summary whose stream keeps sending text for four minutes is completed', async () => {
  expect(await summarize(20_000, 12)).toMatchObject({ status: 'written' });
});

it('a summary fails if its stream is silent for longer than the configured time', async () => {
  expect(await summarize(100_000, 1)).toEqual({ status: 'failed', why: 'the model did not answer within 90000 ms' });
});

it('a summary whose stream never ends fails after a time limit that depends on its size', async () => {
  expect(await summarize(80_000, 100)).toMatchObject({
    status: 'failed',
    why: expect.stringMatching(/within [2-4]\d{5} ms/),
  });
});

it('the time limit of a summary grows with its input and with its output limit', () => {
  const small = limitSummaryCall({ tokens: 1_000, maxOutputTokens: 1_000 });
  expect(small).toEqual({ totalMs: 130_200, silenceMs: 90_000 });
  expect(limitSummaryCall({ tokens: 100_000, maxOutputTokens: 8_000 }).totalMs).toBe(430_000);
  expect(limitSummaryCall({ tokens: 1_000, maxOutputTokens: 1_000 }, 10_000)).toEqual({
    totalMs: 50_200,
    silenceMs: 10_000,
  });
});
