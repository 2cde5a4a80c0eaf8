import { createOpenAI } from '@ai-sdk/openai';
import { HumanMessage, SystemMessage } from '@langchain/core/messages';
import { tool as langchainTool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { Agent, OpenAIConversationsSession, OpenAIProvider, Runner, tool } from '@openai/agents';
import { tool as aiTool, generateText, stepCountIs, streamText } from 'ai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createSupport, type OpenAiFixture, openOpenAiFixture } from './openai-fixture.ts';

let fixture: OpenAiFixture;
beforeAll(async () => {
  const answer = z.object({ city: z.string(), degrees: z.number() });
  fixture = await openOpenAiFixture([createSupport(), createSupport('typed', { answer })]);
});
afterAll(() => fixture.http.close());

describe('@openai/agents', () => {
  const asked: string[] = [];
  const weatherOf = tool({
    name: 'weather_of',
    description: 'Weather of a city',
    parameters: z.object({ city: z.string() }),
    execute: async ({ city }) => {
      asked.push(city);
      return '21 degrees';
    },
  });
  const runner = (useResponses = true): Runner => {
    const modelProvider = new OpenAIProvider({ openAIClient: fixture.openai, useResponses });
    return new Runner({ modelProvider, tracingDisabled: true });
  };

  test.each([true, false])('an agent runs its own tools (Responses API: %s)', async (useResponses) => {
    const agent = new Agent({ name: 'A', instructions: 'Be brief.', model: 'support', tools: [weatherOf] });
    const result = await runner(useResponses).run(agent, 'use weather_of');
    expect(result.finalOutput).toBe('Results: 21 degrees');
    expect(asked.splice(0)).toEqual(['Bern']);
  });

  test('an agent goes on from its history, with items of tools that the worker ran', async () => {
    const agent = new Agent({ name: 'A', model: 'support' });
    const first = await runner().run(agent, 'use find_order');
    expect(first.finalOutput).toBe('Results: a blue jacket');
    const second = await runner().run(agent, [...first.history, { role: 'user', content: 'history' }]);
    expect(second.finalOutput).toContain('tool: a blue jacket / assistant: Results: a blue jacket / user: history');
  });

  test('an agent hands over to another one, which has its own instructions and tools', async () => {
    const other = new Agent({ name: 'Other', instructions: 'I am the other one.', model: 'support' });
    const agent = new Agent({ name: 'A', instructions: 'Hand over.', model: 'support', handoffs: [other] });
    const result = await runner().run(agent, 'pass transfer_to_Other');
    const heard = 'heard Continue with these results.';
    expect([result.finalOutput, result.lastAgent?.name]).toEqual([heard, 'Other']);
  });

  test('an agent streams, keeps a session, and has a form of its answer', async () => {
    const agent = new Agent({ name: 'A', model: 'support' });
    const stream = await runner().run(agent, 'hello', { stream: true });
    let text = '';
    for await (const piece of stream.toTextStream()) text += piece;
    await stream.completed;
    expect(text).toBe('heard hello');
    const session = new OpenAIConversationsSession({ client: fixture.openai });
    await runner().run(agent, 'hello', { session });
    const second = await runner().run(agent, 'history', { session });
    expect(second.finalOutput).toBe('user: hello / assistant: heard hello / user: history');
    const outputType = z.object({ city: z.string(), degrees: z.number() });
    const formed = await runner().run(new Agent({ name: 'A', model: 'support', outputType }), 'weather');
    expect(formed.finalOutput).toEqual({ city: 'Bern', degrees: 21 });
  });
});

describe('the provider of OpenAI in the AI SDK', () => {
  const modelOf = (kind: 'responses' | 'chat') => {
    const provider = createOpenAI({ baseURL: fixture.baseUrl, apiKey: 'none' });
    return kind === 'responses' ? provider.responses('support') : provider.chat('support');
  };
  const tools = {
    weather_of: aiTool({ inputSchema: z.object({ city: z.string() }), execute: async () => '21 degrees' }),
  };

  test.each(['responses', 'chat'] as const)('generates, streams and runs its own tools (%s)', async (kind) => {
    const model = modelOf(kind);
    expect((await generateText({ model, prompt: `hello ${kind}` })).text).toBe(`heard hello ${kind}`);
    expect(await streamText({ model, prompt: `hi ${kind}` }).text).toBe(`heard hi ${kind}`);
    const stopWhen = stepCountIs(3);
    const called = await generateText({ model, prompt: 'use weather_of', tools, stopWhen });
    expect([called.text, called.steps.length]).toEqual(['Results: 21 degrees', 2]);
    const streamed = streamText({ model, prompt: 'use weather_of', tools, stopWhen });
    expect(await streamed.text).toBe('Results: 21 degrees');
  });

  test.each(['responses', 'chat'] as const)('goes on from messages that it got (%s)', async (kind) => {
    const model = modelOf(kind);
    const first = await generateText({ model, prompt: 'use find_order' });
    const messages = [
      { role: 'user' as const, content: 'use find_order' },
      ...first.response.messages,
      { role: 'user' as const, content: 'history' },
    ];
    expect((await generateText({ model, messages })).text).toMatch(/a blue jacket \/ user: history$/);
  });

  test('goes on without storing responses', async () => {
    const providerOptions = { openai: { store: false } };
    const model = modelOf('responses');
    const stopWhen = stepCountIs(3);
    const called = await generateText({ model, prompt: 'use weather_of', tools, stopWhen, providerOptions });
    expect(called.text).toBe('Results: 21 degrees');
  });
});

describe('@langchain/openai', () => {
  const openChat = (useResponsesApi: boolean) =>
    new ChatOpenAI({
      model: 'support',
      apiKey: 'none',
      maxRetries: 0,
      useResponsesApi,
      configuration: { baseURL: fixture.baseUrl },
    });

  test.each([false, true])('invokes, streams and runs its own tools (Responses API: %s)', async (useResponsesApi) => {
    const chat = openChat(useResponsesApi);
    const hello = `hello ${useResponsesApi}`;
    expect((await chat.invoke([new SystemMessage('Be brief.'), new HumanMessage(hello)])).text).toBe(`heard ${hello}`);
    let text = '';
    for await (const chunk of await chat.stream(hello)) text += chunk.text;
    expect(text).toBe(`heard ${hello}`);
    const weatherOf = langchainTool(async () => '21 degrees', {
      name: 'weather_of',
      description: 'Weather of a city',
      schema: z.object({ city: z.string() }),
    });
    const bound = chat.bindTools([weatherOf]);
    const question = new HumanMessage('use weather_of');
    const asked = await bound.invoke([question]);
    const [call] = asked.tool_calls ?? [];
    expect(call).toMatchObject({ name: 'weather_of', args: { city: 'Bern' } });
    const result = await weatherOf.invoke({ ...call, type: 'tool_call' } as never);
    expect((await bound.invoke([question, asked, result])).text).toBe('Results: 21 degrees');
  });

  test('writes an answer in a form', async () => {
    const schema = z.object({ city: z.string(), degrees: z.number() });
    const formed = openChat(false).withStructuredOutput(schema, { name: 'weather', method: 'jsonSchema' });
    expect(await formed.invoke('weather')).toEqual({ city: 'Bern', degrees: 21 });
  });
});
