import { expect, test } from 'vitest';
import { parse } from 'yaml';
import {
  firstTrial,
  TRIAL_DEFAULTS,
  type TrialPolicy,
  writePolicyYaml,
} from '../../inspector/src/trial/policy-yaml.ts';
import { readPolicy } from '../../src/domain/policy-input.ts';

const policy: TrialPolicy = {
  maxTokens: 12_000,
  retentionWindow: 8,
  maskToolResults: true,
  scope: 'prefix',
  keepFirstUser: false,
};

test('the inspector writes a policy file that turnfold reads as the same settings', () => {
  expect(readPolicy(parse(writePolicyYaml(policy)))).toEqual({ policy, warnings: [] });
});

test('the policy file has settings in snake_case, each below a comment with its meaning', () => {
  expect(writePolicyYaml(policy).split('\n').slice(0, 2)).toEqual([
    '# compact to this many tokens',
    'max_tokens: 12000',
  ]);
});

test('a trial begins with the settings of the agent, and with the defaults for missing settings', () => {
  const settings = { retentionWindow: 2, strategy: { evict: 0.3 }, maxTokens: 9_000 };
  expect(firstTrial(settings, 5_000)).toEqual({ ...TRIAL_DEFAULTS, retentionWindow: 2, maxTokens: 5_000 });
});

test('the policy file keeps the other settings of the agent, but no threshold below the budget', () => {
  const settings = { retentionWindow: 2, strategy: { min: [{ evict: 0.3 }, { retain: 4 }] }, onTurnEnd: true };
  const read = (tokenThreshold: number) => readPolicy(parse(writePolicyYaml(policy, { ...settings, tokenThreshold })));
  const { strategy, onTurnEnd } = settings;
  expect(read(11_999).policy).toEqual({ ...policy, strategy, onTurnEnd });
  expect(read(12_000).policy).toEqual({ ...policy, strategy, onTurnEnd, tokenThreshold: 12_000 });
});
