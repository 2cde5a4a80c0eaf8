import { describe, expect, it } from 'vitest';
import type { ModelAbilities } from '../../../src/domain/model-options.ts';
import { WIRE_FORMATS } from '../../../src/domain/raw-items.ts';
import { createModelSummarizer } from '../../../src/summarize/model/model-summarizer.ts';
import { ASKED_SECTIONS } from '../../../src/summarize/model/sections.ts';
import { loadTokenCounter } from '../../../src/wire/tokens/token-counter.ts';
import type { Fault } from '../../provider/fault.ts';
import { type Provider, startProvider } from '../../provider/provider.ts';
import { connect, PROFILE } from '../fixture.ts';
import { HISTORY, RECORD } from './fixture.ts';

/** Finds the schema of the answer in a request of any format. */
function findSchema(body: object | undefined): unknown {
  const { output_config: anthropic, text: responses, response_format: chat } = (body ?? {}) as SchemaFields;
  return (anthropic?.format ?? responses?.format ?? chat?.json_schema)?.schema;
}

interface SchemaFields {
  readonly output_config?: { readonly format?: { readonly schema: unknown } };
  readonly text?: { readonly format?: { readonly schema: unknown } };
  readonly response_format?: { readonly json_schema: { readonly schema: unknown } };
}

describe.each(WIRE_FORMATS)('over %s', (format) => {
  async function summarize(provider: Provider, abilities: ModelAbilities = {}, callTimeoutMs = 30_000) {
    const counter = await loadTokenCounter('o200k_base');
    const model = connect(format, provider, { profile: { ...PROFILE, abilities } });
    const summarizer = createModelSummarizer({ model, counter, clock: { now: () => 0 }, callTimeoutMs });
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
    `the model summarizer returns a failure, not a refusal, and asks only once if the ${format} provider returns the error %s`,
    async (fault) => {
      await using provider = await startProvider({ answers: [{ fault }] });
      expect(await summarize(provider, { structured: true })).toMatchObject({ status: 'failed' });
      expect(provider.requests).toHaveLength(1);
    },
  );

  it(`the model summarizer stops at its timeout if a ${format} model sends nothing`, async () => {
    const silent: Fault = { fault: 'hang' };
    await using provider = await startProvider({ answers: [silent] });
    expect(await summarize(provider, {}, 1_000)).toMatchObject({
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

  it(`a ${format} request for a summary has a JSON schema if the provider enforces schemas`, async () => {
    await using provider = await startProvider({ answers: [{ text: RECORD }] });
    expect(await summarize(provider, { structured: true })).toMatchObject({ status: 'written' });
    const [sent] = provider.requests;
    expect(sent?.refusal).toBeUndefined();
    expect(findSchema(sent?.body)).toMatchObject({ required: ASKED_SECTIONS, additionalProperties: false });
  });

  it(`a ${format} request for a summary has no JSON schema if the provider is not known to enforce schemas`, async () => {
    await using provider = await startProvider({ answers: [{ text: RECORD }] });
    await summarize(provider);
    expect(findSchema(provider.requests[0]?.body)).toBeUndefined();
  });

  it.each(['json_schema is not supported by this model', 'output_config.format: Extra inputs are not permitted'])(
    `a summary is requested again without its JSON schema if the ${format} provider refuses the schema: %s`,
    async (message) => {
      await using provider = await startProvider({ answers: [{ fault: 'invalid', message }, { text: RECORD }] });
      expect(await summarize(provider, { structured: true })).toMatchObject({ status: 'written' });
      expect(provider.requests.map(({ body }) => findSchema(body) === undefined)).toEqual([false, true]);
    },
  );
});
