import { findText, type SettingSource } from './read-setting.ts';
import { SETTING_NAMES, settingOf } from './settings.ts';

/** Certificates are public, so they are no secrets. */
const CERTIFICATE = '-----BEGIN CERTIFICATE';
/** As in Node's `URL`, the password ends at the last `@` before path and query, so it may contain an `@`. */
const PASSWORD = /:\/\/[^:/?#]*:(?<password>[^/?#]+)@/;
const QUERY = /\?(?<query>[^#]+)/;

/** Lists keys, passwords and query values of addresses, encoded and decoded. Logs and spans leave out these texts. */
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

/** Services name their parameters differently, so every query value counts as a secret, also `key` of `?key`. */
function listAddressSecrets(address: string): string[] {
  const password = PASSWORD.exec(address)?.groups?.['password'] ?? '';
  const query = QUERY.exec(address)?.groups?.['query'] ?? '';
  const values = query.split('&').map((pair) => pair.slice(pair.indexOf('=') + 1));
  const written = [password, ...values].filter((secret) => secret !== '');
  return [...new Set(written.flatMap((secret) => [secret, decode(secret)]))];
}

/** A text with invalid encoding is returned unchanged. */
function decode(secret: string): string {
  try {
    return decodeURIComponent(secret);
  } catch {
    return secret;
  }
}
