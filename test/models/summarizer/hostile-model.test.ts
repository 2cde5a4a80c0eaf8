import { expect, test } from 'vitest';
import type { ModelAnswer } from '../../../src/domain/model.ts';
import type { SummaryCall } from '../../../src/domain/summarizer.ts';
import { modelChain } from '../../../src/providers/chain.ts';
import { scriptedModel } from '../../../src/providers/scripted.ts';
import { callSummaryModel } from '../../../src/summarize/model/model-call.ts';
import { HOSTILE_JSON, HOSTILE_THROWN } from '../../fakes/hostile-values.ts';
import { openWorld } from './fixture.ts';

const { profile } = scriptedModel({ decide: () => ({}) });
const input = { system: '', content: 'text', tokens: 1, maxOutputTokens: 100 };

async function ask(generate: () => Promise<ModelAnswer>, isChain = false) {
  const calls: SummaryCall[] = [];
  const request = { signal: new AbortController().signal, onCall: (call: SummaryCall) => void calls.push(call) };
  const own = { profile, generate };
  const model = isChain ? modelChain([own, own]) : own;
  const result = await callSummaryModel(
    { model, clock: { now: () => Date.now() }, callTimeoutMs: 10_000 },
    input,
    request,
  );
  return { result, calls };
}

test.each(HOSTILE_THROWN)('a summarizer fails with a short reason if its model throws %s', async (_, make) => {
  for (const isChain of [false, true]) {
    const { result, calls } = await ask(async () => {
      throw make();
    }, isChain);
    expect(result).toMatchObject({ status: 'failed', why: expect.stringMatching(/^fatal: .{1,200}$/) });
    expect(calls).toMatchObject([{ outcome: 'fatal' }]);
  }
});

test.each(HOSTILE_JSON)(
  'a summarizer fails with an error for the field `raw` if `raw` in its model’s answer is %s',
  async (_, make) => {
    for (const isChain of [false, true]) {
      const { result } = await ask(async () => ({ content: '', toolCalls: [], raw: make() }), isChain);
      expect(result).toMatchObject({ status: 'failed', why: expect.stringMatching(/^fatal: answer\.raw.{1,500}$/) });
    }
  },
);

test('a summarizer fails with an error for the field if its model’s answer lacks a required field', async () => {
  const world = await openWorld({
    wrap: (model) => ({ ...model, generate: async () => ({ content: 'private' }) as ModelAnswer }),
  });
  const summary = await world.summarize();
  expect(summary).toMatchObject({ status: 'failed', why: expect.stringContaining('answer.toolCalls') });
  expect(JSON.stringify(summary)).not.toContain('private');
  expect(world.calls.map(({ outcome }) => outcome)).toEqual(['fatal']);
});
