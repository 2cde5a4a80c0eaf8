import type { Policy } from '../../../src/domain/policy.ts';

/** Settings of a trial, under the names that a policy has. */
export type TrialPolicy = Pick<Policy, 'retentionWindow' | 'maskToolResults' | 'scope' | 'keepFirstUser'> & {
  readonly maxTokens: number;
};

/** Defaults of a policy, as in docs/reference/policy.md. A test compares them with those of turnfold. */
export const TRIAL_DEFAULTS: Omit<TrialPolicy, 'maxTokens'> = {
  retentionWindow: 6,
  maskToolResults: false,
  scope: 'sequences',
  keepFirstUser: true,
};

const COMMENTS: Readonly<Record<keyof TrialPolicy, string>> = {
  maxTokens: 'compact to this many tokens',
  retentionWindow: 'keep the last messages as they are',
  maskToolResults: 'shorten old tool results before anything is summarized',
  scope: 'a summary for each run between user messages, or one for everything old (prefix)',
  keepFirstUser: 'keep the first user message',
};

/** Settings of the agent's policy, as a worker recorded them. The page knows only those of a trial. */
export type AgentSettings = Readonly<Record<string, unknown>>;

/** The settings with which a trial begins: those of the agent, else the defaults. */
export function firstTrial(settings: AgentSettings, maxTokens: number): TrialPolicy {
  const own = Object.keys(TRIAL_DEFAULTS).filter((name) => settings[name] !== undefined);
  return { ...TRIAL_DEFAULTS, ...Object.fromEntries(own.map((name) => [name, settings[name]])), maxTokens };
}

/**
 * Writes a policy as a YAML file for `turnfold worker --policy`: the tried settings, then the other settings of the
 * agent. A value is written as JSON, which YAML reads as the same value.
 */
export function writePolicyYaml(policy: TrialPolicy, settings: AgentSettings = {}): string {
  const names = Object.keys(COMMENTS) as (keyof TrialPolicy)[];
  const tried = names.map((name) => `# ${COMMENTS[name]}\n${toLine(name, policy[name])}`);
  const others = Object.entries(settings).filter(([name, value]) => {
    // A threshold below the budget is refused. Without it, the share of the window decides.
    return !(name in COMMENTS) && !(name === 'tokenThreshold' && Number(value) < policy.maxTokens);
  });
  const kept = others.map(([name, value]) => toLine(name, value));
  return [...tried, ...(kept.length === 0 ? [] : ['# as the agent has it\n', ...kept])].join('');
}

function toLine(name: string, value: unknown): string {
  return `${toSnakeCase(name)}: ${typeof value === 'string' ? value : JSON.stringify(value)}\n`;
}

function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
