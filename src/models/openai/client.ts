import OpenAI, { APIError } from 'openai';
import type { Dispatcher } from 'undici';
import type { ModelError, ModelProfile } from '../../domain/model.ts';
import { commonOptions, dropForeignHeaders, type FailedCall, openAgent } from '../provider-call.ts';
import { classifyFailure, type ProviderFailure } from '../provider-errors.ts';

export interface OpenAiOptions {
  /** `id` is the provider's name of the model. */
  readonly profile: ModelProfile;
  /** API key. */
  readonly apiKey: string;
  /** Address of a compatible server, with its `/v1`. */
  readonly baseUrl?: string;
}

/** Always set: otherwise the client would read the address from the environment and send the key there. */
const BASE_URL = 'https://api.openai.com/v1';

/** Opens a client that reads nothing from the environment. */
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
 * Classifies a failed call.
 * @throws the signal's reason if it ended the call
 */
export function classifyOpenAiError(error: unknown, { signal, describe }: FailedCall): ModelError {
  signal.throwIfAborted();
  return classifyFailure(readApiError(error), Date.now(), describe);
}

function readApiError(error: unknown): ProviderFailure {
  // Other errors may quote the whole text that could not be parsed.
  if (!(error instanceof APIError)) return { message: '' };
  const { status, type, code, message, headers } = error as APIError;
  return { status, type, code, message, headers };
}
