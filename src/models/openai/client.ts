import OpenAI, { APIError } from 'openai';
import type { ModelProfile } from '../../domain/model.ts';
import type { ProviderFailure } from '../provider-errors.ts';

export interface OpenAiOptions {
  /** `id` is the provider's name of the model */
  readonly profile: ModelProfile;
  readonly apiKey: string;
  /** of a compatible server, with its `/v1` */
  readonly baseUrl?: string;
}

/** Where the key goes is ours to say: left out, the client would take an address from the environment. */
const BASE_URL = 'https://api.openai.com/v1';
/** The step has its own deadline; a client's would end long answers. */
const NEVER_MS = 2_147_483_647;

/** Retries are the turn's: each is in its record, and gives its slot back while it waits. */
export function openClient({ apiKey, baseUrl = BASE_URL }: Pick<OpenAiOptions, 'apiKey' | 'baseUrl'>): OpenAI {
  return new OpenAI({ apiKey, baseURL: baseUrl, maxRetries: 0, logLevel: 'off', timeout: NEVER_MS });
}

export function describeError(error: unknown): ProviderFailure {
  // What a client could not parse may stand in its error's message, whole.
  if (!(error instanceof APIError)) return { message: '' };
  const { status, type, code, message, headers } = error as APIError;
  return { status, type, code, message, headers };
}
