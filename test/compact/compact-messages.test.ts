import { describe, expect, test } from 'vitest';
import { compactMessages } from '../../src/compact.ts';
import { runTurnfold, writeTemporary } from '../cli/run-turnfold.ts';
import { DIALECTS, page, stepOf } from './dialects.ts';
import { expectPaired } from './requests.ts';

const chat = DIALECTS['openai-chat'];
if (chat === undefined) throw new Error('no dialect');
const history = (steps: number): unknown[] => Array.from({ length: steps }, (_, step) => stepOf(chat, step)).flat();

describe('compactMessages with a context below the thresholds', () => {
  test('compactMessages returns the given list itself if the context is below the thresholds', async () => {
    const messages = history(3);
    const { messages: returned, changed, report } = await compactMessages({ messages, window: 100_000 });
    expect(returned).toBe(messages);
    expect(changed).toBe(false);
    expect(report).toMatchObject({ kind: 'none', reasons: [], archived: 0, ranges: [], notes: [], errors: [] });
    expect(report.tokensAfter).toBe(report.tokensBefore);
  });

  test('compactMessages returns the given list itself if the caller passes the result of the previous compaction', async () => {
    const first = await compactMessages({ messages: history(20), window: 8_000 });
    expect(first.changed).toBe(true);
    for (const state of [undefined, first.state]) {
      const again = await compactMessages({ messages: first.messages, window: 8_000, ...(state && { state }) });
      expect(again).toMatchObject({ changed: false, report: { kind: 'none' } });
      expect(again.messages).toBe(first.messages);
    }
  });

  test('compactMessages returns an empty list itself', async () => {
    const messages: unknown[] = [];
    expect((await compactMessages({ messages, window: 100 })).messages).toBe(messages);
  });
});

