import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { type TrialPolicy, writePolicyYaml } from '../../inspector/src/trial/policy-yaml.ts';
import { readPolicy } from '../../src/domain/policy-input.ts';

const policy: TrialPolicy = {
  maxTokens: 12_000,
  retentionWindow: 8,
  maskToolResults: true,
  scope: 'prefix',
  keepFirstUser: false,
};

test('writes a policy file that turnfold reads as the same settings', () => {
  expect(readPolicy(parse(writePolicyYaml(policy)))).toEqual({ policy, warnings: [] });
});

test('writes settings in snake_case, each below its meaning', () => {
  expect(writePolicyYaml(policy).split('\n').slice(0, 2)).toEqual([
    '# compact to this many tokens',
    'max_tokens: 12000',
  ]);
});
