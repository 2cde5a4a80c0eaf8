import { type ProviderSettings, readProviderSettings } from '../config.ts';
import { TurnfoldError } from '../domain/errors.ts';
import type { Model, ModelProfile } from '../domain/model.ts';
import { anthropicModel } from '../models/anthropic/anthropic-model.ts';
import { type Catalogue, findProfile } from '../models/catalogue.ts';
import { chatModel } from '../models/openai/chat-model.ts';
import { responsesModel } from '../models/openai/responses-model.ts';

/** OpenAI's models from before reasoning. */
const WITHOUT_REASONING = /^(?:gpt-[34]|chatgpt-4)/;

export interface ResolveOptions {
  readonly catalogue?: Catalogue;
  /** over the catalogue's */
  readonly profile?: Partial<Omit<ModelProfile, 'id'>>;
  readonly settings?: ProviderSettings;
}

/**
 * A model by its name: `anthropic/…`, `openai/…` (Responses) or `openai-chat/…` (Chat Completions, and every server that
 * speaks it). The key comes from the environment or a file that it names.
 * @throws invalid_config, with the field or variable
 */
export function resolveModel(name: string, options: ResolveOptions = {}): Model {
  const settings = options.settings ?? readProviderSettings();
  const [, provider = '', model = ''] = /^([^/]+)\/(.+)$/.exec(name) ?? [];
  const maker = provider === 'openai-chat' ? 'openai' : provider;
  if (maker !== 'anthropic' && maker !== 'openai') {
    const field = 'model';
    throw new TurnfoldError('invalid_config', `${field}: expected anthropic/…, openai/… or openai-chat/…`, { field });
  }
  const profile = { ...findProfile(maker, model, options.catalogue), ...options.profile };
  const { apiKey, baseUrl, keyVariable } = settings[maker];
  if (apiKey === undefined) {
    const field = keyVariable;
    throw new TurnfoldError('invalid_config', `${field}: is not set, nor ${field}_FILE; ${name} needs a key`, {
      field,
    });
  }
  const connection = { profile, apiKey, ...(baseUrl === undefined ? {} : { baseUrl }) };
  if (provider === 'anthropic') return anthropicModel(connection);
  return provider === 'openai'
    ? responsesModel({ ...connection, isReasoning: !WITHOUT_REASONING.test(model) })
    : chatModel(connection);
}
