import Anthropic, { APIError } from '@anthropic-ai/sdk';
import type { ProviderFailure } from '../provider-errors.ts';

/** Where the key goes is ours to say: left out, the client would take an address from the environment. */
const BASE_URL = 'https://api.anthropic.com';
/** The step has its own deadline; a client's would end long answers. */
const NEVER_MS = 2_147_483_647;

export interface AnthropicConnection {
  readonly apiKey: string;
  readonly baseUrl?: string;
}

/** Retries are the turn's: each is in its record, and gives its slot back while it waits. */
export function openClient({ apiKey, baseUrl = BASE_URL }: AnthropicConnection): Anthropic {
  return new Anthropic({
    apiKey,
    baseURL: baseUrl,
    maxRetries: 0,
    logLevel: 'off',
    timeout: NEVER_MS,
    // Its spans may hold what is said where a variable of its own asks for it.
    openTelemetry: { traces: { contentMode: 'metadata_only' } },
  });
}

export function describeError(error: unknown): ProviderFailure {
  // Any other error may quote what could not be parsed: the model's words, which are no sign of what went wrong.
  if (!(error instanceof APIError)) return { message: '' };
  const { status, type, errorCode, apiMessage, headers } = error as APIError;
  return { status, type, code: errorCode, message: apiMessage ?? '', headers };
}
