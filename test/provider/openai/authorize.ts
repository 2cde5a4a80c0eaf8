import type { IncomingHttpHeaders } from 'node:http';
import type { Refusal } from '../refusal.ts';
import { refuse } from './refuse.ts';

const KEYS = 'https://platform.openai.com/account/api-keys';

/** @param apiKey the only accepted key. If absent, every key is accepted. */
export function authorizeOpenAi({ authorization = '' }: IncomingHttpHeaders, apiKey?: string): Refusal | undefined {
  const key = /^Bearer (.+)$/.exec(authorization)?.[1];
  if (key === undefined) {
    return {
      ...refuse(
        'request',
        `You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank username) if you're accessing the API from your browser and are prompted for a username and password. You can obtain an API key from ${KEYS}.`,
      ),
      status: 401,
    };
  }
  if (apiKey === undefined || key === apiKey) return undefined;
  return {
    ...refuse('request', `Incorrect API key provided: ***. You can find your API key at ${KEYS}.`, {
      code: 'invalid_api_key',
    }),
    status: 401,
  };
}
