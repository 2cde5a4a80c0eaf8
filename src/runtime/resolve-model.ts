import { type ProviderSettings, readProviderSettings } from '../config.ts';
import { TurnfoldError } from '../domain/errors.ts';
import type { Model, ModelProfile } from '../domain/model.ts';
import { anthropicModel } from '../models/anthropic/anthropic-model.ts';
import { type Catalogue, findProfile } from '../models/catalogue.ts';
import { chatModel } from '../models/openai/chat-model.ts';
import { responsesModel } from '../models/openai/responses-model.ts';
import type { AnthropicThinking } from '../wire/anthropic/body.ts';

/** OpenAI models that refuse the options of reasoning. */
const WITHOUT_REASONING = /^(?:gpt-[34]|chatgpt-4)/;

export interface ResolveOptions {
  /** Models in addition to the built-in catalogue. */
  readonly catalogue?: Catalogue;
  /** Fields that replace those of the catalogue. */
  readonly profile?: Partial<Omit<ModelProfile, 'id'>>;
  /** Keys and addresses, instead of those in the environment. */
  readonly settings?: ProviderSettings;
  /** Thinking of an Anthropic model (off). Newer models require `adaptive`. */
  readonly thinking?: AnthropicThinking;
}

/**
 * Creates a model by name: `anthropic/…`, `openai/…` (Responses) or `openai-chat/…` (Chat Completions, also for
 * compatible servers). The key comes from the environment or from the file named there.
 * @throws invalid_config, with the field or variable
 */
export function resolveModel(name: string, options: ResolveOptions = {}): Model {
  const settings = options.settings ?? readProviderSettings();
  const [, provider = '', model = ''] = /^([^/]+)\/(.+)$/.exec(name) ?? [];
  const maker = provider === 'openai-chat' ? 'openai' : provider;
  if (maker !== 'anthropic' && maker !== 'openai') {
    throw refuse('model', `expected anthropic/…, openai/… or openai-chat/…`);
  }
  const { thinking } = options;
  if (thinking !== undefined && provider !== 'anthropic') {
    throw refuse('thinking', 'only anthropic/… models have this option');
  }
  const profile = { ...findProfile(maker, model, options.catalogue), ...options.profile };
  const { apiKey, baseUrl, keyVariable } = settings[maker];
  if (apiKey === undefined) throw refuse(keyVariable, `set this or ${keyVariable}_FILE. ${name} needs a key`);
  const connection = { profile, apiKey, ...(baseUrl === undefined ? {} : { baseUrl }) };
  if (provider === 'anthropic')
    return anthropicModel({ ...connection, ...(thinking === undefined ? {} : { thinking }) });
  return provider === 'openai'
    ? responsesModel({ ...connection, isReasoning: !WITHOUT_REASONING.test(model) })
    : chatModel(connection);
}

function refuse(field: string, why: string): TurnfoldError {
  return new TurnfoldError('invalid_config', `${field}: ${why}`, { field });
}
