import { fieldError } from '../domain/errors.ts';
import type { Model, ModelProfile } from '../domain/model.ts';
import type { ModelOptions } from '../domain/model-options.ts';
import { anthropicModel } from '../providers/anthropic/anthropic-model.ts';
import { CATALOGUE_DATA, type Catalogue, findProfile } from '../providers/catalogue/catalogue.ts';
import { chatModel } from '../providers/openai/chat-model.ts';
import { responsesModel } from '../providers/openai/responses-model.ts';
import { type ProviderSetting, type ProviderSettings, readProviderKey, readProviderSettings } from './config.ts';

/** OpenAI models that refuse requests with reasoning options. */
const WITHOUT_REASONING = /^(?:gpt-[34]|chatgpt-4)/;

export interface ResolveOptions extends ModelOptions {
  /** Profiles of models that the built-in catalogue lacks. */
  readonly catalogue?: Catalogue;
  /** Fields that override the model's profile in the catalogue. */
  readonly profile?: Partial<Omit<ModelProfile, 'id'>>;
  /** API keys and addresses to use instead of those in the environment. */
  readonly settings?: ProviderSettings;
  /** API key of this model. Default: the key of its provider. */
  readonly apiKey?: string;
  /** Environment variable that holds the key of this model. With `_FILE` at its end, the variable names a file. */
  readonly apiKeyVariable?: string;
  /** Address of a gateway or a compatible server. Default: the provider's own. */
  readonly baseUrl?: string;
}

interface Route {
  readonly format: 'anthropic' | 'openai-responses' | 'openai-chat';
  readonly maker: string;
  readonly setting: ProviderSetting;
  readonly outputCapField?: ModelOptions['outputCapField'];
}

/**
 * Creates a model from its name: `anthropic/…`, `openai/…` (Responses API) or `openai-chat/…` (Chat Completions API,
 * also of compatible servers). Other providers of the catalogue have their own names, such as `deepseek/…`. The API key
 * comes from an environment variable, or from the file that its `_FILE` variable names.
 * @throws invalid_config for an unknown model, a missing key or an invalid option, with the field or variable
 */
export function resolveModel(name: string, given: ResolveOptions = {}): Model {
  const { catalogue, profile: changes, settings, apiKey, apiKeyVariable, baseUrl, ...options } = given;
  const [, provider = '', model = ''] = /^([^/]+)\/(.+)$/.exec(name) ?? [];
  const { format, maker, setting, ...route } = findRoute(provider, settings);
  const profile = { ...findProfile(maker, model, catalogue), ...changes };
  const connection = { profile, ...readConnection(name, setting, { apiKey, apiKeyVariable, baseUrl }) };
  if (format === 'anthropic') return anthropicModel({ ...options, ...connection });
  if (format === 'openai-chat') {
    const { outputCapField = route.outputCapField } = options;
    return chatModel({ ...options, ...(outputCapField !== undefined && { outputCapField }), ...connection });
  }
  const { efforts } = profile.abilities ?? {};
  const isReasoning = efforts === undefined ? !WITHOUT_REASONING.test(model) : efforts.length > 0;
  return responsesModel({ ...options, ...connection, isReasoning });
}

interface Connection {
  readonly apiKey: string;
  readonly baseUrl?: string;
}

type GivenConnection = { readonly [Name in 'apiKey' | 'apiKeyVariable' | 'baseUrl']: string | undefined };

function readConnection(name: string, setting: ProviderSetting, given: GivenConnection): Connection {
  const { apiKeyVariable: variable, baseUrl = setting.baseUrl } = given;
  const { apiKey = variable === undefined ? setting.apiKey : readProviderKey(variable) } = given;
  if (apiKey === undefined || apiKey === '') {
    const missing = variable ?? setting.keyVariable;
    const why = `not set, but ${name} needs an API key. Set this variable or ${missing}_FILE`;
    throw fieldError('invalid_config', missing, why);
  }
  if (baseUrl === undefined) return { apiKey };
  if (/^https?:\/\/./i.test(baseUrl)) return { apiKey, baseUrl };
  throw fieldError('invalid_config', 'baseUrl', 'expected an address that begins with http:// or https://');
}

function findRoute(provider: string, given: ProviderSettings | undefined): Route {
  const settings = given ?? readProviderSettings();
  if (provider === 'anthropic') return { format: 'anthropic', maker: provider, setting: settings.anthropic };
  if (provider === 'openai') return { format: 'openai-responses', maker: provider, setting: settings.openai };
  if (provider === 'openai-chat') return { format: 'openai-chat', maker: 'openai', setting: settings.openai };
  const { providers } = CATALOGUE_DATA;
  const listed = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  if (listed === undefined)
    throw fieldError(
      'invalid_config',
      'model',
      `expected anthropic/…, openai/…, openai-chat/… or ${Object.keys(providers).join('/…, ')}/…`,
    );
  const { keyVariable, baseUrl, outputCapField } = listed;
  const setting = { keyVariable, baseUrl, apiKey: readProviderKey(keyVariable) };
  return { format: 'openai-chat', maker: provider, setting, outputCapField };
}
