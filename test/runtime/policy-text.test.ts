import { expect, it } from 'vitest';
import { parsePolicy } from '../../src/index.ts';
import { errorOf } from '../domain/error-of.ts';

it('a policy file is read as the command line reads it', () => {
  const { policy, warnings } = parsePolicy('transforms: []\ncompact:\n  max_tokens: 1000\n  strategy: { retain: 4 }');
  expect(policy).toEqual({ maxTokens: 1_000, strategy: { retain: 4 } });
  expect(warnings).toEqual([expect.stringContaining('`transforms` is retired')]);
  expect(parsePolicy('')).toEqual({ policy: {}, warnings: [] });
});

it.each([
  ['max_tokens: many', 'maxTokens'],
  ['compact: { hard_ratio: 3 }', 'compact.hardRatio'],
  ['max_tokens: [', 'policy'],
])('%s is refused, and named', (yaml, field) => {
  expect(errorOf(() => parsePolicy(yaml))).toMatchObject({ code: 'invalid_policy', field });
});
