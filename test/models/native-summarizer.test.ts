import { describe, expect, it } from 'vitest';
import { type Model, type ModelCompaction, ModelError, type ModelRequest } from '../../src/domain/model.ts';
import type { SummaryRequest } from '../../src/domain/summarizer.ts';
import { createNativeSummarizer } from '../../src/summarize/native-summarizer.ts';
import { loadTokenCounter } from '../../src/wire/tokens/token-counter.ts';

const block = { type: 'compaction', content: 'They looked for a key.' };
const raw = { format: 'anthropic', model: 'm', items: [block] };
const profile = {
  id: 'm',
  encoding: 'o200k_base',
  windowTokens: 1_000,
  outputCapTokens: 100,
  upperBoundFactor: 1,
} as const;
const counter = await loadTokenCounter('o200k_base');

const request: SummaryRequest = {
  range: { from: 1, to: 3 },
  messages: [
    { role: 'user', content: 'Find the key.' },
    { role: 'assistant', content: 'Where?' },
    { role: 'user', content: 'In the hall.' },
  ],
  maxTokens: 100,
  opensVersion: 4,
  signal: new AbortController().signal,
};

function open(compact: (request: ModelRequest) => Promise<ModelCompaction>, callTimeoutMs?: number) {
  const asked: ModelRequest[] = [];
  const model: Model & Required<Pick<Model, 'compact'>> = {
    profile,
    generate: () => Promise.reject(new Error('not asked')),
    compact: (given) => {
      asked.push(given);
      return compact(given);
    },
  };
  const fallback = {
    id: 'structural',
    summarize: async () => ({ status: 'written', text: 'outline' }) as const,
  };
  const clock = { now: () => 0 };
  const tools = [{ name: 'look', description: 'Looks.', parameters: {} }];
  const limit = callTimeoutMs === undefined ? {} : { callTimeoutMs };
  return {
    asked,
    summarizer: createNativeSummarizer({ model, system: 'Guide.', tools, counter, clock, fallback, ...limit }),
  };
}

describe('the provider’s own compaction', () => {
  it('the native summarizer asks the provider to compact the messages as the model last read them', async () => {
    const { asked, summarizer } = open(async () => ({ text: block.content, raw }));
    await summarizer.summarize(request);
    expect(asked[0]).toMatchObject({
      system: 'Guide.',
      tools: [{ name: 'look' }],
      version: 4,
      messages: request.messages,
    });
  });

  it('a native summary has the provider’s text and token count', async () => {
    const usage = { inputTotal: 30, output: 12, outputKept: 12 };
    const { summarizer } = open(async () => ({ text: block.content, raw, usage }));
    expect(await summarizer.summarize(request)).toEqual({
      status: 'written',
      text: block.content,
      isUpdate: false,
      own: { raw, tokens: 12 },
    });
  });

  it('the token count of a native summary includes the messages that the provider keeps beside its own compaction item', async () => {
    const sealed = { type: 'compaction', encrypted_content: 'sealed' };
    const kept = { type: 'message', role: 'user', content: 'Find the key.' };
    const responses = { format: 'openai-responses', model: 'm', items: [kept, sealed] };
    const usage = { inputTotal: 30, output: 12, outputKept: 12 };
    const { summarizer } = open(async () => ({ raw: responses, usage }));
    const answer = await summarizer.summarize(request);
    const keptTokens = await counter.count(JSON.stringify([kept]));
    expect(answer).toMatchObject({ text: 'outline', own: { raw: responses, tokens: 12 + keptTokens } });
  });

  it('the native summarizer continues from the provider’s earlier compaction item and the messages after it', async () => {
    const { asked, summarizer } = open(async () => ({ text: 'more', raw }));
    const earlier = [{ text: 'before', covers: { from: 1, to: 2 }, raw: { ...raw, format: 'anthropic' as const } }];
    expect(await summarizer.summarize({ ...request, earlier })).toMatchObject({ isUpdate: true });
    expect(asked[0]?.messages).toEqual([
      { role: 'summary', content: 'before', summary: { from: 1, to: 2 }, raw },
      request.messages[2],
    ]);
  });

  it('the native summarizer refuses messages that are not at the start of the context, without a model call', async () => {
    const { asked, summarizer } = open(async () => ({ text: 'x', raw }));
    const { opensVersion: _, ...behind } = request;
    expect(await summarizer.summarize(behind)).toMatchObject({ status: 'refused' });
    expect(asked).toEqual([]);
  });

  it.each([
    ['refuses messages that are larger than the model’s window', new ModelError('overflow', 'too long'), 'refused'],
    ['fails if the provider returns a fatal error', new ModelError('fatal', 'no such model'), 'failed'],
  ])('the native summarizer %s', async (_, error, status) => {
    const { summarizer } = open(() => Promise.reject(error));
    expect(await summarizer.summarize(request)).toMatchObject({ status });
  });

  it('the native summarizer fails if the provider’s own compaction item has an unknown format', async () => {
    const { summarizer } = open(async () => ({ text: 'x', raw: 'sealed' }));
    expect(await summarizer.summarize(request)).toMatchObject({ status: 'failed' });
  });

  it('the native summarizer throws an error of the kind `retry` if the provider answers with a rate limit', async () => {
    const { summarizer } = open(() => Promise.reject(new ModelError('retry', 'a rate limit')));
    await expect(summarizer.summarize(request)).rejects.toMatchObject({ kind: 'retry' });
  });

  it('the native summarizer fails after its timeout', async () => {
    const { summarizer } = open(() => new Promise(() => undefined), 5);
    expect(await summarizer.summarize(request)).toMatchObject({
      status: 'failed',
      why: 'the model did not answer within 5 ms',
    });
  });
});
