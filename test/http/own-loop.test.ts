import type { MessageParam } from '@anthropic-ai/sdk/resources/messages';
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createTalker } from '../client/fixture.ts';
import { connectAnthropic, connectOpenAi } from '../provider/clients.ts';
import { type Provider, startProvider } from '../provider/provider.ts';
import type { ProviderRequest } from '../provider/script.ts';
import { type HttpFixture, openHttpFixture } from './fixture.ts';

const WINDOW_TOKENS = 6_000;
/** Tokens below which a program sends its next request. Above them, it waits for the compaction. */
const MAX_TOKENS = 3_500;
const TURNS = 15;
const LONG = 'and so on and on '.repeat(80);

let http: HttpFixture;
beforeAll(async () => {
  http = await openHttpFixture();
  // The model of this agent is never called: its policy compacts what the programs append.
  const policy = { maxTokens: 1_500, tokenThreshold: 2_500, retentionWindow: 2 };
  await http.startWorkers([{ ...createTalker(), name: 'own', policy }]);
});
afterAll(() => http.close());

/** A provider that refuses requests above its window. It answers every user message with a call, then with a text. */
async function openProvider(): Promise<Provider> {
  const answers = ({ body }: ProviderRequest) => {
    const last = (body['messages'] as { role: string; content: unknown }[]).at(-1);
    const isResult = last?.role === 'tool' || JSON.stringify(last?.content).includes('tool_result');
    return isResult ? { text: `Looked up. ${LONG}` } : { calls: [{ name: 'look_up', arguments: { order: '4711' } }] };
  };
  const provider = await startProvider({ answers, strict: { windowTokens: WINDOW_TOKENS } });
  onTestFinished(() => provider[Symbol.asyncDispose]());
  return provider;
}

async function append(conversation: string, ...messages: object[]): Promise<void> {
  const path = `/v1/conversations/${conversation}/messages`;
  const { status } = await http.call('POST', path, { body: { agent: 'own', messages } });
  expect(status).toBe(201);
}

interface ContextAnswer {
  readonly tokens: number;
  readonly version: number;
  readonly body: { readonly messages: unknown[] };
}

/** Reads the context once it is small enough. */
async function readContext(conversation: string, format: string): Promise<ContextAnswer> {
  const path = `/v1/conversations/${conversation}/context?format=${format}`;
  const read = async () => (await http.call<ContextAnswer>('GET', path)).body;
  await expect.poll(async () => (await read()).tokens).toBeLessThan(MAX_TOKENS);
  return await read();
}

/** Sums up what the provider and the log have seen of a program. */
async function report(provider: Provider, conversation: string) {
  const log = await http.client.log(conversation);
  return {
    requests: provider.requests.length,
    refused: provider.requests.filter(({ refusal }) => refusal !== undefined).length,
    messages: log.length,
    isLonger: log.reduce((sum, { tokens }) => sum + tokens, 0) > WINDOW_TOKENS,
    isCompacted: (await http.client.versions(conversation)).length > 0,
  };
}

const BELOW_WINDOW = { requests: 2 * TURNS, refused: 0, messages: 4 * TURNS, isLonger: true, isCompacted: true };

test('a program with the OpenAI SDK and its own model loop keeps its context below the model window', async () => {
  const provider = await openProvider();
  const openai = connectOpenAi(provider);
  const tools = [{ type: 'function' as const, function: { name: 'look_up', parameters: { type: 'object' } } }];
  const ask = async () => {
    const { body } = await readContext('openai', 'openai-chat');
    const messages = [{ role: 'system', content: 'You help.' }, ...body.messages] as ChatCompletionMessageParam[];
    const { choices } = await openai.chat.completions.create({ model: 'gpt-test', messages, tools });
    const message = choices[0]?.message;
    await append('openai', message ?? {});
    return message;
  };
  for (let turn = 0; turn < TURNS; turn += 1) {
    await append('openai', { role: 'user', content: `Where is order ${turn}?` });
    for (let message = await ask(); message?.tool_calls !== undefined; message = await ask()) {
      const results = message.tool_calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'shipped' }));
      await append('openai', ...results);
    }
  }
  expect(await report(provider, 'openai')).toEqual(BELOW_WINDOW);
});

test('a program with the Anthropic SDK and its own model loop keeps its context below the model window', async () => {
  const provider = await openProvider();
  const anthropic = connectAnthropic(provider);
  const tools = [{ name: 'look_up', input_schema: { type: 'object' as const } }];
  const ask = async () => {
    const { body } = await readContext('anthropic', 'anthropic');
    const request = { model: 'claude-test', max_tokens: 500, system: 'You help.', tools };
    const { content } = await anthropic.messages.create({ ...request, messages: body.messages as MessageParam[] });
    const calls = content.flatMap((block) => (block.type === 'tool_use' ? [block] : []));
    const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    const toolCalls = calls.map(({ id, name, input }) => ({ id, name, arguments: JSON.stringify(input) }));
    await append('anthropic', { role: 'assistant', content: text, ...(toolCalls.length > 0 && { toolCalls }) });
    return calls;
  };
  for (let turn = 0; turn < TURNS; turn += 1) {
    await append('anthropic', { role: 'user', content: `Where is order ${turn}?` });
    for (let calls = await ask(); calls.length > 0; calls = await ask()) {
      await append('anthropic', ...calls.map(({ id }) => ({ role: 'tool', toolCallId: id, content: 'shipped' })));
    }
  }
  expect(await report(provider, 'anthropic')).toEqual(BELOW_WINDOW);
});
