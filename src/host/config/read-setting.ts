import { fieldError } from '../../domain/errors.ts';
import { explainIssue } from '../../domain/issue-text.ts';
import { SETTINGS, type SettingName, type SettingValue, settingOf } from './settings.ts';

export interface SettingSource {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readFile: (path: string) => string;
}

export type SettingOrigin = 'env' | 'file' | 'default';

interface FoundText {
  /** Undefined if the variable is unset or blank. Docker Compose sets unset variables to a blank text. */
  readonly text: string | undefined;
  readonly origin: SettingOrigin;
  /** Name of the variable that holds the value, or of the `_FILE` variable that holds the path of its file. */
  readonly field: string;
}

export function readSetting<Name extends SettingName>(source: SettingSource, name: Name): SettingValue<Name> {
  const { text, field } = findText(source, name);
  const result = SETTINGS[name].schema.safeParse(text, { error: explainIssue });
  if (result.success) return result.data as SettingValue<Name>;
  throw fieldError('invalid_config', field, result.error.issues[0]?.message ?? 'invalid');
}

export function findText(source: SettingSource, name: SettingName): FoundText {
  return findVariable(source, name, settingOf(name).hasFile === true);
}

/** Reads a variable, or the file that its `_FILE` variable names. @throws invalid_config */
export function findVariable({ env, readFile }: SettingSource, name: string, hasFile: boolean): FoundText {
  const value = env[name]?.trim() || undefined;
  const field = fileVariable(name);
  const path = hasFile ? env[field]?.trim() || undefined : undefined;
  if (value !== undefined || path === undefined) {
    return { text: value, origin: value === undefined ? 'default' : 'env', field: name };
  }
  let text: string;
  try {
    text = readFile(path).trim();
  } catch (cause) {
    throw fieldError('invalid_config', field, 'cannot read the file that this variable names', { cause });
  }
  if (text === '') throw fieldError('invalid_config', field, 'the file that this variable names is empty');
  return { text, origin: 'file', field };
}

export function fileVariable(name: string): string {
  return `${name}_FILE`;
}
