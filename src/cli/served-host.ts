import type { OpenClient } from '../client/index.ts';
import { fieldError } from '../domain/errors.ts';
import type { HttpAppOptions } from '../http/app-options.ts';
import { authenticateByKey } from '../http/bearer-keys.ts';

/** Addresses that only this machine reaches, and the names under which it reaches them. */
const LOOPBACK = ['127.0.0.1', 'localhost', '::1'];
const LOOPBACK_NAMES = ['127.0.0.1', 'localhost', '[::1]'];

/**
 * A server that asks for no keys answers this machine only.
 * @throws invalid_config for another address
 */
export function checkHost(host: string, hasKeys: boolean): void {
  if (hasKeys || LOOPBACK.includes(host)) return;
  const why = `without --keys, the server listens on this machine only: ${LOOPBACK.join(', ')}`;
  throw fieldError('invalid_config', '--host', why);
}

/** Options of the routes that decide who may call them. */
export function limitCallers(
  client: Pick<OpenClient, 'keys'>,
  hasKeys: boolean,
): Pick<HttpAppOptions, 'authenticate' | 'hosts'> {
  return hasKeys ? { authenticate: authenticateByKey(client.keys) } : { hosts: LOOPBACK_NAMES };
}
