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

/** Always passed: without an address, the client would send the key to an address from the environment. */
const BASE_URL = 'https://api.openai.com/v1';

/** The client reads neither address, key nor headers from the environment. */
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
  // Any other error may quote model output, which must not be matched against the error table.
  if (!(error instanceof APIError)) return { message: '' };
  const { status, type, code, message, headers } = error as APIError;
  return { status, type, code, message, headers };
}
