import { checkSettings } from '../../config/check-settings.ts';
import { describeSettings, showSettings } from '../../config/describe-settings.ts';
import { describePolicySchema } from '../../config/policy-schema.ts';
import { findText, type SettingSource } from '../../config/read-setting.ts';
import { readEnvironment } from '../../config.ts';
import { isTurnfoldError, TurnfoldError } from '../../domain/errors.ts';
import { examineAgents } from '../../runtime/agents.ts';
import { examineShadow } from '../../runtime/shadow.ts';
import { examineModule } from '../load-agents.ts';
import { readRoles } from '../option-values.ts';
import { type Output, writeJson } from '../output.ts';
import {
  completeAlone,
  examinePolicyFile,
  examineTrialPolicy,
  NO_FILE,
  type PolicySource,
  placeAgentError,
} from '../policy-file.ts';

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

export interface CheckOptions {
  readonly policy?: string;
  readonly shadow?: string;
  readonly agents?: string;
  /** of the workers that will be given these files, separated by commas */
  readonly roles: string;
  readonly json?: boolean;
}

interface Report {
  readonly problems: readonly TurnfoldError[];
  readonly warnings: readonly string[];
}

/** Reads the environment, and the files that a worker would be given, and tells of all that is wrong at once. */
export async function checkConfig({ json, ...options }: CheckOptions, output: Output): Promise<number> {
  const { policy, shadow, agents } = options;
  const source = readEnvironment();
  const { errors: wrong, warnings: idle } = checkSettings(source);
  const isUnread = wrong.some(({ field }) => field?.startsWith('REDIS_URL'));
  const missing = agents !== undefined && !isUnread ? listMissing(source) : [];
  const files = await checkFiles(options);
  const errors = [...wrong, ...files.flatMap(({ problems }) => problems)];
  const warnings = [...idle, ...missing, ...files.flatMap((file) => file.warnings)];
  if (json) writeJson(output, { errors, warnings });
  else {
    for (const { code, message } of errors) writeFinding(output, 'wrong', `${code}: ${message}`);
    for (const warning of warnings) writeFinding(output, 'warning', warning);
    if (errors.length === 0) writeFinding(output, 'ok', `${listRead(policy, shadow, agents)} can be read`);
  }
  return errors.length === 0 ? 0 : 1;
}

function writeFinding(output: Output, state: 'ok' | 'warning' | 'wrong', what: string): void {
  output.text(state.padEnd('warning'.length), state);
  output.line(`  ${what}`);
}

/** What a worker does not start without. A check may run where no worker will, so it is not wrong here. */
function listMissing(source: SettingSource): string[] {
  const { text } = findText(source, 'REDIS_URL');
  return text === undefined ? ['REDIS_URL: not set, and a worker needs it'] : [];
}

function listRead(...files: readonly (string | undefined)[]): string {
  return ['the environment', ...files.filter((file) => file !== undefined)].join(', ');
}

/** What is wrong in each file, then what of them cannot work; not under a policy that is not known. */
async function checkFiles({ policy, shadow, agents, roles }: CheckOptions): Promise<Report[]> {
  const hasSummarizers = readRoles(roles).includes('summarization');
  const base = await examinePolicyFile(policy);
  const second = await examineTrialPolicy(shadow);
  if (agents === undefined) return [base, second, checkAlone(base), checkAlone(second)];
  const under = {
    hasSummarizers,
    ...(base.problems.length === 0 && { policy: base }),
    ...(shadow !== undefined && second.problems.length === 0 && { shadow: second }),
  };
  return [base, second, await checkAgents(agents, under)];
}

/** Limits that no agent's own settings are merged over. */
function checkAlone(source: PolicySource): Report {
  try {
    completeAlone(source);
    return { problems: [], warnings: [] };
  } catch (error) {
    return { problems: [known(error)], warnings: [] };
  }
}

interface Policies {
  readonly policy?: PolicySource;
  readonly shadow?: PolicySource;
  readonly hasSummarizers: boolean;
}

/** Each agent, and under those policies that are known, as the worker would prepare it. */
async function checkAgents(path: string, { policy, shadow, hasSummarizers }: Policies): Promise<Report> {
  try {
    const { agents, warnings, problems } = await examineModule(path);
    const live = policy === undefined ? [] : await examineAgents(agents, policy.policy, hasSummarizers);
    const shadowed = shadow === undefined ? [] : await examineShadow(agents, shadow.policy);
    const sources = { policy: policy ?? NO_FILE, ...(shadow && { shadow }) };
    const placed = [...live, ...shadowed].map((error) => known(placeAgentError(error, agents, sources)));
    return {
      problems: [...problems, ...placed],
      warnings: warnings.map((warning) => `${path}: ${warning}`),
    };
  } catch (error) {
    return { problems: [known(error)], warnings: [] };
  }
}

function known(error: unknown): TurnfoldError {
  if (isTurnfoldError(error)) return error;
  throw error;
}
