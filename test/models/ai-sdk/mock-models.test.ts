import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { MockLanguageModelV3, MockLanguageModelV4, simulateReadableStream } from 'ai/test';
import { describe, expect, it } from 'vitest';
import { type AiSdkModelOptions, aiSdkModel } from '../../../src/ai-sdk.ts';
import type { Message } from '../../../src/domain/message.ts';
import type { Model, ModelAnswer } from '../../../src/domain/model.ts';
import { defineAgent } from '../../../src/index.ts';
import { openTestWorkers } from '../../../src/testing/index.ts';
import { PIXEL } from '../../fakes/contents.ts';
import { ask, PROFILE } from '../fixture.ts';
import { failureOf } from '../raw-server.ts';

const user: Message = { role: 'user', content: 'Which files?' };
const { id: _, ...profile } = PROFILE;
const THINKING = { type: 'enabled', budgetTokens: 1_024 } as const;

const usage = {
  inputTokens: { total: 100, noCache: 30, cacheRead: 60, cacheWrite: 10 },
  outputTokens: { total: 20, text: 12, reasoning: 8 },
};

function finish(
  unified: LanguageModelV4FinishReason['unified'] = 'stop',
  raw: string | undefined = unified,
): LanguageModelV4StreamPart {
  return { type: 'finish', usage, finishReason: { unified, raw } };
}

function text(given: string): LanguageModelV4StreamPart[] {
  return [
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta: given },
    { type: 'text-end', id: '0' },
  ];
}

interface Mock {
  readonly model: Model;
  /** Options of the model's calls, oldest first. */
  readonly calls: readonly LanguageModelV4CallOptions[];
}

interface MockOptions extends AiSdkModelOptions {
  readonly version?: 'v3' | 'v4';
  readonly provider?: string;
  readonly modelId?: string;
}

/** A mock of the SDK that streams one of these answers for each call. */
function mock(answers: readonly (readonly LanguageModelV4StreamPart[])[], given: MockOptions = {}): Mock {
  const { version = 'v4', provider = 'mock', modelId = 'model-1', ...options } = given;
  let next = 0;
  const doStream = async () => ({
    stream: simulateReadableStream({
      chunks: [{ type: 'stream-start' as const, warnings: [] }, ...(answers[next++] ?? [])],
      initialDelayInMs: null,
      chunkDelayInMs: null,
    }),
  });
  const facts = { provider, modelId, supportedUrls: { 'image/*': [/^https:/] } };
  const made =
    version === 'v4'
      ? new MockLanguageModelV4({ ...facts, doStream })
      : new MockLanguageModelV3({ ...facts, doStream: doStream as never });
  return {
    model: aiSdkModel(made, { profile, ...options }),
    calls: made.doStreamCalls as LanguageModelV4CallOptions[],
  };
}

/** A history in which the answer's calls have these results. */
function answered({ content, toolCalls, raw }: ModelAnswer, results: readonly Partial<Message>[] = [{}]): Message[] {
  return [
    user,
    { role: 'assistant', content, raw, ...(toolCalls.length > 0 && { toolCalls: [...toolCalls] }) },
    ...toolCalls.map(({ id }, index): Message => ({ role: 'tool', content: 'A', toolCallId: id, ...results[index] })),
  ];
}

const call = { type: 'tool-call', toolCallId: 'call_1', toolName: 'read', input: '{"path":"a"}' } as const;

