import Anthropic, { APIError } from '@anthropic-ai/sdk';
import type { Dispatcher } from 'undici';
import type { ModelError } from '../../domain/model.ts';
import { commonOptions, dropForeignHeaders, type FailedCall, openAgent } from '../provider-call.ts';
import { classifyFailure, type ProviderFailure } from '../provider-errors.ts';

/** Where the key goes is ours to say: left out, the client would take an address from the environment. */
const BASE_URL = 'https://api.anthropic.com';

export interface AnthropicConnection {
  /** the key of the API */
  readonly apiKey: string;
  /** another address than the provider's own */
  readonly baseUrl?: string;
}

/** A client that takes nothing from the environment. */
export function openAnthropicClient(
  { apiKey, baseUrl = BASE_URL }: AnthropicConnection,
  dispatcher: Dispatcher = openAgent(),
): Anthropic {
  const client = new Anthropic({
    ...commonOptions(dispatcher),
    apiKey,
    baseURL: baseUrl,
    webhookKey: null,
    // Its spans may hold what is said where a variable of its own asks for it.
    openTelemetry: { traces: { contentMode: 'metadata_only' } },
  });
  return dropForeignHeaders(client);
}

/**
 * What a failed call means for its turn.
 * @throws what the signal was aborted with, where that ended the call
 */
export function codeAnthropicFailure(error: unknown, { signal, describe }: FailedCall): ModelError {
  signal.throwIfAborted();
  return classifyFailure(readApiError(error), Date.now(), describe);
}

function readApiError(error: unknown): ProviderFailure {
  // Any other error may quote what could not be parsed: the model's words, which are no sign of what went wrong.
  if (!(error instanceof APIError)) return { message: '' };
  const { status, type, errorCode, apiMessage, headers } = error as APIError;
  return { status, type, code: errorCode, message: apiMessage ?? '', headers };
}
