import { Anthropic } from '@anthropic-ai/sdk';
import { OpenAI } from 'openai';
import type { JsonObject } from './json.ts';
import type { Provider } from './provider.ts';

const KEY = 'sk-test-0000';
export type Format = 'anthropic' | 'openai-chat' | 'openai-responses';
const PATHS: Readonly<Record<Format, string>> = {
  anthropic: '/v1/messages',
  'openai-chat': '/v1/chat/completions',
  'openai-responses': '/v1/responses',
};

/** Returns the SDK client of the test server. Retries are off, so that each fault is visible. */
export function connectAnthropic({ url }: Pick<Provider, 'url'>, apiKey = KEY): Anthropic {
  return new Anthropic({ apiKey, baseURL: url, maxRetries: 0, logLevel: 'off' });
}

export function connectOpenAi({ url }: Pick<Provider, 'url'>, apiKey = KEY): OpenAI {
  return new OpenAI({ apiKey, baseURL: `${url}/v1`, maxRetries: 0, logLevel: 'off' });
}

export async function collect<Event>(stream: AsyncIterable<Event>): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

export interface RawReply {
  readonly status: number;
  readonly text: string;
}

/** Sends a request body that the SDK's types would not allow. */
export async function postRaw(
  { url }: Pick<Provider, 'url'>,
  format: Format,
  body: JsonObject,
  headers: Readonly<Record<string, string>> = {},
): Promise<RawReply> {
  const response = await fetch(url + PATHS[format], {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-api-key': KEY,
      authorization: `Bearer ${KEY}`,
      'anthropic-version': '2023-06-01',
      ...headers,
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

/** Asks one question through the SDK of a format, streamed or not, and resolves when the answer has ended. */
export type Asking = (provider: Pick<Provider, 'url'>, isStream: boolean, signal?: AbortSignal) => Promise<unknown>;

const question = { role: 'user', content: 'Look.' } as const;

export const ASKINGS: Readonly<Record<Format, Asking>> = {
  anthropic: async (provider, isStream, signal) => {
    const { messages } = connectAnthropic(provider);
    const params = { model: 'claude-opus-5-5', max_tokens: 100, messages: [question] };
    return isStream
      ? (await collect(await messages.create({ ...params, stream: true }, { signal }))).at(-1)
      : messages.create(params, { signal });
  },
  'openai-chat': async (provider, isStream, signal) => {
    const { completions } = connectOpenAi(provider).chat;
    const params = { model: 'gpt-6-astra', messages: [question] };
    return isStream
      ? (await collect(await completions.create({ ...params, stream: true }, { signal }))).at(-1)
      : completions.create(params, { signal });
  },
  'openai-responses': async (provider, isStream, signal) => {
    const { responses } = connectOpenAi(provider);
    const params = { model: 'gpt-6-astra', input: [question] };
    return isStream
      ? (await collect(await responses.create({ ...params, stream: true }, { signal }))).at(-1)
      : responses.create(params, { signal });
  },
};

export const FORMATS = Object.keys(ASKINGS) as readonly Format[];
