import OpenAI, { APIError } from 'openai';
import type { Dispatcher } from 'undici';
import type { ModelError, ModelProfile } from '../../domain/model.ts';
import { commonOptions, dropForeignHeaders, type FailedCall, openAgent } from '../provider-call.ts';
import { classifyFailure, type ProviderFailure } from '../provider-errors.ts';

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

/**
 * Default address. The client always gets an address, because otherwise it would send the key to an address from an
 * environment variable.
 */
const BASE_URL = 'https://api.openai.com/v1';

/** Creates an SDK client that ignores environment variables for the address, the key and the headers. */
export function openOpenAiClient(
  { apiKey, baseUrl = BASE_URL }: Pick<OpenAiOptions, 'apiKey' | 'baseUrl'>,
  dispatcher: Dispatcher = openAgent(),
): OpenAI {
  const client = new OpenAI({
    ...commonOptions(dispatcher),
    apiKey,
    baseURL: baseUrl,
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
  });
  return dropForeignHeaders(client);
}

/**
 * Converts the error of a failed call into a `ModelError`.
 * @throws the signal's reason if the signal ended the call
 */
export function classifyOpenAiError(error: unknown, { signal, describe }: FailedCall): ModelError {
  signal.throwIfAborted();
  return classifyFailure(readApiError(error), Date.now(), describe);
}

function readApiError(error: unknown): ProviderFailure {
  // Any other error may quote model output, which must not be matched against the table of provider errors.
  if (!(error instanceof APIError)) return { message: '' };
  const { status, type, code, message, headers } = error as APIError;
  return { status, type, code, message, headers };
}
