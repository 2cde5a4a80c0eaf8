import { describe, expect, it } from 'vitest';
import { TurnfoldError } from '../../src/domain/errors.ts';
import { placeError } from '../../src/host/policy-text.ts';
import { parseYaml } from '../../src/host/yaml-document.ts';
import { parsePolicy } from '../../src/index.ts';
import { errorOf } from '../domain/error-of.ts';

it('parsePolicy reads a policy file in the same way as the command line does', () => {
  const { policy, warnings } = parsePolicy('transforms: []\ncompact:\n  max_tokens: 1000\n  strategy: { retain: 4 }');
  expect(policy).toEqual({ maxTokens: 1_000, strategy: { retain: 4 } });
  expect(warnings).toEqual([expect.stringContaining('`transforms` is retired')]);
  expect(parsePolicy('')).toEqual({ policy: {}, warnings: [] });
});

describe('an error about a policy spells the setting as the policy text does, and contains its line', () => {
  it.each([
    ['max_tokens: many', 'max_tokens', 'policy:1: max_tokens: '],
    ['maxTokens: many', 'maxTokens', 'policy:1: maxTokens: '],
    ['# ours\ncompact:\n  hard_ratio: 3', 'compact.hard_ratio', 'policy:3: compact.hard_ratio: '],
    [
      'retention_window: 4\nstrategy:\n  min:\n    - { evict: 4 }',
      'strategy.min[0].evict',
      'policy:4: strategy.min[0].evict: ',
    ],
    ['summarizer:\n  prompt: 7', 'summarizer', 'policy:1: summarizer: '],
    ['\n\nmin_sequence_tokns: 3', 'min_sequence_tokns', 'policy:3: min_sequence_tokns: a policy has no such setting'],
    ['max_tokens: 3\nmaxTokens: 4', 'max_tokens', 'policy:1: max_tokens: set twice, as maxTokens and'],
    ['max_tokens: 3\ncompact: {}', 'max_tokens', 'policy:1: max_tokens: is outside of `compact`'],
    ['max_tokens: [', 'policy', 'policy: '],
    ['- max_tokens', '', 'policy: expected an object with settings'],
  ])('the error about the policy text %j spells the setting as the text does: %s', (yaml, field, message) => {
    const error = errorOf(() => parsePolicy(yaml));
    expect(error).toMatchObject({ code: 'invalid_policy' });
    expect(error.message).toContain(message);
    expect(error.field?.startsWith(field)).toBe(true);
  });

  it('an error about the sum of several policy settings spells them as the policy text does', () => {
    const document = parseYaml('token_threshold: 100\nmax_tokens: 6000', { name: 'policy.yml' });
    const sum = new TurnfoldError('invalid_policy', 'tokenThreshold: tokenThreshold 100 < maxTokens 6000', {
      field: 'tokenThreshold',
    });
    expect(placeError(sum, document, 'policy.yml')).toMatchObject({
      message: 'policy.yml:1: token_threshold: token_threshold 100 < max_tokens 6000',
      field: 'token_threshold',
    });
  });

  it('an error about a default policy value has the line of another setting that the error mentions', () => {
    const document = parseYaml('# window\nmax_tokens: 9000', { name: 'policy.yml' });
    const sum = new TurnfoldError(
      'invalid_policy',
      'thresholdRatio: thresholdRatio 0.85 × usable 10 < maxTokens 9000',
      {
        field: 'thresholdRatio',
      },
    );
    expect(placeError(sum, document, 'policy.yml').message).toBe(
      'policy.yml:2: thresholdRatio: thresholdRatio 0.85 × usable 10 < max_tokens 9000',
    );
  });
});
