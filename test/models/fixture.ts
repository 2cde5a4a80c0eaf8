import type { Message } from '../../src/domain/message.ts';
import type { Model, ModelProfile, ModelRequest } from '../../src/domain/model.ts';
import type { WireFormat } from '../../src/domain/raw-items.ts';
import { anthropicModel } from '../../src/providers/anthropic/anthropic-model.ts';
import { chatModel } from '../../src/providers/openai/chat-model.ts';
import { responsesModel } from '../../src/providers/openai/responses-model.ts';
import type { Provider } from '../provider/provider.ts';

export const KEY = 'sk-test-0000';

export const PROFILE: ModelProfile = {
  id: 'model-1',
  encoding: 'o200k_base',
  windowTokens: 200_000,
  outputCapTokens: 4_096,
  upperBoundFactor: 1.1,
};

export interface ConnectOptions {
  readonly profile?: ModelProfile;
  readonly apiKey?: string;
}

export function connect(
  format: WireFormat,
  { url }: Pick<Provider, 'url'>,
  { profile = PROFILE, apiKey = KEY }: ConnectOptions = {},
): Model {
  switch (format) {
    case 'anthropic':
      return anthropicModel({ profile, apiKey, baseUrl: url, thinking: { type: 'budget', budgetTokens: 1_024 } });
    case 'openai-chat':
      return chatModel({ profile, apiKey, baseUrl: `${url}/v1` });
    case 'openai-responses':
      return responsesModel({ profile, apiKey, baseUrl: `${url}/v1` });
  }
}

export const READ = {
  name: 'read',
  description: 'Read a file.',
  parameters: { type: 'object', properties: { path: { type: 'string' } } },
};

export function ask(messages: readonly Message[], changes: Partial<ModelRequest> = {}): ModelRequest {
  return {
    system: 'You look things up.',
    tools: [READ],
    messages,
    tokens: 100,
    version: 0,
    idempotencyKey: 'talk/t1/model-1',
    signal: new AbortController().signal,
    ...changes,
  };
}
