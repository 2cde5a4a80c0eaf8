import { isTurnfoldError } from '../domain/errors.ts';
import { findText, readSetting, type SettingOrigin, type SettingSource } from './read-setting.ts';
import { SETTING_NAMES, type SettingName, settingOf } from './settings.ts';

/** A setting as it takes effect. Secrets are masked. */
export interface ShownSetting {
  readonly name: SettingName;
  /** absent where it is not set and has no default, or cannot be read */
  readonly value?: string;
  readonly origin: SettingOrigin;
  readonly problem?: string;
}

export function showSettings(source: SettingSource): ShownSetting[] {
  return SETTING_NAMES.map((name) => {
    try {
      const value = readSetting(source, name);
      const { text, origin } = findText(source, name);
      if (value === undefined) return { name, origin };
      const { show } = settingOf(name);
      return { name, value: show && text !== undefined ? show(text) : String(value), origin };
    } catch (error) {
      if (!isTurnfoldError(error)) throw error;
      return { name, origin: error.field === name ? 'env' : 'file', problem: error.message };
    }
  });
}
