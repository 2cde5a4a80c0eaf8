import { describe, expect, test } from 'vitest';
import { runTurnfold, writeTemporary } from '../cli/run-turnfold.ts';
import { says, user } from './talks.ts';

async function refusalOf(...args: string[]): Promise<string> {
  const file = await writeTemporary('talks.jsonl', [{ messages: [user('hi'), says('hello')] }]);
  const [command = '', ...options] = args;
  const run = await runTurnfold([command, file, ...options]);
  expect(run).toMatchObject({ code: 1, stdout: '' });
  return run.stderr;
}

describe('an error of an offline command names the option that was typed', () => {
  test.each(['compact', 'replay'])(
    'the error of %s names --window if the window is too small for the policy',
    async (command) => {
      const policy = await writeTemporary('policy.yaml', 'max_tokens: 12000');
      const stderr = await refusalOf(command, '--policy', policy, '--window', '8000');
      expect(stderr).toMatch(/^turnfold: invalid_policy: --window: thresholdRatio 0\.85 × usable 8000 = 6800 < /);
    },
  );

  test.each(['compact', 'replay'])(
    'the error of %s names the policy file if the policy can work in no window',
    async (command) => {
      const policy = await writeTemporary('policy.yaml', 'max_tokens: 6000\ntoken_threshold: 100');
      const stderr = await refusalOf(command, '--policy', policy, '--window', '8000');
      expect(stderr).toContain(
        `turnfold: invalid_policy: ${policy}:2: token_threshold: token_threshold 100 < max_tokens 6000`,
      );
    },
  );

  test('the error of replay names --model if the window of the model is too small or the model is unknown', async () => {
    const policy = await writeTemporary('policy.yaml', 'max_tokens: 5000000');
    const model = ['--model', 'openai/gpt-6.1-sol'];
    expect(await refusalOf('replay', '--policy', policy, ...model)).toMatch(/^turnfold: invalid_policy: --model: /);
    expect(await refusalOf('replay', '--model', 'nope')).toMatch(/^turnfold: invalid_config: --model: /);
  });

  test('the error of replay names which of the files of --policy and --against is invalid', async () => {
    const good = await writeTemporary('good.yaml', 'max_tokens: 6000');
    const bad = await writeTemporary('bad.yaml', 'strategey: none');
    const stderr = await refusalOf('replay', '--policy', good, '--against', bad);
    expect(stderr).toContain(`turnfold: invalid_policy: ${bad}:1: strategey: a policy has no such setting`);
  });

  test('the error of compact names the policy file whose summarizer model has no API key', async () => {
    const policy = await writeTemporary('policy.yaml', 'summarizer: { models: [anthropic/claude-haiku-5-5] }');
    const stderr = await refusalOf('compact', '--policy', policy);
    expect(stderr).toContain(
      `turnfold: invalid_policy: ${policy}:1: summarizer.models[0]: ANTHROPIC_API_KEY: not set, but `,
    );
  });
});
