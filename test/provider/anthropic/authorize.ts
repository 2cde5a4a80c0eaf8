import type { IncomingHttpHeaders } from 'node:http';
import type { Refusal } from '../refusal.ts';
import { refuse } from './refuse.ts';

/** @param apiKey the only accepted key. If absent, every key is accepted. */
export function authorizeAnthropic(headers: IncomingHttpHeaders, apiKey?: string): Refusal | undefined {
  const key = headers['x-api-key'] ?? headers.authorization?.replace(/^Bearer /, '');
  const denied = { rule: 'request', status: 401, type: 'authentication_error' } as const;
  if (key === undefined || key === '') return { ...denied, message: 'x-api-key header is required' };
  if (apiKey !== undefined && key !== apiKey) return { ...denied, message: 'invalid x-api-key' };
  if (headers['anthropic-version'] === undefined) {
    return refuse('request', 'anthropic-version: header is required');
  }
  return undefined;
}
