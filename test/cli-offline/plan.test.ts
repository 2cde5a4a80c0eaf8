import { describe, expect, test } from 'vitest';
import { readJsonLines, runTurnfold, writeTemporary } from '../cli/run-turnfold.ts';
import { result, says, system, toolTurns, user } from './talks.ts';

async function plan(lines: readonly unknown[], policy = '', ...args: string[]) {
  const file = await writeTemporary('talks.jsonl', lines);
  const policyFile = await writeTemporary('policy.yaml', policy);
  return await runTurnfold(['plan', file, '--policy', policyFile, ...args]);
}

async function planOne(messages: readonly unknown[], policy: string) {
  const { code, stdout, stderr } = await plan([{ id: 'talk', messages }], policy, '--json');
  expect({ code, stderr }).toStrictEqual({ code: 0, stderr: '' });
  expect(stdout.endsWith('\n')).toBe(true);
  return readJsonLines(stdout)[0];
}

describe('a plan in JSON', () => {
  test('turnfold plan summarizes sequences and names them by 0-based, inclusive indexes of the messages', async () => {
    const messages = [system, ...toolTurns(4)];
    const planned = await planOne(messages, 'token_threshold: 2000\nmax_tokens: 1900');
    expect(planned).toStrictEqual({
      id: 'talk',
      kind: 'summarize',
      reasons: ['token_threshold'],
      tokens: expect.any(Number) as number,
      messages: 17,
      turns: 4,
      sequences: [
        { from: 2, to: 4 },
        { from: 6, to: 8 },
      ],
      evict: [],
      division: {
        budget: 1_897,
        fixed: expect.any(Number) as number,
        users: expect.any(Number) as number,
        summaries: expect.any(Number) as number,
        tail: expect.any(Number) as number,
      },
      protected: [0, 1, 10, 11, 12, 13, 14, 15, 16],
      prefixTokens: expect.any(Number) as number,
    });
    const { budget = 0, ...parts } = (planned?.['division'] ?? {}) as Record<string, number>;
    expect(Object.values(parts).reduce((sum, tokens) => sum + tokens, 0)).toBeLessThanOrEqual(budget);
  });

  test('turnfold plan evicts messages if there is nothing to summarize', async () => {
    const messages = [
      system,
      ...Array.from({ length: 20 }, (_, index) => [user(`q${index}`), says(`a${index}`)]).flat(),
    ];
    const planned = await planOne(messages, 'message_threshold: 10\nretention_window: 2\nkeep_first_user: false');
    expect(planned).toMatchObject({ kind: 'evict', reasons: ['message_threshold'], sequences: [], turns: 20 });
    const [range] = (planned?.['evict'] ?? []) as { from: number; to: number }[];
    expect(range?.from).toBe(1);
    // The remaining messages begin with a user message.
    expect(messages[(range?.to ?? 0) + 1]).toMatchObject({ role: 'user' });
  });

  test('turnfold plan of a small conversation has the strategy `none` and the same JSON keys as other plans', async () => {
    expect(await planOne([user('hi'), says('hello')], '')).toStrictEqual({
      id: 'talk',
      kind: 'none',
      reasons: [],
      tokens: expect.any(Number) as number,
      messages: 2,
      turns: 1,
      sequences: [],
      evict: [],
      division: null,
      protected: [0, 1],
      prefixTokens: expect.any(Number) as number,
    });
  });

  test('turnfold plan reports `infeasible` if max_tokens is smaller than the messages that the policy must keep', async () => {
    const planned = await planOne([user('much '.repeat(500))], 'token_threshold: 10\nmax_tokens: 5');
    expect(planned).toMatchObject({ kind: 'infeasible', reasons: ['token_threshold'], evict: [], protected: [0] });
  });

  test('turnfold plan keeps a pinned message together with its tool calls and results', async () => {
    const messages = [system, ...toolTurns(4)];
    messages[3] = { ...(messages[3] as object), pinned: true };
    const planned = await planOne(messages, 'token_threshold: 2400\nmax_tokens: 2300');
    expect(planned?.['protected']).toEqual(expect.arrayContaining([2, 3]));
    expect(planned?.['sequences']).toStrictEqual([{ from: 6, to: 8 }]);
  });
});

test('turnfold plan reads messages in the chat format of OpenAI', async () => {
  const messages = [
    { role: 'developer', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'Which files?' }] },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'ls', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'a', content: 'README.md' },
  ];
  expect(await planOne(messages, '')).toMatchObject({ messages: 4, turns: 1, protected: [0, 1, 2, 3] });
});

