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

describe('a problem of a policy on trial names the option that was typed', () => {
  test.each(['compact', 'replay'])('%s: the window that is too small for it', async (command) => {
    const policy = await writeTemporary('policy.yaml', 'max_tokens: 12000');
    const told = await refusalOf(command, '--policy', policy, '--window', '8000');
    expect(told).toMatch(/^turnfold: invalid_policy: --window: thresholdRatio 0\.85 × usable 8000 = 6800 < /);
  });

  test.each(['compact', 'replay'])('%s: the file that would be wrong in any window', async (command) => {
    const policy = await writeTemporary('policy.yaml', 'max_tokens: 6000\ntoken_threshold: 100');
    const told = await refusalOf(command, '--policy', policy, '--window', '8000');
    expect(told).toContain(
      `turnfold: invalid_policy: ${policy}:2: token_threshold: token_threshold 100 < max_tokens 6000`,
    );
  });

  test('replay: the model whose window is too small, and one that is none', async () => {
    const policy = await writeTemporary('policy.yaml', 'max_tokens: 5000000');
    const model = ['--model', 'openai/gpt-6.1-sol'];
    expect(await refusalOf('replay', '--policy', policy, ...model)).toMatch(/^turnfold: invalid_policy: --model: /);
    expect(await refusalOf('replay', '--model', 'nope')).toMatch(/^turnfold: invalid_config: --model: /);
  });

  test('replay: which of two files', async () => {
    const good = await writeTemporary('good.yaml', 'max_tokens: 6000');
    const bad = await writeTemporary('bad.yaml', 'strategey: none');
    const told = await refusalOf('replay', '--policy', good, '--against', bad);
    expect(told).toContain(`turnfold: invalid_policy: ${bad}:1: strategey: no such setting`);
  });

  test('compact: the file whose summarizer cannot be had', async () => {
    const policy = await writeTemporary('policy.yaml', 'summarizer: { models: [anthropic/claude-haiku-5-5] }');
    const told = await refusalOf('compact', '--policy', policy);
    expect(told).toContain(
      `turnfold: invalid_policy: ${policy}:1: summarizer.models[0]: ANTHROPIC_API_KEY: is not set`,
    );
  });
});
