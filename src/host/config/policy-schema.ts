import { z } from 'zod';
import { POLICY_DEFAULTS, policyInputSchema } from '../../domain/policy.ts';
import type { DescribedSchema } from './describe-settings.ts';

/** JSON Schema of a policy file. Settings may be in camelCase or snake_case, at the top or under `compact`. */
export function describePolicySchema(): DescribedSchema {
  const { $schema, $defs, properties = {}, ...object } = z.toJSONSchema(policyInputSchema, { io: 'input' });
  const withDefaults = Object.entries(properties).map(([name, schema]) => [name, withDefault(name, schema)] as const);
  return {
    ...($schema !== undefined && { $schema }),
    title: 'Policy of turnfold',
    anyOf: [{ $ref: '#/$defs/policy' }, { $ref: '#/$defs/file' }],
    $defs: {
      ...$defs,
      policy: { ...object, properties: { ...spellTwice(Object.fromEntries(withDefaults)), transforms: RETIRED } },
      file: {
        type: 'object',
        properties: { compact: { $ref: '#/$defs/policy' }, transforms: RETIRED },
        required: ['compact'],
        additionalProperties: false,
      },
    },
  };
}

const RETIRED: DescribedSchema = { deprecated: true, description: 'No longer used. Put the settings under `compact`.' };

function withDefault(name: string, schema: DescribedSchema | boolean): DescribedSchema {
  const described = typeof schema === 'boolean' ? {} : schema;
  return Object.hasOwn(POLICY_DEFAULTS, name)
    ? { ...described, default: POLICY_DEFAULTS[name as keyof typeof POLICY_DEFAULTS] }
    : described;
}

/** Adds `max_tokens` beside `maxTokens`, also inside the settings of a summarizer. */
function spellTwice(
  properties: Readonly<Record<string, DescribedSchema | boolean>>,
): Record<string, DescribedSchema | boolean> {
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, schema]) => {
      const spelled = name === 'summarizer' && typeof schema !== 'boolean' ? spellMembersTwice(schema) : schema;
      const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      return snake === name
        ? [[name, spelled]]
        : [
            [name, spelled],
            [snake, spelled],
          ];
    }),
  );
}

function spellMembersTwice(schema: DescribedSchema): DescribedSchema {
  const { anyOf = [] } = schema;
  return {
    ...schema,
    anyOf: anyOf.map((member) =>
      typeof member === 'object' && member.properties !== undefined
        ? { ...member, properties: spellTwice(member.properties) }
        : member,
    ),
  };
}
