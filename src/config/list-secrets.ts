import { findText, type SettingSource } from './read-setting.ts';
import { SETTING_NAMES, settingOf } from './settings.ts';

/** Start of a certificate, which is public and no secret. */
const CERTIFICATE = '-----BEGIN CERTIFICATE';
/** Up to the last `@` before path and query, as in `URL`, so that an unencoded `@` belongs to the password. */
const PASSWORD = /:\/\/[^:/?#]*:(?<password>[^/?#]+)@/;
const QUERY = /\?(?<query>[^#]+)/;

/**
 * Every secret of the environment, for logs and spans that must not contain it. Secrets are keys, passwords of addresses
 * and values of their queries, each encoded and decoded.
 * @throws invalid_config for an unreadable file
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

/** Any query value may be a secret, because each service names its own parameters. `?key` alone counts as a value. */
function listAddressSecrets(address: string): string[] {
  const password = PASSWORD.exec(address)?.groups?.['password'] ?? '';
  const query = QUERY.exec(address)?.groups?.['query'] ?? '';
  const values = query.split('&').map((pair) => pair.slice(pair.indexOf('=') + 1));
  const written = [password, ...values].filter((secret) => secret !== '');
  return [...new Set(written.flatMap((secret) => [secret, decode(secret)]))];
}

/** A text with invalid percent encoding is returned as it is. */
function decode(secret: string): string {
  try {
    return decodeURIComponent(secret);
  } catch {
    return secret;
  }
}
