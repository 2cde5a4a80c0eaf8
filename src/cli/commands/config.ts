import { checkSettings } from '../../config/check-settings.ts';
import { describePolicy } from '../../config/policy-schema.ts';
import { describeSettings } from '../../config/settings-schema.ts';
import { showSettings } from '../../config/shown-settings.ts';
import { readEnvironment } from '../../config.ts';
import { isTurnfoldError, TurnfoldError } from '../../domain/errors.ts';
import type { PolicyInput } from '../../domain/policy.ts';
import { examinePolicy } from '../../domain/policy-input.ts';
import { examineAgents } from '../../runtime/agents.ts';
import { readPolicyYaml } from '../files.ts';
import { examineModule } from '../load-agents.ts';
import { type Output, writeJson } from '../output.ts';

export interface CheckOptions {
  readonly policy?: string;
  readonly agents?: string;
  readonly json?: boolean;
}

interface Report {
  readonly errors: readonly TurnfoldError[];
  readonly warnings: readonly string[];
}

/** Reads the environment, and the files that a worker would be given, and tells of all that is wrong at once. */
export async function checkConfig({ policy, agents, json }: CheckOptions, output: Output): Promise<number> {
  const settings = checkSettings(readEnvironment());
  const file = policy === undefined ? { policy: {}, errors: [], warnings: [] } : await checkPolicyFile(policy);
  const loaded = agents === undefined ? { errors: [], warnings: [] } : await checkAgents(agents, file.policy);
  const errors = [...settings.errors, ...file.errors, ...loaded.errors];
  const warnings = [...settings.warnings, ...file.warnings, ...loaded.warnings];
  if (json) writeJson(output, { errors, warnings });
  else {
    for (const { code, message } of errors) output.line(`wrong    ${code}: ${message}`);
    for (const warning of warnings) output.line(`warning  ${warning}`);
    if (errors.length === 0) output.line(`ok       ${listRead(policy, agents)} can be read`);
  }
  return errors.length === 0 ? 0 : 1;
}

function listRead(...files: readonly (string | undefined)[]): string {
  return ['the environment', ...files.filter((file) => file !== undefined)].join(', ');
}

async function checkPolicyFile(path: string): Promise<Report & { readonly policy: PolicyInput }> {
  try {
    const { policy, warnings, problems } = examinePolicy(await readPolicyYaml(path));
    return { policy, errors: problems, warnings: warnings.map((warning) => `${path}: ${warning}`) };
  } catch (error) {
    return { policy: {}, errors: [known(error)], warnings: [] };
  }
}

/** Each agent under the policy of the file, as the worker would prepare it. */
async function checkAgents(path: string, policy: PolicyInput): Promise<Report> {
  try {
    const { agents, warnings, problems } = await examineModule(path);
    const errors = [...problems, ...(await examineAgents(agents, policy))];
    return { errors, warnings: warnings.map((warning) => `${path}: ${warning}`) };
  } catch (error) {
    return { errors: [known(error)], warnings: [] };
  }
}

function known(error: unknown): TurnfoldError {
  if (isTurnfoldError(error)) return error;
  throw error;
}

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

const SCHEMAS = { settings: describeSettings, policy: describePolicy } as const;

/** Prints a JSON Schema, for an editor. @param of `settings` or `policy`. @throws invalid_input */
export function printSchema(of: string, output: Output): number {
  if (!Object.hasOwn(SCHEMAS, of)) {
    const names = Object.keys(SCHEMAS).join(' or ');
    throw new TurnfoldError('invalid_input', `what: '${of}' has no schema, expected ${names}`, { field: 'what' });
  }
  output.line(JSON.stringify(SCHEMAS[of as keyof typeof SCHEMAS](), null, 2));
  return 0;
}
