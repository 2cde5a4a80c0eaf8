import OpenAI, { APIError } from 'openai';
import type { Dispatcher } from 'undici';
import type { ModelError, ModelProfile } from '../../domain/model.ts';
import { commonOptions, dropForeignHeaders, type FailedCall, openAgent } from '../provider-call.ts';
import { classifyFailure, type ProviderFailure } from '../provider-errors.ts';

export interface OpenAiOptions {
  /** `id` is the provider's name of the model */
  readonly profile: ModelProfile;
  /** the key of the API */
  readonly apiKey: string;
  /** of a compatible server, with its `/v1` */
  readonly baseUrl?: string;
}

/** Where the key goes is ours to say: left out, the client would take an address from the environment. */
const BASE_URL = 'https://api.openai.com/v1';

/** A client that takes nothing from the environment. */
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
 * What a failed call means for its turn.
 * @throws what the signal was aborted with, where that ended the call
 */
export function codeOpenAiFailure(error: unknown, { signal, describe }: FailedCall): ModelError {
  signal.throwIfAborted();
  return classifyFailure(readApiError(error), Date.now(), describe);
}

function readApiError(error: unknown): ProviderFailure {
  // What a client could not parse may stand in its error's message, whole.
  if (!(error instanceof APIError)) return { message: '' };
  const { status, type, code, message, headers } = error as APIError;
  return { status, type, code, message, headers };
}