describe('compactMessages with a context above the thresholds', () => {
  test('compactMessages returns the given objects for messages that stay, and reports the ranges of messages that do not', async () => {
    const messages = history(20);
    const { messages: returned, report } = await compactMessages({ messages, window: 8_000 });
    const kept = returned.filter((message) => messages.includes(message));
    expect(kept.length).toBeGreaterThan(4);
    expect(returned.at(-1)).toBe(messages.at(-1));
    const added = returned.filter((message) => !messages.includes(message));
    expect(added.length).toBeGreaterThan(0);
    for (const message of added) expect(JSON.stringify(message)).toMatch(/<summary version=|\[excerpt of|masked/);
    expect(report).toMatchObject({ kind: 'summarize', notes: [], errors: [] });
    expect(report.tokensAfter).toBeLessThan(report.tokensBefore);
    const hidden = report.ranges.flatMap(({ from, to }) => messages.slice(from, to + 1));
    expect(hidden.length + kept.length).toBe(messages.length);
    expect(hidden.filter((message) => kept.includes(message))).toStrictEqual([]);
  });

  test('compactMessages produces the same context as the command `turnfold compact`', async () => {
    const messages = history(20);
    const file = await writeTemporary('talk.jsonl', [{ id: 'talk', messages }]);
    const policy = await writeTemporary('policy.yaml', 'max_tokens: 5000\nretention_window: 4');
    const { stdout } = await runTurnfold(['compact', file, '--policy', policy, '--json']);
    const printed = JSON.parse(stdout) as { messages: { content: string }[]; report: { tokensAfter: number } };
    const { messages: returned, report } = await compactMessages({
      messages,
      policy: { max_tokens: 5_000, retention_window: 4 },
      force: true,
    });
    expect(report.tokensAfter).toBe(printed.report.tokensAfter);
    expect(returned.map((message) => (message as { content: string | null }).content ?? '')).toStrictEqual(
      printed.messages.map(({ content }) => content),
    );
  });

  test('compactMessages counts the system prompt and the tools of the request', async () => {
    const messages = history(6);
    const before = await compactMessages({ messages, window: 100_000 });
    const system = 'You read pages. '.repeat(100);
    const tools = [{ name: 'look', description: 'Looks. '.repeat(3_000) }];
    const withPrompt = await compactMessages({ messages, window: 100_000, system });
    expect(withPrompt.report.tokensBefore - before.report.tokensBefore).toBeGreaterThan(300);
    expect(await compactMessages({ messages, window: 9_000 })).toMatchObject({ changed: false });
    expect(await compactMessages({ messages, window: 9_000, tools })).toMatchObject({ changed: true });
  });

  test('compactMessages uses the caller’s summary text, and writes the summary by rules if the caller’s function fails', async () => {
    const messages = history(20);
    const asked: unknown[] = [];
    const own = await compactMessages({
      messages,
      window: 8_000,
      summarize: async ({ messages: range, maxTokens }) => {
        asked.push({ count: range.length, maxTokens });
        return 'Pages of invoices were read.';
      },
    });
    expect(asked.length).toBeGreaterThan(0);
    expect(JSON.stringify(own.messages)).toContain('Pages of invoices were read.');
    expect(own.report.ranges[0]).toMatchObject({ kind: 'summary', by: 'caller' });
    const failure = new Error('the model is away');
    const failed = await compactMessages({ messages, window: 8_000, summarize: () => Promise.reject(failure) });
    expect(failed.report.errors).toContain(failure);
    expect(failed.report.ranges[0]).toMatchObject({ kind: 'summary', by: 'structural' });
  });
});

describe('compactMessages with an invalid history', () => {
  test('compactMessages adds a result for a call without a result if the conversation went on, and keeps all given messages', async () => {
    const open = chat.call('call-1', { page: 1 });
    const messages = [chat.user('Look.'), ...open, chat.user('Never mind.')];
    const { messages: returned, changed, report } = await compactMessages({ messages, window: 100_000 });
    expect(changed).toBe(true);
    expect(returned.filter((message) => messages.includes(message))).toStrictEqual(messages);
    expect(returned[2]).toMatchObject({ role: 'tool', tool_call_id: 'call-1' });
    expect(report.notes).toMatchObject([{ kind: 'repaired', at: 'messages[1]' }]);
    const again = await compactMessages({ messages: returned, window: 100_000 });
    expect(again).toMatchObject({ changed: false, report: { notes: [] } });
  });

  test.each(['anthropic', 'openai-responses', 'openai-agents', 'ai-sdk', 'langchain', 'turnfold'] as const)(
    'compactMessages adds a missing tool result in the format %s',
    async (format) => {
      const dialect = DIALECTS[format];
      if (dialect === undefined) throw new Error(`no dialect ${format}`);
      const given = [dialect.user('Look.'), ...dialect.call('call-1', { page: 1 }), dialect.user('Never mind.')];
      const { messages } = await compactMessages({ messages: given, format, window: 100_000 });
      expect(messages).toHaveLength(given.length + 1);
      expect(messages.filter((message) => given.includes(message))).toStrictEqual(given);
      expectPaired(messages);
    },
  );
});

describe('compactMessages with invalid input', () => {
  const messages = history(2);
  const limits = { windowTokens: 0, outputCapTokens: 100, upperBoundFactor: 1 };

  test.each<[string, Record<string, unknown>, string, string]>([
    ['no messages', { messages: 'hello', window: 9 }, 'invalid_input', 'messages'],
    ['an unknown format', { format: 'cobol', window: 9 }, 'invalid_input', 'format'],
    ['an unknown option', { windowTokens: 9, window: 9 }, 'invalid_input', 'windowTokens'],
    ['no limit', {}, 'invalid_input', 'window'],
    ['a window that is no size', { window: 0 }, 'invalid_input', 'window'],
    ['limits that are no sizes', { limits }, 'invalid_input', 'limits.windowTokens'],
    ['an unknown model', { model: 'acme/one' }, 'invalid_config', 'model'],
    [
      'a wrong setting',
      { window: 9_000, policy: { retention_window: -1 } },
      'invalid_policy',
      'policy.retention_window',
    ],
    ['a policy with a model', { window: 9, policy: { summarizer: 'native' } }, 'invalid_policy', 'policy.summarizer'],
    ['a state of something else', { window: 9, state: { form: 7 } }, 'invalid_input', 'state.form'],
    ['a summarizer that is no function', { window: 9, summarize: 'gpt' }, 'invalid_input', 'summarize'],
    [
      'an unknown part',
      { window: 9, messages: [{ role: 'user', content: [{ type: 'hologram' }] }] },
      'invalid_input',
      'messages[0].content[0].type',
    ],
    [
      'a result without a call',
      { window: 9, messages: [...messages, ...chat.result('other', 'x')] },
      'orphan_result',
      'messages[5].toolCallId',
    ],
    [
      'a message that is a number',
      { window: 9, messages: [{ role: 'user', content: 'a' }, 7] },
      'invalid_input',
      'messages[1]',
    ],
  ])('compactMessages refuses %s with an error that names the field', async (_, options, code, field) => {
    const given = { messages, ...options } as never;
    await expect(compactMessages(given)).rejects.toMatchObject({ name: 'TurnfoldError', code, field });
  });

  test.each<[string, Record<string, unknown>, string, string]>([
    ['a system prompt', { window: 1_000, system: 'x '.repeat(1_200) }, 'invalid_policy', 'window'],
    ['tools', { window: 1_000, tools: ['x '.repeat(1_200)] }, 'invalid_input', 'tools'],
    [
      'a system prompt above the target of the policy',
      { window: 9_000, policy: { max_tokens: 500 }, system: 'x '.repeat(600) },
      'invalid_policy',
      'policy.maxTokens',
    ],
  ])(
    'compactMessages refuses %s that leaves no room for messages, and names the option',
    async (_, options, code, field) => {
      await expect(compactMessages({ messages, ...options })).rejects.toMatchObject({ code, field });
    },
  );

  test('compactMessages refuses messages that cannot fit, and reports the sizes of their parts', async () => {
    const large = [chat.user(page(1).repeat(20))];
    await expect(compactMessages({ messages: large, window: 5_000 })).rejects.toMatchObject({
      code: 'budget_infeasible',
      details: { open: expect.any(Number) as number },
    });
  });
});

describe('the state that compactMessages returns', () => {
  test('compactMessages ignores a state that belongs to other messages', async () => {
    const { state } = await compactMessages({ messages: history(20), window: 8_000 });
    const others = [chat.user('Another question.'), ...history(20).slice(1)];
    const [without, withState] = await Promise.all([
      compactMessages({ messages: others, window: 8_000 }),
      compactMessages({ messages: others, window: 8_000, state }),
    ]);
    expect(withState.messages).toStrictEqual(without.messages);
    expect(JSON.stringify(withState.messages)).toContain('Another question.');
  });

  test('the state of compactMessages contains no text of a message except the summaries', async () => {
    const secret = 'the owner is Grace Hopper';
    const messages = [...history(20), chat.user(secret)];
    const { state } = await compactMessages({ messages, window: 8_000 });
    expect(JSON.stringify(state)).not.toContain(secret);
  });
});
