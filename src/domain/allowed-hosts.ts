import { fieldError } from './errors.ts';

export const ANY_HOST = '*';

/** IP address in a `Host` header. It is always allowed, because DNS rebinding needs a host name. */
const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[\da-f:.]+\])$/i;
const HOST_HEADER = /^(?<name>\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i;
const ALLOWED = /^(?:\*|\[[\da-f:.]+\]|(?:\*\.)?[a-z\d_-]+(?:\.[a-z\d_-]+)*)$/i;

/** Names besides `localhost` and IP addresses. Other names are refused, which prevents DNS rebinding. */
export interface AllowedHosts {
  readonly names: readonly string[];
}

/** @throws invalid_config if an entry is no host name, e.g. because it has a port */
export function readAllowedHosts(names: readonly string[], field: string): AllowedHosts {
  const wrong = names.find((name) => !isHostPattern(name));
  if (wrong === undefined) return { names: names.map((name) => name.toLowerCase()) };
  throw fieldError('invalid_config', field, `${HOST_PATTERNS}; got ${JSON.stringify(wrong)}`);
}

export const HOST_PATTERNS =
  'must be host names without scheme and port, such as api.example.com, *.example.com, or * for any';

export function isHostPattern(name: string): boolean {
  return ALLOWED.test(name);
}

export function isAllowedHost(host: string, { names }: AllowedHosts): boolean {
  const name = HOST_HEADER.exec(host)?.groups?.['name']?.toLowerCase();
  if (name === undefined) return false;
  return isLocal(name) || ADDRESS.test(name) || names.some((allowed) => covers(allowed, name));
}

/** Browsers resolve these names to their own machine and ask no DNS server (RFC 6761). */
function isLocal(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost');
}

function covers(allowed: string, name: string): boolean {
  if (allowed === ANY_HOST) return true;
  return allowed.startsWith('*.') ? name.endsWith(allowed.slice(1)) : name === allowed;
}

export function splitList(text: string | undefined): string[] {
  return (text ?? '').split(',').flatMap((item) => item.trim() || []);
}

export function explainForeignHost(host: string, option: string): string {
  const given = JSON.stringify(host.slice(0, 256));
  return `${given} is no host name of this server, which answers to localhost and IP addresses. Add the name to ${option}`;
}
