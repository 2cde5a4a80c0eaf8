import { findText, type SettingSource } from './read-setting.ts';
import { SETTING_NAMES, settingOf } from './settings.ts';

/** Told to whoever connects. */
const CERTIFICATE = '-----BEGIN CERTIFICATE';
const PASSWORD = /:\/\/[^:@/]*:(?<password>[^@/]+)@/;

/**
 * Every secret that the environment holds: keys, and passwords of addresses, as they stand there and as they are meant. For those who write texts and
 * must leave them out.
 * @throws invalid_config where a file cannot be read
 */
export function listSecrets(source: SettingSource): string[] {
  return SETTING_NAMES.flatMap((name) => {
    const { show, hasFile } = settingOf(name);
    if (show === undefined) return [];
    const { text } = findText(source, name);
    if (text === undefined) return [];
    const password = PASSWORD.exec(text)?.groups?.['password'];
    if (password !== undefined) return [...new Set([password, decode(password)])];
    if (hasFile !== true || text.includes('://') || text.startsWith(CERTIFICATE)) return [];
    return [text];
  });
}

/** A stray percent sign stands for itself. */
function decode(password: string): string {
  try {
    return decodeURIComponent(password);
  } catch {
    return password;
  }
}
