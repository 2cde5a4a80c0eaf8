import type { ModelRequest } from '../../domain/model.ts';

/** Fields of OpenAI's APIs that route a request to the servers that hold its start, and name who is responsible for it. */
interface RequestHints {
  readonly prompt_cache_key?: string;
  readonly safety_identifier?: string;
}

/**
 * Writes the hints of a request for OpenAI's own servers. Other servers may refuse fields that they do not know.
 * @param isOpenAi true if the server knows these fields
 */
export function writeHints(
  { cache, safetyIdentifier }: Pick<ModelRequest, 'cache' | 'safetyIdentifier'>,
  isOpenAi: boolean,
): RequestHints {
  if (!isOpenAi) return {};
  return {
    ...(cache !== undefined && { prompt_cache_key: cache.key }),
    ...(safetyIdentifier !== undefined && { safety_identifier: safetyIdentifier }),
  };
}

/** Hosts of OpenAI and of its models at Azure. */
const OPENAI_HOST = /(?:^|\.)openai(?:\.azure)?\.com$/;

/** @param baseUrl address of the server. Absent: OpenAI's own */
export function knowsHints(baseUrl: string | undefined): boolean {
  return baseUrl === undefined || (URL.canParse(baseUrl) && OPENAI_HOST.test(new URL(baseUrl).hostname));
}
