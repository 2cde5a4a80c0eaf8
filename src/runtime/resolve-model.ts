import { type ProviderSettings, readProviderSettings } from '../config.ts';
import { TurnfoldError } from '../domain/errors.ts';
import type { Model, ModelProfile } from '../domain/model.ts';
import { anthropicModel } from '../models/anthropic/anthropic-model.ts';
import { type Catalogue, findProfile } from '../models/catalogue.ts';
import { chatModel } from '../models/openai/chat-model.ts';
import { responsesModel } from '../models/openai/responses-model.ts';
import type { AnthropicThinking } from '../wire/anthropic/body.ts';

/** OpenAI models that refuse requests with reasoning options. */
const WITHOUT_REASONING = /^(?:gpt-[34]|chatgpt-4)/;

export interface ResolveOptions {
  /** Profiles of models that the built-in catalogue lacks. */
  readonly catalogue?: Catalogue;
  /** Fields that override the model's profile in the catalogue. */
  readonly profile?: Partial<Omit<ModelProfile, 'id'>>;
  /** API keys and addresses to use instead of those in the environment. */
  readonly settings?: ProviderSettings;
  /** Extended thinking of an Anthropic model (default off). Newer models require `adaptive`. */
  readonly thinking?: AnthropicThinking;
}

/**
 * Creates a model from a name such as `anthropic/…`, `openai/…` (Responses API) or `openai-chat/…` (Chat Completions
 * API, also for compatible servers). The API key comes from an environment variable, or from the file that its `_FILE`
 * variable names.
 * @throws invalid_config for an unknown model, a missing key or an invalid option, with the field or variable
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
  if (apiKey === undefined)
    throw refuse(keyVariable, `not set, but ${name} needs an API key. Set this variable or ${keyVariable}_FILE`);
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
