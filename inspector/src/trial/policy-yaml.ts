import type { Policy } from '../../../src/domain/policy.ts';

export type TrialPolicy = Pick<Policy, 'retentionWindow' | 'maskToolResults' | 'scope' | 'keepFirstUser'> & {
  readonly maxTokens: number;
};

/** Default settings of a trial. A test compares them with the defaults of turnfold. */
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

/** The agent's policy, as a worker recorded it. The page knows only the settings of a trial. */
export type AgentSettings = Readonly<Record<string, unknown>>;

export function firstTrial(settings: AgentSettings, maxTokens: number): TrialPolicy {
  const own = Object.keys(TRIAL_DEFAULTS).filter((name) => settings[name] !== undefined);
  return { ...TRIAL_DEFAULTS, ...Object.fromEntries(own.map((name) => [name, settings[name]])), maxTokens };
}

/** Writes the file for `turnfold worker --policy`. YAML reads a JSON value as the same value. */
export function writePolicyYaml(policy: TrialPolicy, settings: AgentSettings = {}): string {
  const names = Object.keys(COMMENTS) as (keyof TrialPolicy)[];
  const tried = names.map((name) => `# ${COMMENTS[name]}\n${toLine(name, policy[name])}`);
  const others = Object.entries(settings).filter(([name, value]) => {
    // turnfold refuses a token threshold below the budget, so the file leaves such a threshold out.
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
