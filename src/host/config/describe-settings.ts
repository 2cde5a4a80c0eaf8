import { z } from 'zod';
import { isTurnfoldError } from '../../domain/errors.ts';
import { listVariables } from './check-settings.ts';
import { fileVariable, findText, readSetting, type SettingOrigin, type SettingSource } from './read-setting.ts';
import { SETTING_NAMES, type SettingName, settingOf } from './settings.ts';

export type DescribedSchema = z.core.JSONSchema.BaseSchema;

/** JSON Schema of the environment. It also fits `environment` of Docker Compose and `data` of a ConfigMap. */
export function describeSettings(): DescribedSchema {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Environment of turnfold',
    type: 'object',
    properties: Object.fromEntries(SETTING_NAMES.flatMap(describeVariables)),
    // An unknown name that begins with TURNFOLD_ is misspelled. Other variables belong to other programs.
    propertyNames: { pattern: `^(?!TURNFOLD_)|^(?:${listVariables().join('|')})$` },
  };
}

function describeVariables(name: SettingName): [string, DescribedSchema][] {
  const { about, hasFile } = settingOf(name);
  const described: [string, DescribedSchema][] = [[name, describeVariable(name)]];
  if (hasFile) described.push([fileVariable(name), { type: 'string', description: `File with the value. ${about}` }]);
  return described;
}

/** A number may be a JSON number, or a text as in an environment. */
function describeVariable(name: SettingName): DescribedSchema {
  const { schema, about: description } = settingOf(name);
  const { $schema: _, default: fallback, ...value } = z.toJSONSchema(schema);
  const isNumber = value.type === 'integer' || value.type === 'number';
  return {
    description,
    ...(fallback !== undefined && { default: fallback }),
    ...(isNumber ? { anyOf: [value, { type: 'string', pattern: '^[0-9]+$' }] } : value),
  };
}

export function tabulateSettings(): string {
  const rows = SETTING_NAMES.map((name) => {
    const { about, hasFile } = settingOf(name);
    const variable = hasFile ? `\`${name}\` (\`_FILE\`)` : `\`${name}\``;
    return `| ${variable} | ${describeValues(name)} | ${about.replaceAll('|', '\\|')} |`;
  });
  return ['| variable | values (default) | meaning |', '|---|---|---|', ...rows].join('\n');
}

function describeValues(name: SettingName): string {
  const { type, enum: values, minimum, maximum, default: fallback } = z.toJSONSchema(settingOf(name).schema);
  const range = type === 'integer' ? `${minimum} to ${maximum}` : (values?.join(', ') ?? 'text');
  return fallback === undefined ? `${range} (none)` : `${range} (${fallback as string | number})`;
}

/** Secrets are masked. */
interface ShownSetting {
  readonly name: SettingName;
  /** Absent if the setting has no value and no default, or if its file cannot be read. */
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
