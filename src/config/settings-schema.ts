import { z } from 'zod';
import { listVariables } from './check-settings.ts';
import { fileVariable } from './read-setting.ts';
import { SETTING_NAMES, type SettingName, settingOf } from './settings.ts';

export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** JSON Schema of a mapping of variables, as an `environment` of compose or the `data` of a ConfigMap: for editors. */
export function describeSettings(): JsonSchema {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Environment of turnfold',
    type: 'object',
    properties: Object.fromEntries(SETTING_NAMES.flatMap(describeVariables)),
    // Others are none of ours; one of ours that is not known is a slip of the pen.
    propertyNames: { pattern: `^(?!TURNFOLD_)|^(?:${listVariables().join('|')})$` },
  };
}

function describeVariables(name: SettingName): [string, JsonSchema][] {
  const { about, hasFile } = settingOf(name);
  const described: [string, JsonSchema][] = [[name, describeVariable(name)]];
  if (hasFile) described.push([fileVariable(name), { type: 'string', description: `File that holds it. ${about}` }]);
  return described;
}

/** A number may be written as one, or as the text that it is in an environment. */
function describeVariable(name: SettingName): JsonSchema {
  const { schema, about: description } = settingOf(name);
  const { $schema: _, default: fallback, ...value } = z.toJSONSchema(schema);
  const isNumber = value.type === 'integer' || value.type === 'number';
  return {
    description,
    ...(fallback !== undefined && { default: fallback }),
    ...(isNumber ? { anyOf: [value, { type: 'string', pattern: '^[0-9]+$' }] } : value),
  };
}
