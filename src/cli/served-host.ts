import type { OpenClient } from '../api/client/index.ts';
import { type AccessOptions, checkOpenAccess } from '../api/http/access.ts';
import { authenticateByKey } from '../api/http/caller.ts';
import { readAllowedHosts, splitList } from '../domain/allowed-hosts.ts';
import { fieldError } from '../domain/errors.ts';

const LOOPBACK = ['127.0.0.1', 'localhost', '::1'];

export interface ServedHostOptions {
  readonly host: string;
  readonly keys?: true;
  /** Separated by commas. */
  readonly allowedHosts?: string;
  /** Separated by commas. */
  readonly cors?: string;
}

const OPTIONS = { allowedHosts: '--allowed-hosts', cors: '--cors', remedy: 'add --keys' };

/** @throws invalid_config without keys, if other machines or unknown web pages could call the server */
export function checkServedHost({ host, keys, allowedHosts, cors }: ServedHostOptions): void {
  const allowed = splitList(allowedHosts);
  readAllowedHosts(allowed, OPTIONS.allowedHosts);
  if (keys === true) return;
  checkOpenAccess({ allowedHosts: allowed, cors: splitList(cors) }, OPTIONS);
  if (LOOPBACK.includes(host)) return;
  const why = `without --keys, only a loopback address is allowed: ${LOOPBACK.join(', ')}. Add --keys to listen elsewhere`;
  throw fieldError('invalid_config', '--host', why);
}

export function limitCallers(
  client: Pick<OpenClient, 'keys'>,
  { keys, allowedHosts, cors }: ServedHostOptions,
): AccessOptions {
  const authenticate = keys === true ? authenticateByKey(client.keys) : 'none';
  return { authenticate, allowedHosts: splitList(allowedHosts), cors: splitList(cors) };
}
