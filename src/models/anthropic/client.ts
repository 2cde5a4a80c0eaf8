import Anthropic, { APIError } from '@anthropic-ai/sdk';
import type { Dispatcher } from 'undici';
import type { ModelError } from '../../domain/model.ts';
import { commonOptions, dropForeignHeaders, type FailedCall, openAgent } from '../provider-call.ts';
import { classifyFailure, type ProviderFailure } from '../provider-errors.ts';

/**
 * Default address. The client always gets an address, because otherwise it would send the key to an address from an
 * environment variable.
 */
const BASE_URL = 'https://api.anthropic.com';

export interface AnthropicConnection {
  /** API key of the Anthropic account, which the client sends with each request. */
  readonly apiKey: string;
  /** Address of a gateway or a compatible server. Default: Anthropic's own. */
  readonly baseUrl?: string;
}

/** Creates an SDK client that ignores environment variables for the address, the key and the headers. */
export function openAnthropicClient(
  { apiKey, baseUrl = BASE_URL }: AnthropicConnection,
  dispatcher: Dispatcher = openAgent(),
): Anthropic {
  const client = new Anthropic({
    ...commonOptions(dispatcher),
    apiKey,
    baseURL: baseUrl,
    webhookKey: null,
    // Without this setting, an environment variable could make the SDK record message contents in its trace spans.
    openTelemetry: { traces: { contentMode: 'metadata_only' } },
  });
  return dropForeignHeaders(client);
}

/**
 * Converts the error of a failed call into a `ModelError`.
 * @throws the signal's reason if the signal ended the call
 */
export function classifyAnthropicError(error: unknown, { signal, describe }: FailedCall): ModelError {
  signal.throwIfAborted();
  return classifyFailure(readApiError(error), Date.now(), describe);
}

function readApiError(error: unknown): ProviderFailure {
  // Any other error may quote model output, which must not be matched against the table of provider errors.
  if (!(error instanceof APIError)) return { message: '' };
  const { status, type, errorCode, apiMessage, headers } = error as APIError;
  return { status, type, code: errorCode, message: apiMessage ?? '', headers };
}
