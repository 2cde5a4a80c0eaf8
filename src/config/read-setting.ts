import { TurnfoldError } from '../domain/errors.ts';
import { SETTINGS, type SettingName, type SettingValue, settingOf } from './settings.ts';

/** Where settings come from. */
export interface SettingSource {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readFile: (path: string) => string;
}

export type SettingOrigin = 'env' | 'file' | 'default';

interface FoundText {
  /** undefined where nothing is said; blanks say nothing either: compose files write them for what is not set */
  readonly text: string | undefined;
  readonly origin: SettingOrigin;
  /** the variable that said it */
  readonly field: string;
}

/** @throws invalid_config, with the variable's name and never its value */
export function readSetting<Name extends SettingName>(source: SettingSource, name: Name): SettingValue<Name> {
  const { text, field } = findText(source, name);
  const result = SETTINGS[name].schema.safeParse(text);
  if (result.success) return result.data as SettingValue<Name>;
  throw new TurnfoldError('invalid_config', `${field}: ${result.error.issues[0]?.message ?? 'invalid'}`, { field });
}

/** What a setting says, by its variable or else by the file that the variable with `_FILE` names. @throws invalid_config */
export function findText({ env, readFile }: SettingSource, name: SettingName): FoundText {
  const given = env[name]?.trim() || undefined;
  const field = fileVariable(name);
  const path = settingOf(name).hasFile === true ? env[field]?.trim() || undefined : undefined;
  if (given !== undefined || path === undefined) {
    return { text: given, origin: given === undefined ? 'default' : 'env', field: name };
  }
  let text: string;
  try {
    text = readFile(path).trim();
  } catch (cause) {
    throw new TurnfoldError('invalid_config', `${field}: its file cannot be read`, { field, cause });
  }
  if (text === '') throw new TurnfoldError('invalid_config', `${field}: its file is empty`, { field });
  return { text, origin: 'file', field };
}

export function fileVariable(name: SettingName): string {
  return `${name}_FILE`;
}
