import { z } from 'zod';
import { SETTING_NAMES, type SettingName, settingOf } from './settings.ts';

/** The settings as a table of Markdown, for docs/reference/configuration.md. */
export function tabulateSettings(): string {
  const rows = SETTING_NAMES.map((name) => {
    const { about, hasFile } = settingOf(name);
    const variable = hasFile ? `\`${name}\` (\`_FILE\`)` : `\`${name}\``;
    return `| ${variable} | ${tellValues(name)} | ${about.replaceAll('|', '\\|')} |`;
  });
  return ['| variable | values (default) | meaning |', '|---|---|---|', ...rows].join('\n');
}

function tellValues(name: SettingName): string {
  const { type, enum: values, minimum, maximum, default: fallback } = z.toJSONSchema(settingOf(name).schema);
  const range = type === 'integer' ? `${minimum} to ${maximum}` : (values?.join(', ') ?? 'text');
  return fallback === undefined ? `${range} (none)` : `${range} (${fallback as string | number})`;
}
