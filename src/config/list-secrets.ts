import { findText, type SettingSource } from './read-setting.ts';
import { SETTING_NAMES, settingOf } from './settings.ts';

/** Acknowledged to whoever connects. */
const CERTIFICATE = '-----BEGIN CERTIFICATE';
/** Up to the last `@` before path and query, as `URL` reads it: one that is not encoded belongs to what it stands in. */
const PASSWORD = /:\/\/[^:/?#]*:(?<password>[^/?#]+)@/;
const QUERY = /\?(?<query>[^#]+)/;

/**
 * Every secret that the environment holds: keys, passwords of addresses and values of their queries, as they stand there and
 * as they are meant. For those who write texts and must leave them out.
 * @throws invalid_config where a file cannot be read
 */
export function listSecrets(source: SettingSource): string[] {
  return SETTING_NAMES.flatMap((name) => {
    const { show, hasFile } = settingOf(name);
    if (show === undefined) return [];
    const { text } = findText(source, name);
    if (text === undefined || text.startsWith(CERTIFICATE)) return [];
    if (text.includes('://')) return listAddressSecrets(text);
    return hasFile === true ? [text] : [];
  });
}

/** Any value of a query may be one: names of parameters are the service's own, and `?key` alone is a value as well. */
function listAddressSecrets(address: string): string[] {
  const password = PASSWORD.exec(address)?.groups?.['password'] ?? '';
  const query = QUERY.exec(address)?.groups?.['query'] ?? '';
  const values = query.split('&').map((pair) => pair.slice(pair.indexOf('=') + 1));
  const written = [password, ...values].filter((secret) => secret !== '');
  return [...new Set(written.flatMap((secret) => [secret, decode(secret)]))];
}

/** A stray percent sign stands for itself. */
function decode(secret: string): string {
  try {
    return decodeURIComponent(secret);
  } catch {
    return secret;
  }
}
