import { isTurnfoldError, type TurnfoldError } from '../../domain/errors.ts';
import { readRedisAddress, usesTls } from '../../store/redis/address.ts';
import { readDurability, readRedisTls, TLS_SETTINGS } from './combined-settings.ts';
import { fileVariable, findText, readSetting, type SettingSource } from './read-setting.ts';
import { SETTING_NAMES, settingOf } from './settings.ts';

interface SettingsReport {
  /** Each error names the variable, and never its value. */
  readonly errors: readonly TurnfoldError[];
  readonly warnings: readonly string[];
}

export function checkSettings(source: SettingSource): SettingsReport {
  const errors = SETTING_NAMES.flatMap((name) => errorOf(() => readSetting(source, name)));
  // The next checks compare several settings, so each setting must be valid by itself.
  if (errors.length === 0)
    errors.push(...errorOf(() => readDurability(source)), ...errorOf(() => readRedisTls(source)));
  const warnings = [...listStrays(source), ...listUnreadFiles(source)];
  if (errors.length === 0) warnings.push(...listIdleTls(source));
  return { errors, warnings };
}

function errorOf(read: () => unknown): TurnfoldError[] {
  try {
    read();
    return [];
  } catch (error) {
    if (isTurnfoldError(error)) return [error];
    throw error;
  }
}

/** A misspelled name would leave the default in effect without a warning. */
function listStrays({ env }: SettingSource): string[] {
  const known = new Set<string>(listVariables());
  return Object.keys(env)
    .filter((name) => name.startsWith('TURNFOLD_') && !known.has(name))
    .map((name) => `${name}: unknown setting`);
}

function listUnreadFiles({ env }: SettingSource): string[] {
  return SETTING_NAMES.filter(
    (name) => settingOf(name).hasFile && env[name]?.trim() && env[fileVariable(name)]?.trim(),
  ).map((name) => `${fileVariable(name)}: ignored, because ${name} is set too`);
}

function listIdleTls(source: SettingSource): string[] {
  const address = readRedisAddress(readSetting(source, 'REDIS_URL') ?? '');
  if (address !== undefined && usesTls(address)) return [];
  const texts = Object.values(TLS_SETTINGS).map((name) => findText(source, name));
  return texts.flatMap(({ text, field }) =>
    text === undefined ? [] : [`${field}: no effect, because REDIS_URL does not begin with rediss (TLS)`],
  );
}

export function listVariables(): string[] {
  return SETTING_NAMES.flatMap((name) => (settingOf(name).hasFile ? [name, fileVariable(name)] : [name]));
}
