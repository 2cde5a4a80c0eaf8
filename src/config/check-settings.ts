import { isTurnfoldError, type TurnfoldError } from '../domain/errors.ts';
import { readRedisAddress, usesTls } from '../redis/address.ts';
import { readDurability } from './durability.ts';
import { fileVariable, findText, readSetting, type SettingSource } from './read-setting.ts';
import { readRedisTls, TLS_SETTINGS } from './redis-tls.ts';
import { SETTING_NAMES, settingOf } from './settings.ts';

export interface SettingsReport {
  /** each with its variable, and no value */
  readonly errors: readonly TurnfoldError[];
  /** what is set and has no effect */
  readonly warnings: readonly string[];
}

/** Reads every setting, and tells of all that is wrong, not of the first alone. */
export function checkSettings(source: SettingSource): SettingsReport {
  const errors = SETTING_NAMES.flatMap((name) => errorOf(() => readSetting(source, name)));
  // What is wrong only together.
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

/** A name with a slip of the pen is a default in its place, and nobody says so. */
function listStrays({ env }: SettingSource): string[] {
  const known = new Set<string>(listVariables());
  return Object.keys(env)
    .filter((name) => name.startsWith('TURNFOLD_') && !known.has(name))
    .map((name) => `${name}: no such setting`);
}

function listUnreadFiles({ env }: SettingSource): string[] {
  return SETTING_NAMES.filter(
    (name) => settingOf(name).hasFile && env[name]?.trim() && env[fileVariable(name)]?.trim(),
  ).map((name) => `${fileVariable(name)}: not read, because ${name} is set, too`);
}

/** Without TLS a certificate keeps nobody out. */
function listIdleTls(source: SettingSource): string[] {
  const address = readRedisAddress(readSetting(source, 'REDIS_URL') ?? '');
  if (address !== undefined && usesTls(address)) return [];
  const given = Object.values(TLS_SETTINGS).map((name) => findText(source, name));
  return given.flatMap(({ text, field }) =>
    text === undefined ? [] : [`${field}: no effect, REDIS_URL is not rediss`],
  );
}

/** All that is read, those for files included. */
export function listVariables(): string[] {
  return SETTING_NAMES.flatMap((name) => (settingOf(name).hasFile ? [name, fileVariable(name)] : [name]));
}
