/** Loops, forms, sessions and cancellation in the packages of OpenAI, LangChain and the AI SDK. */
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAI as createOpenAi3 } from '@ai-sdk/openai3';
import { type AIMessageChunk, HumanMessage, type ToolMessage } from '@langchain/core/messages';
import { tool as langchainTool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { Agent, OpenAIConversationsSession, OpenAIProvider, Runner, tool } from '@openai/agents';
import { tool as aiTool, generateText, Output, stepCountIs, streamText } from 'ai';
import { tool as aiTool6, generateText as generateText6, stepCountIs as stepCountIs6 } from 'ai6';
import type { OpenAI } from 'openai';
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createSupport, gates, type OpenAiFixture, openOpenAiFixture } from './openai-fixture.ts';

let fixture: OpenAiFixture;
let openai: OpenAI;
beforeAll(async () => {
  fixture = await openOpenAiFixture([createSupport()]);
  ({ openai } = fixture);
});
afterAll(() => fixture.http.close());

const weather = z.object({ city: z.string(), degrees: z.number() });
const place = z.object({ city: z.string() });
const BOTH = 'Results: 21 degrees | noon';

describe('openai', () => {
  test('parses the form of a response and of a chat', async () => {
    const text = { format: zodTextFormat(weather, 'weather') };
    const response = await openai.responses.parse({ model: 'support', input: 'weather', text });
    expect(response.output_parsed).toEqual({ city: 'Bern', degrees: 21 });
    const stream = openai.responses.stream({ model: 'support', input: 'weather', text });
    expect((await stream.finalResponse()).output_parsed).toEqual({ city: 'Bern', degrees: 21 });
    const format = zodResponseFormat(weather, 'weather');
    const messages = [{ role: 'user', content: 'weather' } as const];
    const chat = await openai.chat.completions.parse({ model: 'support', messages, response_format: format });
    expect(chat.choices[0]?.message.parsed).toEqual({ city: 'Bern', degrees: 21 });
  });

  test.each([false, true])('runs its own tools in a chat (stream: %s)', async (stream) => {
    const functionOf = (name: string, answer: string) =>
      ({
        type: 'function',
        function: {
          name,
          description: name,
          parameters: { type: 'object', properties: { city: { type: 'string' } } },
          parse: JSON.parse,
          function: () => answer,
        },
      }) as const;
    const body = {
      model: 'support',
      messages: [{ role: 'user', content: `use weather_of,time_of` } as const],
      tools: [functionOf('weather_of', '21 degrees'), functionOf('time_of', 'noon')],
      user: `runner ${stream}`,
    };
    const runner = stream
      ? openai.chat.completions.runTools({ ...body, stream: true })
      : openai.chat.completions.runTools(body);
    expect(await runner.finalContent()).toBe(BOTH);
  });

  test('streams a call, and a response that is canceled meanwhile', async () => {
    const parameters = { type: 'object', properties: {} };
    const weatherOf = { type: 'function', name: 'weather_of', strict: false, parameters } as const;
    const stream = openai.responses.stream({ model: 'support', input: 'use weather_of', tools: [weatherOf] });
    const done = await stream.emitted('response.function_call_arguments.done');
    expect(done).toMatchObject({ name: 'weather_of', arguments: '{"city":"Bern"}' });
    expect((await stream.finalResponse()).output.at(-1)).toMatchObject({ type: 'function_call' });
    gates.set('helper', Promise.withResolvers());
    const held = openai.responses.stream({ model: 'support', input: 'hold helper' });
    const { response } = await held.emitted('response.created');
    await held.emitted('response.output_text.delta');
    expect((await openai.responses.cancel(response.id)).status).toBe('cancelled');
    expect((await held.finalResponse()).status).toBe('cancelled');
    gates.get('helper')?.resolve();
  });
});

describe('@openai/agents', () => {
  const tools = [
    tool({ name: 'weather_of', description: 'Weather', parameters: place, execute: async () => '21 degrees' }),
    tool({ name: 'time_of', description: 'Time', parameters: place, execute: async () => 'noon' }),
  ];
  const openAgent = (settings: object = {}) => new Agent({ name: 'A', model: 'support', tools, ...settings });
  const openRunner = (useResponses = true) =>
    new Runner({
      modelProvider: new OpenAIProvider({ openAIClient: openai, useResponses }),
      tracingDisabled: true,
    });
  const asked = 'use weather_of,time_of';

  test.each([
    ['a conversation', async () => ({ conversationId: (await openai.conversations.create()).id })],
    ['the response before', async () => ({ previousResponseId: (await openai.responses.create({ input: 'hi' })).id })],
    ['a session', async () => ({ session: new OpenAIConversationsSession({ client: openai }) })],
  ])('runs two tools at once, with %s', async (_, name) => {
    const options = await name();
    const first = await openRunner().run(openAgent(), asked, options);
    expect(first.finalOutput).toBe(BOTH);
    const named = 'previousResponseId' in options ? { previousResponseId: first.lastResponseId } : options;
    const second = await openRunner().run(openAgent(), 'history', named as typeof options);
    expect(second.finalOutput).toContain(`tool: noon / assistant: ${BOTH} / user: history`);
  });

  test.each([true, false])('runs two tools at once in a stream (Responses API: %s)', async (useResponses) => {
    const stream = await openRunner(useResponses).run(openAgent(), asked, { stream: true });
    await stream.completed;
    expect(stream.finalOutput).toBe(BOTH);
  });

  test('stores nothing and chooses a tool, as the settings of its model say', async () => {
    const before = await fixture.http.client.conversations();
    const agent = openAgent({ modelSettings: { store: false, toolChoice: 'weather_of' } });
    const result = await openRunner().run(agent, 'use weather_of');
    expect(result.finalOutput).toBe('Results: 21 degrees');
    expect(await fixture.http.client.conversations()).toEqual(before);
  });

  test('reports a response that failed by its error', async () => {
    await expect(openRunner().run(openAgent(), 'fail')).rejects.toThrow(/model is broken|failed/);
  });
});

