import OpenAI, { APIError } from 'openai';
import type { ModelProfile } from '../../domain/model.ts';
import { isMapping } from '../../domain/parse.ts';
import { errorClassifier, type ProviderFailure, readErrorFields } from '../provider-errors.ts';
import { dropForeignHeaders, openAgent, sdkOptions } from '../provider-fetch.ts';
import { END_MARK, type SdkAccess } from '../received-events.ts';

export interface OpenAiOptions {
  /** Properties of the model. `id` is the model's name at its provider. */
  readonly profile: ModelProfile;
  /** API key of the OpenAI account or the compatible server, which the client sends with each request. */
  readonly apiKey: string;
  /** Address of an OpenAI-compatible server, including its `/v1`. */
  readonly baseUrl?: string;
  /**
   * True if requests carry `prompt_cache_key` and `safety_identifier`. Default: only at OpenAI's own addresses, because
   * other servers may refuse fields that they do not know.
   */
  readonly hasRequestHints?: boolean;
}

/** Without an address, the SDK would send the key to an address from an environment variable. */
const BASE_URL = 'https://api.openai.com/v1';

/**
 * Decodes an event as the SDK does. Error events have a name of their own, or a field `error`.
 * @throws APIError for an error, and SyntaxError for data that is not JSON
 */
function decodeOpenAiEvent(data: string, name: string | undefined, headers: Headers): unknown {
  if (data === '[DONE]') return END_MARK;
  if (data === '') return undefined;
  const event: unknown = JSON.parse(data);
  const error = isMapping(event) ? event['error'] : undefined;
  if (name !== 'error' && !error) return event;
  // The cast is safe: the SDK's own stream passes values of any type to `APIError`.
  throw new APIError(undefined, (error ?? event) as object, undefined, headers);
}

export type OpenAiAccess = SdkAccess<OpenAI, unknown>;

/** Opens a client that ignores environment variables for address, key and headers. */
export function openOpenAi({
  apiKey,
  baseUrl = BASE_URL,
}: Pick<OpenAiOptions, 'apiKey'> & { readonly baseUrl?: string | undefined }): OpenAiAccess {
  const dispatcher = openAgent();
  const client = new OpenAI({
    ...sdkOptions(dispatcher),
    apiKey,
    baseURL: baseUrl,
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
  });
  dropForeignHeaders(client);
  return { client, dispatcher, decode: decodeOpenAiEvent, classify: errorClassifier(readApiError) };
}

function readApiError(error: unknown): ProviderFailure {
  // Other errors may quote model output, which must not be matched against the error table.
  if (!(error instanceof APIError)) return { message: '' };
  const { status, headers, message } = error as APIError;
  const read = readErrorFields(isMapping(error.error) ? error.error : {});
  // The SDK's message lacks the error of the provider behind a gateway.
  return { ...read, message: `${message}\n${read.message}`, status, headers };
}
