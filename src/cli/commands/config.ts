import { describePolicySchema } from '../../config/policy-schema.ts';
import { describeSettings } from '../../config/settings-schema.ts';
import { showSettings } from '../../config/shown-settings.ts';
import { readEnvironment } from '../../config.ts';
import { TurnfoldError } from '../../domain/errors.ts';
import { type Output, writeJson } from '../output.ts';

/** Prints every setting as it takes effect, and where it is from. @returns 1 where one cannot be read */
export function printConfig({ json }: { readonly json?: boolean }, output: Output): number {
  const settings = showSettings(readEnvironment());
  if (json) writeJson(output, settings);
  else {
    const width = Math.max(...settings.map(({ name }) => name.length));
    for (const { name, value = 'not set', origin, problem } of settings) {
      output.line(`${name.padEnd(width)}  ${origin.padEnd('default'.length)}  ${problem ?? value}`);
    }
  }
  return settings.some(({ problem }) => problem !== undefined) ? 1 : 0;
}

const SCHEMAS = { settings: describeSettings, policy: describePolicySchema } as const;

/** Prints a JSON Schema, for an editor. @param of `settings` or `policy`. @throws invalid_input */
export function printSchema(of: string, output: Output): number {
  if (!Object.hasOwn(SCHEMAS, of)) {
    const names = Object.keys(SCHEMAS).join(' or ');
    throw new TurnfoldError('invalid_input', `what: '${of}' has no schema, expected ${names}`, { field: 'what' });
  }
  output.line(JSON.stringify(SCHEMAS[of as keyof typeof SCHEMAS](), null, 2));
  return 0;
}
