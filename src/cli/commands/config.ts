import { fieldError, isTurnfoldError, type TurnfoldError } from '../../domain/errors.ts';
import { examineAgents, examineShadow } from '../../host/agents.ts';
import { checkSettings } from '../../host/config/check-settings.ts';
import { describeSettings, showSettings } from '../../host/config/describe-settings.ts';
import { describePolicySchema } from '../../host/config/policy-schema.ts';
import { findText, type SettingSource } from '../../host/config/read-setting.ts';
import { readEnvironment } from '../../host/config.ts';
import { describeRetirements } from '../../host/retirements.ts';
import { examineModule } from '../load-agents.ts';
import { readRoles } from '../option-values.ts';
import { type Output, writeJson, writeResult } from '../output.ts';
import {
  completeAlone,
  examinePolicyFile,
  examineTrialPolicy,
  NO_FILE,
  type PolicySource,
  placeAgentError,
} from '../policy-file.ts';
import type { CommandContext, JsonOption } from '../run-command.ts';

/** @returns the exit code: 1 if a setting is invalid */
export function printConfig({ output }: CommandContext, { json }: JsonOption): number {
  const settings = showSettings(readEnvironment());
  const width = Math.max(...settings.map(({ name }) => name.length));
  const lines = settings.map(
    ({ name, value = 'not set', origin, problem }) =>
      `${name.padEnd(width)}  ${origin.padEnd('default'.length)}  ${problem ?? value}`,
  );
  writeResult(output, json, settings, ...lines);
  return settings.some(({ problem }) => problem !== undefined) ? 1 : 0;
}

const SCHEMAS = { settings: describeSettings, policy: describePolicySchema } as const;

export function printSchema({ output }: CommandContext, of = 'settings'): number {
  if (!Object.hasOwn(SCHEMAS, of)) {
    throw fieldError('invalid_input', 'schema', `expected ${Object.keys(SCHEMAS).join(' or ')}, got '${of}'`);
  }
  output.line(JSON.stringify(SCHEMAS[of as keyof typeof SCHEMAS](), null, 2));
  return 0;
}

interface CheckOptions extends JsonOption {
  readonly policy?: string;
  readonly shadow?: string;
  readonly agents?: string;
  readonly roles: string;
}

interface Report {
  readonly problems: readonly TurnfoldError[];
  readonly warnings: readonly string[];
}

/** Checks what a worker reads at its start. Prints all problems at once. */
export async function checkConfig({ output }: CommandContext, options: CheckOptions): Promise<number> {
  const { policy, shadow, agents, json } = options;
  const source = readEnvironment();
  const { errors: settingErrors, warnings: settingWarnings } = checkSettings(source);
  const isUnread = settingErrors.some(({ field }) => field?.startsWith('REDIS_URL'));
  const missing = agents !== undefined && !isUnread ? listMissing(source) : [];
  const files = await checkFiles(options);
  const errors = [...settingErrors, ...files.flatMap(({ problems }) => problems)];
  const warnings = [...settingWarnings, ...missing, ...files.flatMap((file) => file.warnings)];
  if (json) writeJson(output, { errors, warnings });
  else {
    for (const { code, message } of errors) writeFinding(output, 'wrong', `${code}: ${message}`);
    for (const warning of warnings) writeFinding(output, 'warning', warning);
    if (errors.length === 0) writeFinding(output, 'ok', `valid: ${listRead(policy, shadow, agents)}`);
  }
  return errors.length === 0 ? 0 : 1;
}

function writeFinding(output: Output, state: 'ok' | 'warning' | 'wrong', what: string): void {
  output.text(state.padEnd('warning'.length), state);
  output.line(`  ${what}`);
}

/** Lists missing settings. A missing REDIS_URL is a warning, because the check may run on a machine without workers. */
function listMissing(source: SettingSource): string[] {
  const { text } = findText(source, 'REDIS_URL');
  return text === undefined ? ['REDIS_URL: not set, but a worker needs it'] : [];
}

function listRead(...files: readonly (string | undefined)[]): string {
  return ['the environment', ...files.filter((file) => file !== undefined)].join(', ');
}

/** Checks each file alone, then the agents under each valid policy. */
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

function checkAlone(source: PolicySource): Report {
  try {
    completeAlone(source);
    return { problems: [], warnings: [] };
  } catch (error) {
    return { problems: [requireCode(error)], warnings: [] };
  }
}

interface Policies {
  readonly policy?: PolicySource;
  readonly shadow?: PolicySource;
  readonly hasSummarizers: boolean;
}

/** Prepares each agent with each policy, as a worker does at its start. */
async function checkAgents(path: string, { policy, shadow, hasSummarizers }: Policies): Promise<Report> {
  try {
    const { agents, warnings, problems } = await examineModule(path);
    const live = policy === undefined ? [] : await examineAgents(agents, policy.policy, hasSummarizers);
    const shadowed = shadow === undefined ? [] : await examineShadow(agents, shadow.policy);
    const sources = { policy: policy ?? NO_FILE, ...(shadow && { shadow }) };
    const placed = [...live, ...shadowed].map((error) => requireCode(placeAgentError(error, agents, sources)));
    const retiring = describeRetirements({ agents, ...(policy && { policy: policy.policy }) }, Date.now());
    return {
      problems: [...problems, ...placed],
      warnings: [...warnings, ...retiring].map((warning) => `${path}: ${warning}`),
    };
  } catch (error) {
    return { problems: [requireCode(error)], warnings: [] };
  }
}

function requireCode(error: unknown): TurnfoldError {
  if (isTurnfoldError(error)) return error;
  throw error;
}
