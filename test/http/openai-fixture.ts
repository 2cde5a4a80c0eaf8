import { OpenAI } from 'openai';
import { z } from 'zod';
import { createProtocols } from '../../src/api/http/index.ts';
import type { Agent } from '../../src/domain/agent.ts';
import { ModelError, type ModelRequest } from '../../src/domain/model.ts';
import { readParts } from '../../src/domain/parts.ts';
import { type ScriptedOutcome, scriptedModel } from '../../src/providers/scripted.ts';
import { type HttpFixture, openHttpFixture } from './fixture.ts';

/** Gates by name. The input `hold x` streams a word, then waits for the gate x. */
export const gates = new Map<string, PromiseWithResolvers<void>>();

const order = z.object({ order: z.string().optional() });

/** An agent that shows what its model gets. Its input says what it does. */
export function createSupport(name = 'support', settings: Partial<Agent> = {}): Agent {
  return {
    name,
    system: 'You support.',
    policy: {},
    tools: [
      { name: 'find_order', description: 'runs in the worker', input: order, run: async () => 'a blue jacket' },
      { name: 'refund', description: 'needs approval', input: order, needsApproval: true, run: async () => 'refunded' },
    ],
    model: scriptedModel({ decide, profile: { windowTokens: 200_000 } }),
    ...settings,
  };
}

const usage = { inputTotal: 10, output: 5, outputKept: 5 };

function decide(request: ModelRequest): ScriptedOutcome {
  const { messages } = request;
  const last = messages.at(-1);
  if (last?.role === 'tool') {
    const from = messages.findLastIndex(({ role }) => role !== 'tool') + 1;
    const results = messages.slice(from).map(({ content }) => content);
    return { content: `Results: ${results.join(' | ')}`, usage };
  }
  return { ...answer(last?.content ?? '', request), usage };
}

function answer(text: string, { messages, tools, system, maxOutputTokens }: ModelRequest) {
  const [word = '', rest = ''] = text.split(/ (.*)/s);
  if (word === 'fail') throw new ModelError('fatal', 'the model is broken');
  if (word === 'use') {
    const names = rest.split(',');
    const missing = names.find((name) => !tools.some((tool) => tool.name === name));
    if (missing !== undefined) return { content: `no tool ${missing}` };
    return { content: 'One moment.', toolCalls: names.map((name) => ({ name, arguments: { city: 'Bern' } })) };
  }
  if (word === 'pass') return { toolCalls: [{ name: rest, arguments: {} }] };
  if (word === 'system') return { content: system };
  if (word === 'weather') return { content: JSON.stringify({ city: 'Bern', degrees: 21 }) };
  if (word === 'limit') return { content: `limit ${maxOutputTokens}` };
  if (word === 'cut') return { content: 'The first half', end: 'cut_off' as const };
  if (word === 'refuse') return { content: 'I cannot do this.', end: 'refusal' as const };
  if (word === 'think') return { reasoning: 'Hm.', content: 'I have thought.' };
  if (word === 'hold') return { content: hold(rest) };
  if (word === 'parts') {
    const kinds = messages.flatMap((message) => readParts(message).map(({ kind }) => kind));
    return { content: `parts ${kinds.join(',')}` };
  }
  if (word === 'history') {
    return { content: messages.map(({ role, content }) => `${role}: ${content}`).join(' / ') };
  }
  return { content: `heard ${text}` };
}

async function* hold(name: string): AsyncGenerator<string> {
  yield 'One ';
  await gates.get(name)?.promise;
  yield 'two.';
}

export interface OpenAiFixture {
  readonly http: HttpFixture;
  readonly openai: OpenAI;
  readonly baseUrl: string;
}

/** A worker, and a server with the APIs of OpenAI. */
export async function openOpenAiFixture(agents = [createSupport()]): Promise<OpenAiFixture> {
  const http = await openHttpFixture();
  await http.startWorkers(agents);
  const { url } = await http.serve({ protocols: createProtocols({ client: http.client, agent: 'support' }) });
  const baseUrl = `${url}/openai/v1`;
  return { http, baseUrl, openai: new OpenAI({ baseURL: baseUrl, apiKey: 'none', maxRetries: 0 }) };
}