describe('aiSdkModel', () => {
  it('aiSdkModel returns the text, the calls and the usage of an answer, and streams the answer’s pieces', async () => {
    const pieces: string[] = [];
    const { model } = mock([
      [
        { type: 'reasoning-start', id: '0' },
        { type: 'reasoning-delta', id: '0', delta: 'Hm.' },
        ...text('Two.'),
        { type: 'tool-input-start', id: 'call_1', toolName: 'read' },
        { type: 'tool-input-delta', id: 'call_1', delta: '{"path":"a"}' },
        call,
        { type: 'response-metadata', modelId: 'model-1-2026' },
        finish('tool-calls'),
      ],
    ]);
    const answer = await model.generate(
      ask([user], {
        onText: (piece) => pieces.push(piece),
        onReasoning: (piece) => pieces.push(piece),
        onToolCall: ({ call: index, name, arguments: given }) => pieces.push(`${index} ${name ?? given ?? ''}`),
      }),
    );
    expect(answer).toMatchObject({
      content: 'Two.',
      toolCalls: [{ id: 'call_1', name: 'read', arguments: '{"path":"a"}' }],
      end: 'complete',
      usage: { inputTotal: 100, cachedInput: 60, cacheWrite: 10, output: 20, outputKept: 12 },
    });
    expect(pieces).toEqual(['Hm.', 'Two.', '0 read', '0 {"path":"a"}']);
  });

  it('aiSdkModel sends a provider’s metadata back unchanged to the same provider’s model, and to no other model', async () => {
    const signature = { anthropic: { signature: 'EqAB' } };
    const thoughtSignature = { google: { thoughtSignature: 'Ct0' } };
    const parts: LanguageModelV4StreamPart[] = [
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'Hm.' },
      { type: 'reasoning-delta', id: '0', delta: '', providerMetadata: signature },
      { type: 'reasoning-end', id: '0' },
      { ...call, providerMetadata: thoughtSignature },
      finish('tool-calls'),
    ];
    const { model, calls } = mock([parts, text('Done.').concat(finish())]);
    const history = answered(await model.generate(ask([user])));
    await model.generate(ask(history));
    expect(calls[1]?.prompt[2]).toEqual({
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'Hm.', providerOptions: signature },
        {
          type: 'tool-call',
          toolCallId: 'call_1',
          toolName: 'read',
          input: { path: 'a' },
          providerOptions: thoughtSignature,
        },
      ],
    });
    for (const other of [{ provider: 'azure' }, { modelId: 'model-2' }]) {
      const foreign = mock([text('Done.').concat(finish())], other);
      await foreign.model.generate(ask(history));
      expect(foreign.calls[0]?.prompt[2]?.content).toEqual([
        { type: 'tool-call', toolCallId: 'call_1', toolName: 'read', input: { path: 'a' } },
      ]);
    }
  });

  it('aiSdkModel leaves out the id of a Responses API item if the reasoning before the item is not sent', async () => {
    const item = (itemId: string, more: object = {}) => ({ openai: { itemId, ...more } });
    const parts: LanguageModelV4StreamPart[] = [
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-end', id: '0', providerMetadata: item('rs_1', { reasoningEncryptedContent: 'gAAA' }) },
      { ...call, providerMetadata: item('fc_1') },
      finish('tool-calls'),
    ];
    const { model, calls } = mock([parts, text('Done.').concat(finish()), text('Done.').concat(finish())]);
    const history = answered(await model.generate(ask([user])));
    await model.generate(ask(history));
    expect(JSON.stringify(calls[1]?.prompt)).toMatch(/rs_1.*fc_1/);
    await model.generate(ask(history, { version: 1 }));
    expect(JSON.stringify(calls[2]?.prompt)).not.toMatch(/rs_1|fc_1/);
  });

  it('aiSdkModel keeps a tool call that the provider ran in the original items, and does not return it as a call to run', async () => {
    const search = { toolCallId: 'srv_1', toolName: 'web_search' };
    const { model, calls } = mock(
      [
        [
          { type: 'tool-call', ...search, input: '{"query":"a"}', providerExecuted: true },
          { type: 'tool-result', ...search, result: 'searching', preliminary: true },
          { type: 'tool-result', ...search, result: [{ url: 'https://a' }] },
          ...text('Found.'),
          finish(),
        ],
        text('Yes.').concat(finish()),
      ],
      { providerTools: [{ type: 'provider', id: 'anthropic.web_search_20250305', name: 'web_search', args: {} }] },
    );
    const answer = await model.generate(ask([user]));
    expect(answer).toMatchObject({ content: 'Found.', toolCalls: [] });
    expect(calls[0]?.tools?.map(({ name }) => name)).toEqual(['read', 'web_search']);
    await model.generate(ask([...answered(answer), user]));
    expect(calls[1]?.prompt[2]?.content).toEqual([
      { type: 'tool-call', ...search, input: { query: 'a' }, providerExecuted: true },
      { type: 'tool-result', ...search, output: { type: 'json', value: [{ url: 'https://a' }] } },
      { type: 'text', text: 'Found.' },
    ]);
  });

  it('a turn fails with an error code if the provider asks for an approval of its own tool', async () => {
    const { model } = mock([[{ type: 'tool-approval-request', approvalId: 'a', toolCallId: 'b' }]]);
    expect(await failureOf(model.generate(ask([user])))).toMatchObject({
      kind: 'fatal',
      code: 'tool_approval_request',
    });
  });

  const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } };
  const linked = { type: 'image', source: { type: 'url', url: 'https://a/b.png' } };

  it.each([
    [
      'v4',
      { type: 'data', data: PIXEL },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: PIXEL } },
    ],
    ['v3', PIXEL, { type: 'image-data', mediaType: 'image/png', data: PIXEL }],
  ] as const)(
    'aiSdkModel sends pictures of messages and tool results in the form of model version %s',
    async (version, data, inResult) => {
      const options = { version, provider: 'google.generative-ai', modelId: 'gemini-3-pro' };
      const { model, calls } = mock([[call, finish('tool-calls')], text('Done.').concat(finish())], options);
      const asked: Message = { ...user, parts: [picture, linked] };
      const [, ...rest] = answered(await model.generate(ask([asked])), [{ content: 'A', parts: [picture] }]);
      await model.generate(ask([asked, ...rest]));
      const url = new URL('https://a/b.png');
      expect(calls[1]?.prompt[1]?.content).toEqual([
        { type: 'text', text: 'Which files?' },
        { type: 'file', mediaType: 'image/png', data },
        { type: 'file', mediaType: 'image/*', data: version === 'v4' ? { type: 'url', url } : url },
      ]);
      expect(calls[1]?.prompt[3]?.content).toMatchObject([
        { toolName: 'read', output: { type: 'content', value: [{ type: 'text', text: 'A' }, inResult] } },
      ]);
    },
  );

  it('aiSdkModel sends pictures of tool results in a user message if the provider cannot take them in results', async () => {
    const { model, calls } = mock([[call, finish('tool-calls')], text('Done.').concat(finish())], {
      provider: 'mistral.chat',
    });
    await model.generate(ask(answered(await model.generate(ask([user])), [{ parts: [picture] }])));
    expect(calls[1]?.prompt.slice(3)).toMatchObject([
      { role: 'tool', content: [{ output: { type: 'text', value: 'A' } }] },
      { role: 'user', content: [{ type: 'file', mediaType: 'image/png' }] },
    ]);
  });

  it('aiSdkModel sends a call of another provider to Mistral under an id of nine letters or digits, and Mistral’s own call under its own id', async () => {
    const own = { ...call, toolCallId: 'D681PevKs' };
    const { model, calls } = mock([[own, finish('tool-calls')], text('Done.').concat(finish())], {
      provider: 'mistral.chat',
    });
    const foreign: Message[] = [
      user,
      { role: 'assistant', content: '', toolCalls: [{ id: 'call_9', name: 'read', arguments: '{}' }] },
      { role: 'tool', content: 'A', toolCallId: 'call_9' },
    ];
    await model.generate(ask([...foreign, ...answered(await model.generate(ask([user])))]));
    const sent = JSON.stringify(calls[1]?.prompt).match(/"toolCallId":"[a-zA-Z0-9]{9}"/g) ?? [];
    expect(sent).toHaveLength(4);
    expect(sent[0]).toBe(sent[1]);
    expect(sent.slice(2)).toEqual(['"toolCallId":"D681PevKs"', '"toolCallId":"D681PevKs"']);
  });

  it('aiSdkModel marks a failed tool result as an error, and sends an address that the model cannot fetch as text', async () => {
    const { model, calls } = mock([[call, finish('tool-calls')], text('Done.').concat(finish())]);
    const [, ...rest] = answered(await model.generate(ask([user])), [{ content: 'no', isError: true }]);
    const local = { type: 'image', source: { type: 'url', url: 'http://a/b.png' } };
    await model.generate(ask([{ ...user, parts: [local] }, ...rest]));
    expect(calls[1]?.prompt[1]?.content).toContainEqual({
      type: 'text',
      text: '(a picture that the model cannot fetch is not shown)',
    });
    expect(calls[1]?.prompt[3]?.content).toMatchObject([{ output: { type: 'error-text', value: 'no' } }]);
  });

  it.each([
    ['anthropic.messages', 'claude-opus-5-5', { anthropic: { cacheControl: { type: 'ephemeral' } } }],
    ['vertex.anthropic.messages', 'claude-opus-5-5', { anthropic: { cacheControl: { type: 'ephemeral' } } }],
    ['amazon-bedrock', 'us.anthropic.claude-opus-5-5-v1:0', { bedrock: { cachePoint: { type: 'default' } } }],
    ['amazon-bedrock', 'meta.llama4-maverick-v1:0', undefined],
    ['google.generative-ai', 'gemini-3-pro', undefined],
  ])('aiSdkModel sets the cache marks for %s on %s as %j', async (provider, modelId, mark) => {
    const { model, calls } = mock([text('Yes.').concat(finish())], { provider, modelId });
    await model.generate(ask([user, { role: 'assistant', content: 'So.' }, user]));
    const marks = calls[0]?.prompt.map(({ providerOptions }) => providerOptions);
    expect(marks).toEqual(
      mark === undefined ? [undefined, undefined, undefined, undefined] : [mark, mark, undefined, mark],
    );
  });

  it('aiSdkModel turns Claude’s thinking off for a request that can no longer include the thinking blocks of its tool loop', async () => {
    const parts: LanguageModelV4StreamPart[] = [
      { type: 'reasoning-start', id: '0', providerMetadata: { anthropic: { signature: 'Eq' } } },
      { type: 'reasoning-delta', id: '0', delta: 'Hm.' },
      call,
      finish('tool-calls'),
    ];
    const { model, calls } = mock([parts, text('A').concat(finish()), text('B').concat(finish())], {
      provider: 'anthropic.messages',
      providerOptions: { anthropic: { thinking: THINKING } },
    });
    const history = answered(await model.generate(ask([user])));
    await model.generate(ask(history));
    await model.generate(ask(history, { version: 1 }));
    expect(
      calls.map(({ providerOptions, maxOutputTokens }) => [providerOptions?.['anthropic'], maxOutputTokens]),
    ).toEqual([
      [{ thinking: THINKING }, 3_072],
      [{ thinking: THINKING }, 3_072],
      [{ thinking: { type: 'disabled' } }, 4_096],
    ]);
  });

  it.each([
    ['off while only user messages follow the results', [user, user], { type: 'disabled' }],
    ['off while one user message follows the results', [user], { type: 'disabled' }],
    ['on after an answer', [{ role: 'assistant', content: 'Done.' }, user, user], THINKING],
  ] as const)(
    'in a tool loop that started without thinking, aiSdkModel has Claude’s thinking %s',
    async (_title, rest, thinking) => {
      const { model, calls } = mock([text('A').concat(finish())], {
        provider: 'anthropic.messages',
        providerOptions: { anthropic: { thinking: THINKING } },
      });
      const called: Message = {
        role: 'assistant',
        content: '',
        toolCalls: [{ id: 'c1', name: 'read', arguments: '{}' }],
      };
      await model.generate(ask([user, called, { role: 'tool', content: 'text', toolCallId: 'c1' }, ...rest]));
      expect(calls[0]?.providerOptions?.['anthropic']).toEqual({ thinking });
    },
  );

  it('aiSdkModel turns Claude’s thinking off for the one request whose turn must call a tool', async () => {
    const { model, calls } = mock([text('A').concat(finish()), text('B').concat(finish())], {
      provider: 'anthropic.messages',
      providerOptions: { anthropic: { thinking: THINKING } },
    });
    await model.generate(ask([user], { toolChoice: 'required' }));
    await model.generate(ask([user]));
    expect(calls.map(({ toolChoice, providerOptions }) => [toolChoice, providerOptions?.['anthropic']])).toEqual([
      [{ type: 'required' }, { thinking: { type: 'disabled' } }],
      [undefined, { thinking: THINKING }],
    ]);
  });

  it('aiSdkModel adds the caller’s settings, headers and options to every request', async () => {
    const { model, calls } = mock([text('A').concat(finish())], {
      provider: 'openai.responses',
      settings: { temperature: 0.2, reasoning: 'low', toolChoice: { type: 'required' }, headers: { 'x-team': 'a' } },
      providerOptions: { openai: { promptCacheKey: 'k' } },
    });
    await model.generate(ask([user]));
    expect(calls[0]).toMatchObject({
      temperature: 0.2,
      reasoning: 'low',
      toolChoice: { type: 'required' },
      headers: { 'x-team': 'a', 'Idempotency-Key': expect.any(String) as string },
      providerOptions: { openai: { promptCacheKey: 'k', store: false } },
    });
  });

  it('aiSdkModel forces a tool call only in answer to a message, and not in a summary', async () => {
    const answers = [[call, finish('tool-calls')], ...Array.from({ length: 3 }, () => text('A').concat(finish()))];
    const { model, calls } = mock(answers, { settings: { toolChoice: { type: 'tool', toolName: 'read' } } });
    await model.generate(ask(answered(await model.generate(ask([user])))));
    await model.generate(ask([user], { isSummary: true }));
    await model.generate(ask([user], { tools: [] }));
    expect(calls.map(({ toolChoice }) => toolChoice?.type)).toEqual(['tool', undefined, undefined, undefined]);
  });

  it('aiSdkModel asks for an answer schema in the system prompt, whatever the model catalogue says about the model', () => {
    const { model } = mock([], { profile: { ...PROFILE, abilities: { structured: true } } });
    expect(model.profile.abilities?.structured).toBe(false);
  });

  it.each([
    ['length', 'MAX_TOKENS', 'cut_off'],
    ['content-filter', 'SAFETY', 'refusal'],
    ['stop', 'pause_turn', 'cut_off'],
    ['other', 'OTHER', 'complete'],
  ] as const)('aiSdkModel returns an answer that ended as %s (%s) as %s', async (unified, raw, end) => {
    const { model } = mock([text('A').concat(finish(unified, raw))]);
    expect((await model.generate(ask([user]))).end).toBe(end);
  });

  it.each([
    ['an error', 'error', 'MALFORMED_FUNCTION_CALL', 'retry'],
    ['an interruption', 'interrupted', undefined, 'retry'],
    ['an unknown end without a reason of the provider', 'other', undefined, 'retry'],
    ['the end of the context window', 'length', 'model_context_window_exceeded', 'overflow'],
  ] as const)('aiSdkModel throws for %s, and counts the tokens of the answer', async (_name, unified, raw, kind) => {
    const parts = [{ type: 'finish', usage, finishReason: { unified, raw } }] as const;
    const { model } = mock([[...text('A'), ...parts]]);
    expect(await failureOf(model.generate(ask([user])))).toMatchObject({
      kind,
      usage: { inputTotal: 100, output: 20 },
    });
  });

  it('aiSdkModel refuses values other than models of version 3 or 4, and models of unknown window size', () => {
    const old = { specificationVersion: 'v2', doStream: () => {} };
    for (const given of ['openai/gpt-6', old, undefined]) {
      expect(() => aiSdkModel(given as never)).toThrow(
        expect.objectContaining({ code: 'invalid_config', field: 'model' }),
      );
    }
    expect(() => aiSdkModel(new MockLanguageModelV4({ modelId: 'no-such-model' }))).toThrow(
      expect.objectContaining({ code: 'invalid_config' }),
    );
    const known = new MockLanguageModelV4({ provider: 'anthropic.messages', modelId: 'claude-opus-5-5' });
    expect(aiSdkModel(known).profile).toMatchObject({
      id: 'anthropic.messages/claude-opus-5-5',
      windowTokens: 1_000_000,
    });
  });

  it('an AI SDK model answers a turn', async () => {
    const { model } = mock([text('Hello.').concat(finish())]);
    const workers = await openTestWorkers({
      agents: [defineAgent({ name: 'guide', system: '', model, tools: [], policy: {} })],
    });
    try {
      await workers.client.enqueueTurn({ conversation: 'c1', agent: 'guide', turn: 't1', input: 'Hi' });
      expect(await workers.client.result('c1', 't1', { waitMs: 10_000 })).toMatchObject({
        state: 'completed',
        answer: { content: 'Hello.' },
      });
    } finally {
      await workers.close();
    }
  });
});
