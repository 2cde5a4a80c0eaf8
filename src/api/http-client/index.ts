export { isTurnfoldError, TurnfoldError } from '../../domain/errors.ts';
export type * from '../client/index.ts';
export type { CancelOptions } from '../contract/names.ts';
export type { HttpClientOptions } from './client-options.ts';
export { type HttpClient, openHttpClient } from './open-http-client.ts';
