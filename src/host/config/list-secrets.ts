import { findText, type SettingSource } from './read-setting.ts';
import { SETTING_NAMES, settingOf } from './settings.ts';

/** A PEM certificate begins with this text. Certificates are public, so they are not treated as secrets. */
const CERTIFICATE = '-----BEGIN CERTIFICATE';
/**
 * Finds the password of a URL. As in `URL`, the password ends at the last `@` before path and query, so it may contain
 * an unencoded `@`.
 */
const PASSWORD = /:\/\/[^:/?#]*:(?<password>[^/?#]+)@/;
const QUERY = /\?(?<query>[^#]+)/;

/**
 * Lists all secrets in the environment, so that logs and spans can leave them out. Secrets are keys, passwords in
 * addresses and query values in addresses, each in encoded and decoded form.
 * @throws invalid_config if a file cannot be read
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

/**
 * Treats every query value of an address as a secret, because services name their parameters differently. A parameter
 * without a value, such as `?key`, is also treated as a secret.
 */
function listAddressSecrets(address: string): string[] {
  const password = PASSWORD.exec(address)?.groups?.['password'] ?? '';
  const query = QUERY.exec(address)?.groups?.['query'] ?? '';
  const values = query.split('&').map((pair) => pair.slice(pair.indexOf('=') + 1));
  const written = [password, ...values].filter((secret) => secret !== '');
  return [...new Set(written.flatMap((secret) => [secret, decode(secret)]))];
}

/** Decodes percent encoding. A text with invalid percent encoding is returned unchanged. */
function decode(secret: string): string {
  try {
    return decodeURIComponent(secret);
  } catch {
    return secret;
  }
}
