import Anthropic, { APIError } from '@anthropic-ai/sdk';
import { isMapping } from '../../domain/parse.ts';
import { parseObject } from '../../wire/calls.ts';
import { errorClassifier, type ProviderFailure } from '../provider-errors.ts';
import { dropForeignHeaders, openAgent, sdkOptions } from '../provider-fetch.ts';
import type { SdkAccess } from '../received-events.ts';

/** Without an address, the SDK would send the key to an address from an environment variable. */
const BASE_URL = 'https://api.anthropic.com';

export interface AnthropicConnection {
  /** API key of the Anthropic account, which the client sends with each request. */
  readonly apiKey: string;
  /** Address of a gateway or a compatible server. Default: Anthropic's own address. */
  readonly baseUrl?: string;
}

/**
 * Decodes an event as the SDK does, which skips events without a name.
 * @throws APIError for an error, and SyntaxError for data that is not JSON
 */
function decodeAnthropicEvent(
  data: string,
  name: string | undefined,
  headers: Headers,
): Anthropic.MessageStreamEvent | undefined {
  if (name === 'error') throw readStreamError(data, headers);
  if (name === undefined || name === 'ping' || data === '') return undefined;
  // The cast is safe: the reader checks every field that it reads.
  return JSON.parse(data) as Anthropic.MessageStreamEvent;
}

function readStreamError(data: string, headers: Headers): APIError {
  const body = parseObject(data) ?? {};
  const error = isMapping(body['error']) ? body['error'] : {};
  return new APIError(undefined, body, undefined, headers, error['type'] as APIError['type']);
}

export type AnthropicAccess = SdkAccess<Anthropic, Anthropic.MessageStreamEvent>;

/** Opens a client that ignores environment variables for address, key and headers. */
export function openAnthropic({
  apiKey,
  baseUrl = BASE_URL,
}: Pick<AnthropicConnection, 'apiKey'> & { readonly baseUrl?: string | undefined }): AnthropicAccess {
  const dispatcher = openAgent();
  const client = new Anthropic({
    ...sdkOptions(dispatcher),
    apiKey,
    baseURL: baseUrl,
    webhookKey: null,
    // Otherwise an environment variable could make the SDK record message contents in its spans.
    openTelemetry: { traces: { contentMode: 'metadata_only' } },
  });
  dropForeignHeaders(client);
  return { client, dispatcher, decode: decodeAnthropicEvent, classify: errorClassifier(readApiError) };
}

function readApiError(error: unknown): ProviderFailure {
  // Other errors may quote model output, which must not be matched against the error table.
  if (!(error instanceof APIError)) return { message: '' };
  const { status, type, errorCode, apiMessage, headers } = error as APIError;
  return { status, type, code: errorCode, message: apiMessage ?? '', headers };
}
