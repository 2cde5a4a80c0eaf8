export type { OpenClient, TurnfoldClient } from '../client/index.ts';
export { type ErrorCode, isTurnfoldError, TurnfoldError } from '../domain/errors.ts';
export type { HttpClientOptions } from './client-options.ts';
export { openHttpClient } from './open-http-client.ts';
