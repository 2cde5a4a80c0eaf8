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

/**
 * Writes a policy as a YAML file for `turnfold worker --policy`. Every value is a number, a boolean or one of two words,
 * so that no value needs quotes.
 */
export function writePolicyYaml(policy: TrialPolicy): string {
  const names = Object.keys(COMMENTS) as (keyof TrialPolicy)[];
  return names.map((name) => `# ${COMMENTS[name]}\n${toSnakeCase(name)}: ${policy[name]}\n`).join('');
}

function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