test('turnfold plan reports each conversation that it refuses and plans the others', async () => {
  const talk = { id: 'good', messages: [user('hi')] };
  const orphan = { id: 'orphan', messages: [user('hi'), result('nobody')] };
  const malformed = { id: 'malformed', messages: [{ role: 'robot', content: '' }] };
  const empty = { id: 'empty', messages: 'none' };
  const { code, stdout, stderr } = await plan([orphan, malformed, 'no conversation', empty, talk], '', '--json');
  expect(code).toBe(1);
  expect(readJsonLines(stdout)).toMatchObject([
    { id: 'orphan', error: { code: 'orphan_result', field: 'messages[1].toolCallId' } },
    { id: 'malformed', error: { code: 'invalid_input', field: 'messages[0].role' } },
    { id: 'line-3', error: { code: 'invalid_input', field: 'line 3' } },
    { id: 'empty', error: { code: 'invalid_input', field: 'messages' } },
    { id: 'good', kind: 'none' },
  ]);
  expect(stderr).toContain('turnfold: orphan: orphan_result: messages[1].toolCallId:');
});

test('turnfold plan without --json prints one line per conversation, and errors to standard error', async () => {
  const lines = [{ id: 'talk', messages: toolTurns(4) }, 5];
  const { code, stdout, stderr } = await plan(lines, 'token_threshold: 1000\nmax_tokens: 800');
  expect(code).toBe(1);
  expect(stdout.trimEnd()).toMatch(
    /^summarize {3}talk {2}\(token_threshold; \d+ tokens, 16 messages, turns: 4\) {2}messages [\d-]+ {2}tokens 797: fixed \d+, users \d+, summaries \d+, tail \d+ {2}unchanged at the start: 0 of \d+ tokens$/,
  );
  expect(stdout.trim().split('\n')).toHaveLength(1);
  expect(stderr).toContain('line-2');
});

describe('a policy', () => {
  test('a policy file has the same effect in snake_case, in camelCase and under `compact`', async () => {
    const messages = toolTurns(6);
    const policies = [
      'token_threshold: 1000\nmax_tokens: 800\nretention_window: 2',
      'tokenThreshold: 1000\nmaxTokens: 800\nretentionWindow: 2',
      'compact:\n  token_threshold: 1000\n  max_tokens: 800\n  retention_window: 2',
    ];
    const plans = await Promise.all(policies.map((policy) => planOne(messages, policy)));
    expect(plans[0]).toMatchObject({ kind: 'summarize' });
    expect(plans[1]).toStrictEqual(plans[0]);
    expect(plans[2]).toStrictEqual(plans[0]);
  });

  test('a policy with the retired key `transforms` causes a warning that names `compact`', async () => {
    const { code, stdout, stderr } = await plan(
      [{ messages: [user('hi')] }],
      'transforms: []\nmax_tokens: 9',
      '--json',
    );
    expect(code).toBe(0);
    expect(readJsonLines(stdout)).toHaveLength(1);
    expect(stderr).toMatch(/warning: \S+policy\.yaml: `transforms` .*`compact`/);
  });

  test.each([
    ['threshold_ratio', 'threshold_ratio: 1.5'],
    ['compact.bogus_key', 'compact: { bogus_key: 1 }'],
    ['max_tokens', 'max_tokens: -5'],
    ['max_tokens', 'max_tokens: many'],
    ['max_tokens', 'max_tokens: 5\nmaxTokens: 5'],
    ['strategy.evict', 'strategy: { evict: 0 }'],
    ['strategy', 'strategy: { keep: 1 }'],
    ['token_threshold', 'token_threshold: 50\nmax_tokens: 100'],
    ['policy.yaml', 'max_tokens: [1,\nretain: }'],
    ['policy', 'just text'],
  ])(
    'an error of a policy that cannot work names the file and the setting %s in the spelling of the file',
    async (field, policy) => {
      const { code, stdout, stderr } = await plan([{ messages: [user('hi')] }], policy, '--json');
      expect({ code, stdout }).toStrictEqual({ code: 1, stdout: '' });
      const { error } = JSON.parse(stderr) as { error: { code: string; field: string; message: string } };
      expect(error.code).toBe('invalid_policy');
      expect(error.message).toContain(field);
      expect(error.message).toMatch(/^\S+policy\.yaml:(\d+:)? /);
    },
  );
});

test.each(['plan', 'compact', 'replay'])(
  'turnfold %s reports that an empty file contains no conversations',
  async (command) => {
    const file = await writeTemporary('talks.jsonl', []);
    const { code, stdout, stderr } = await runTurnfold([command, file]);
    expect({ code, stdout }).toStrictEqual({ code: 0, stdout: '' });
    expect(stderr).toMatch(/^turnfold: \S*talks\.jsonl has no conversations$/m);
  },
);

test('turnfold plan reports an unreadable file in one line without a stack', async () => {
  const file = await writeTemporary('talks.jsonl', [{ messages: [] }]);
  for (const args of [
    ['plan', '/nowhere/talks.jsonl'],
    ['plan', file, '--policy', '/nowhere/p.yaml'],
    ['plan', '/'],
  ]) {
    const { code, stdout, stderr } = await runTurnfold(args);
    expect({ code, stdout }).toStrictEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^turnfold: not_found: \S+: cannot be read: [a-z, ]+ \(E[A-Z]+\)\n$/);
  }
});
