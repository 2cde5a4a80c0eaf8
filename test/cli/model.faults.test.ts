import { describe, expect, test } from 'vitest';
import { type ProviderOptions, startProvider } from '../provider/provider.ts';
import { readJsonLines, runTurnfold } from './run-turnfold.ts';

const KEY = 'sk-test-not-to-be-seen';
const MODELS = ['anthropic/claude-sonnet-5-5', 'openai/gpt-6.1-sol', 'openai-chat/gpt-4o'] as const;

function envOf(url: string): Record<string, string> {
  return {
    ANTHROPIC_API_KEY: KEY,
    OPENAI_API_KEY: KEY,
    ANTHROPIC_BASE_URL: url,
    OPENAI_BASE_URL: `${url}/v1`,
  };
}

/** Reads a file at every second request, so that contexts grow and are compacted. */
function readsFiles(): NonNullable<ProviderOptions['answers']> {
  let count = 0;
  return () => {
    count += 1;
    return count % 2 === 1
      ? { thinking: 'I look.', calls: [{ name: 'read', arguments: { path: 'README.md' } }] }
      : { text: `It says a lot. (${count})` };
  };
}

describe.each(MODELS)('the model %s', (model) => {
  test('turnfold demo --model runs the whole conversation, and a provider that checks every format rule refuses nothing', async () => {
    await using provider = await startProvider({ answers: readsFiles(), apiKey: KEY });
    const run = await runTurnfold(['demo', '--model', model, '--json'], { env: envOf(provider.url) });
    expect(run.code, run.stderr).toBe(0);
    const outcome = readJsonLines(run.stdout).at(-1);
    expect(outcome).toMatchObject({ overLimit: 0 });
    expect(outcome?.['versions']).toBeGreaterThanOrEqual(2);
    expect(provider.requests.filter(({ refusal }) => refusal !== undefined)).toEqual([]);
    expect(run.stdout + run.stderr).not.toContain(KEY);
  });
});

test('turnfold demo refuses a model without an API key before it starts anything', async () => {
  const env = { OPENAI_API_KEY: '' };
  const run = await runTurnfold(['demo', '--model', 'openai/gpt-5'], { env });
  expect(run).toMatchObject({ code: 1, stdout: '' });
  expect(run.stderr).toContain('OPENAI_API_KEY');
});