async function join(chunks: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> {
  let joined: AIMessageChunk | undefined;
  for await (const chunk of chunks) joined = joined?.concat(chunk) ?? chunk;
  if (joined === undefined) throw new Error('the stream has no chunk');
  return joined;
}

describe('@langchain/openai', () => {
  const openChat = (useResponsesApi: boolean, more: object = {}) =>
    new ChatOpenAI({
      model: 'support',
      apiKey: 'none',
      maxRetries: 0,
      useResponsesApi,
      configuration: { baseURL: fixture.baseUrl },
      ...more,
    });
  const tools = [
    langchainTool(async () => '21 degrees', { name: 'weather_of', description: 'Weather', schema: place }),
    langchainTool(async () => 'noon', { name: 'time_of', description: 'Time', schema: place }),
  ];

  test.each([false, true])(
    'streams two calls, and goes on from their results (Responses API: %s)',
    async (useResponses) => {
      const bound = openChat(useResponses).bindTools(tools);
      const question = new HumanMessage(`use weather_of,time_of`);
      const message = await join(await bound.stream([question]));
      const calls = message.tool_calls ?? [];
      expect(calls.map(({ name, args }) => [name, args])).toEqual([
        ['weather_of', { city: 'Bern' }],
        ['time_of', { city: 'Bern' }],
      ]);
      const results: ToolMessage[] = [];
      for (const [index, call] of calls.entries()) {
        const result: unknown = await tools[index]?.invoke({ ...call, type: 'tool_call' } as never);
        results.push(result as ToolMessage);
      }
      expect((await bound.invoke([question, message, ...results])).text).toBe(BOTH);
    },
  );

  test.each([false, true])(
    'writes an answer in a form by the Responses API and by a chat (%s)',
    async (useResponses) => {
      const formed = openChat(useResponses).withStructuredOutput(weather, { name: 'weather', method: 'jsonSchema' });
      expect(await formed.invoke('weather')).toEqual({ city: 'Bern', degrees: 21 });
    },
  );

  test('counts the tokens of a stream', async () => {
    const { usage_metadata: usage } = await join(await openChat(false).stream('hello tokens'));
    expect(usage).toMatchObject({ input_tokens: 10, output_tokens: 5 });
  });
});

describe('the provider of OpenAI in the AI SDK', () => {
  const open = () => createOpenAI({ baseURL: fixture.baseUrl, apiKey: 'none' });
  const tools = {
    weather_of: aiTool({ inputSchema: place, execute: async () => '21 degrees' }),
    time_of: aiTool({ inputSchema: place, execute: async () => 'noon' }),
  };
  const prompt = 'use weather_of,time_of';

  test.each(['responses', 'chat'] as const)('runs two tools at once, and writes a form (%s)', async (kind) => {
    const model = open()[kind]('support');
    const called = await generateText({ model, prompt, tools, stopWhen: stepCountIs(3) });
    expect(called.text).toBe(BOTH);
    const streamed = streamText({ model, prompt, tools, stopWhen: stepCountIs(3) });
    expect(await streamed.text).toBe(BOTH);
    const { output } = await generateText({ model, prompt: 'weather', output: Output.object({ schema: weather }) });
    expect(output).toEqual({ city: 'Bern', degrees: 21 });
  });

  test('shows the error of a stream whose turn failed', async () => {
    for (const kind of ['responses', 'chat'] as const) {
      const errors: unknown[] = [];
      const model = open()[kind]('support');
      const stream = streamText({
        model,
        prompt: 'fail',
        maxRetries: 0,
        onError: ({ error }) => void errors.push(error),
      });
      await stream.consumeStream();
      expect(JSON.stringify(errors.map(String)), kind).toContain('the model is broken');
    }
  });

  test('continues a conversation that it names', async () => {
    const model = open().responses('support');
    const providerOptions = { openai: { conversation: 'named-by-ai-sdk' } };
    await generateText({ model, prompt: 'hello', providerOptions });
    const { text } = await generateText({ model, prompt: 'history', providerOptions });
    expect(text).toBe('user: hello / assistant: heard hello / user: history');
  });

  test.each(['responses', 'chat'] as const)('runs its own tools in version 6 of the AI SDK (%s)', async (kind) => {
    const model = createOpenAi3({ baseURL: fixture.baseUrl, apiKey: 'none' })[kind]('support');
    const own = { weather_of: aiTool6({ inputSchema: place, execute: async () => '21 degrees' }) };
    const first = await generateText6({ model, prompt: 'use weather_of', tools: own, stopWhen: stepCountIs6(3) });
    expect(first.text).toBe('Results: 21 degrees');
    const user = (content: string) => ({ role: 'user' as const, content });
    const messages = [user('use weather_of'), ...first.response.messages, user('use weather_of')];
    const second = await generateText6({ model, messages, tools: own, stopWhen: stepCountIs6(3) });
    expect(second.text).toBe('Results: 21 degrees');
  });
});
