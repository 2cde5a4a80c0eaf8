import Anthropic, { APIError } from '@anthropic-ai/sdk';
import type { Dispatcher } from 'undici';
import type { ModelError } from '../../domain/model.ts';
import { commonOptions, dropForeignHeaders, type FailedCall, openAgent } from '../provider-call.ts';
import { classifyFailure, type ProviderFailure } from '../provider-errors.ts';

/** Always passed: without an address, the client would send the key to an address from the environment. */
const BASE_URL = 'https://api.anthropic.com';

export interface AnthropicConnection {
  /** API key. */
  readonly apiKey: string;
  /** Address of a gateway or a compatible server. Default: the provider's own. */
  readonly baseUrl?: string;
}

/** The client reads neither address, key nor headers from the environment. */
export function openAnthropicClient(
  { apiKey, baseUrl = BASE_URL }: AnthropicConnection,
  dispatcher: Dispatcher = openAgent(),
): Anthropic {
  const client = new Anthropic({
    ...commonOptions(dispatcher),
    apiKey,
    baseURL: baseUrl,
    webhookKey: null,
    // Without this setting, an environment variable of the SDK could put contents into its spans.
    openTelemetry: { traces: { contentMode: 'metadata_only' } },
  });
  return dropForeignHeaders(client);
}

/**
 * Classifies a failed call.
 * @throws the signal's reason if it ended the call
 */
export function classifyAnthropicError(error: unknown, { signal, describe }: FailedCall): ModelError {
  signal.throwIfAborted();
  return classifyFailure(readApiError(error), Date.now(), describe);
}

function readApiError(error: unknown): ProviderFailure {
  // Any other error may quote model output, which must not be matched against the error table.
  if (!(error instanceof APIError)) return { message: '' };
  const { status, type, errorCode, apiMessage, headers } = error as APIError;
  return { status, type, code: errorCode, message: apiMessage ?? '', headers };
}
