import { describe, expect, it } from 'vitest';
import { WIRE_FORMATS } from '../../../src/domain/raw-items.ts';
import { createModelSummarizer } from '../../../src/summarize/model/model-summarizer.ts';
import { loadTokenCounter } from '../../../src/wire/tokens/token-counter.ts';
import type { Fault } from '../../provider/fault.ts';
import { type Provider, startProvider } from '../../provider/provider.ts';
import { connect } from '../fixture.ts';
import { HISTORY, RECORD } from './fixture.ts';

describe.each(WIRE_FORMATS)('over %s', (format) => {
  async function summarize(provider: Provider) {
    const counter = await loadTokenCounter('o200k_base');
    const model = connect(format, provider);
    const summarizer = createModelSummarizer({ model, counter, clock: { now: () => 0 }, callTimeoutMs: 1_000 });
    const signal = new AbortController().signal;
    return summarizer.summarize({ range: { from: 11, to: 16 }, messages: HISTORY, maxTokens: 400, signal });
  }

  it(`the model summarizer returns the summary that a ${format} model writes`, async () => {
    await using provider = await startProvider({ answers: [{ thinking: 'Let me see.', text: RECORD }] });
    expect(await summarize(provider)).toMatchObject({
      status: 'written',
      text: expect.stringContaining('## Next step'),
    });
    expect(provider.requests.map(({ refusal }) => refusal)).toEqual([undefined]);
  });

  it.each([
    ['rate_limit', 'retry'],
    ['overloaded', 'retry'],
  ] as const)(
    `the model summarizer throws if the ${format} provider returns the error %s, and the error kind is %s`,
    async (fault, kind) => {
      await using provider = await startProvider({ answers: [{ fault }] });
      await expect(summarize(provider)).rejects.toMatchObject({ kind });
    },
  );

  it.each(['unauthorized', 'quota'] as const)(
    `the model summarizer returns a failure, not a refusal, if the ${format} provider returns the error %s`,
    async (fault) => {
      await using provider = await startProvider({ answers: [{ fault }] });
      expect(await summarize(provider)).toMatchObject({ status: 'failed' });
    },
  );

  it(`the model summarizer stops at its timeout if a ${format} model sends nothing`, async () => {
    const silent: Fault = { fault: 'hang' };
    await using provider = await startProvider({ answers: [silent] });
    expect(await summarize(provider)).toMatchObject({
      status: 'failed',
      why: expect.stringMatching(/did not answer within/),
    });
  });

  it(`the model summarizer splits the messages into parts if the ${format} provider refuses its request as too long`, async () => {
    let asked = 0;
    await using provider = await startProvider({
      answers: () => {
        asked += 1;
        return asked === 1 ? { fault: 'overflow' } : { text: RECORD };
      },
    });
    expect(await summarize(provider)).toMatchObject({ status: 'written' });
    expect(asked).toBeGreaterThan(3);
  });
});
