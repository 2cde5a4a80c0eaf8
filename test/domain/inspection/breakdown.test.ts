import { describe, expect, test } from 'vitest';
import {
  addFixedTexts,
  addItems,
  CategorySums,
  type FixedTexts,
  type SizedThinking,
  sizeThinking,
} from '../../../src/compaction/inspection/breakdown.ts';
import type { Category } from '../../../src/compaction/inspection/names.ts';
import { readThinking } from '../../../src/compaction/inspection/thinking.ts';
import { runToEnd } from '../../../src/domain/interruptible.ts';
import { resolveLimits } from '../../../src/domain/limits.ts';
import type { Message } from '../../../src/domain/message.ts';
import { completePolicy } from '../../../src/domain/policy.ts';
import { limitsOf, listThresholds, readFacts } from '../../../src/domain/request-facts.ts';
import type { ContextItem } from '../../../src/domain/version.ts';
import { toolResult, user } from '../messages.ts';

/** One token a character, so that sums can be read. */
const count = (text: string): number => text.length;

function thinkingOf(message: Message): SizedThinking | undefined {
  const thinking = readThinking(message);
  return thinking && sizeThinking(thinking, count(thinking.text));
}

function sumOf(items: readonly ContextItem[], version = 0): Map<Category, { tokens: number; count: number }> {
  const sums = new CategorySums();
  runToEnd(addItems(sums, { items, version, count, thinkingOf }));
  return new Map(sums.list().map(({ name, tokens, count: pieces }) => [name, { tokens, count: pieces }]));
}

const item = (from: number, message: Message, tokens = 10): ContextItem => ({
  from,
  to: from,
  message,
  tokens,
  bytes: 4 * tokens,
});

const thought = (version: number | undefined, text: string): Message['raw'] => ({
  format: 'anthropic',
  model: 'm',
  ...(version !== undefined && { version }),
  items: [{ type: 'thinking', thinking: text, signature: 's' }],
});

describe('the token counts of a context by category', () => {
  test('each message counts in the category of its role, and its tool calls and thinking count in categories of their own', () => {
    const call = { id: 'c1', name: 'look', arguments: '{"a":1}' };
    const sums = sumOf([
      item(1, { role: 'system', content: 'rules' }),
      item(2, user('hello')),
      item(3, { role: 'assistant', content: 'I look', toolCalls: [call], raw: thought(undefined, 'think') }, 25),
      item(4, toolResult('c1', 'there')),
      item(5, { role: 'summary', content: 'before', summary: { from: 5, to: 9 } }),
      {
        ...item(10, toolResult('c1', 'mask')),
        segment: { kind: 'masked', from: 10, to: 10, weight: { tokens: 10, bytes: 1 } },
      },
      item(11, user('keep', { pinned: true })),
    ]);
    expect(Object.fromEntries(sums)).toEqual({
      system: { tokens: 10, count: 1 },
      tools: { tokens: 0, count: 0 },
      pins: { tokens: 10, count: 1 },
      summaries: { tokens: 10, count: 1 },
      user: { tokens: 10, count: 1 },
      assistant: { tokens: 14, count: 1 },
      reasoning: { tokens: 5, count: 1 },
      calls: { tokens: 11, count: 1 },
      results: { tokens: 10, count: 1 },
      masked: { tokens: 10, count: 1 },
    });
  });

  test('a message with only a tool call counts the tokens of its delimiters for the assistant, without listing a piece', () => {
    const sums = new CategorySums();
    const message: Message = { role: 'assistant', content: '', toolCalls: [{ id: 'c', name: 'go', arguments: '{}' }] };
    runToEnd(addItems(sums, { items: [item(1, message, 8)], version: 0, count, thinkingOf }));
    const assistant = sums.list().find(({ name }) => name === 'assistant');
    expect(assistant).toEqual({ name: 'assistant', tokens: 4, count: 1, largest: [] });
    expect(sums.tokens).toBe(8);
  });

  test('the thinking of a message counts only under the context version for which the model wrote it, because a provider refuses other thinking', () => {
    const message: Message = { role: 'assistant', content: 'a', raw: thought(2, 'think') };
    expect(sumOf([item(1, message)], 2).get('reasoning')).toEqual({ tokens: 5, count: 1 });
    expect(sumOf([item(1, message)], 3).get('reasoning')).toEqual({ tokens: 0, count: 0 });
  });

  test('a category lists its five largest pieces by falling size, and names the tool of each tool result', () => {
    const sums = new CategorySums();
    const sizes = [3, 9, 1, 7, 5, 8, 2];
    const items = sizes.map((tokens, index) => item(index + 2, toolResult('c', `r${tokens}`), tokens));
    const call: Message = { role: 'assistant', content: '', toolCalls: [{ id: 'c', name: 'look', arguments: '{}' }] };
    runToEnd(addItems(sums, { items: [item(1, call), ...items], version: 0, count, thinkingOf }));
    const results = sums.list().find(({ name }) => name === 'results');
    expect(results?.count).toBe(7);
    expect(results?.largest.map(({ tokens }) => tokens)).toEqual([9, 8, 7, 5, 3]);
    expect(results?.largest[0]).toEqual({ seq: 3, name: 'look', tokens: 9, start: 'r9' });
  });
});

describe('texts before the messages: system prompt, tools and pins', () => {
  const tool = { name: 'look', description: 'looks', parameters: {} };
  const toolTokens = JSON.stringify(tool).length;
  const sumFixed = (texts: Partial<FixedTexts>) => {
    const sums = new CategorySums();
    addFixedTexts(sums, { system: '', tools: [], pins: [], count, facts: undefined, ...texts });
    return sums.list().filter(({ tokens }) => tokens > 0);
  };

  test('system prompt, tools and pins count as pieces if their texts are known, and further recorded tokens count without a piece', () => {
    const facts = { systemTokens: 5, toolTokens: toolTokens + 2, pinTokens: 3 };
    expect(sumFixed({ system: 'rules', tools: [tool], pins: ['pin'], facts })).toMatchObject([
      { name: 'system', tokens: 5, count: 1, largest: [{ start: 'rules' }] },
      { name: 'tools', tokens: toolTokens + 2, count: 1, largest: [{ name: 'look', start: 'looks' }] },
      { name: 'pins', tokens: 3, count: 1, largest: [{ start: 'pin' }] },
    ]);
    expect(sumFixed({ system: 'rules', pins: ['pin'] })).toMatchObject([{ tokens: 5 }, { tokens: 3 }]);
  });

  test('recorded sizes of system prompt, tools and pins count alone if their texts are unknown or do not fit these sizes', () => {
    const facts = { systemTokens: 4, toolTokens: 0, pinTokens: 0 };
    const alone = [{ name: 'system', tokens: 4, count: 1, largest: [] }];
    expect(sumFixed({ facts })).toEqual(alone);
    expect(sumFixed({ system: 'longer rules', facts })).toEqual(alone);
  });
});

describe('thinking of a message', () => {
  const read = (raw: unknown) => readThinking({ role: 'assistant', content: '', raw });

  test.each([
    [
      'anthropic',
      [
        { type: 'thinking', thinking: 'a' },
        { type: 'text', text: 'no' },
      ],
      'a',
    ],
    ['anthropic', [{ type: 'redacted_thinking', data: 'x' }], ''],
    ['openai-responses', [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'b' }, 7, { text: 8 }] }], 'b'],
    ['openai-chat', [{ role: 'assistant', reasoning_content: '', reasoning: 'c' }], 'c'],
    ['ai-sdk', [{ type: 'reasoning', text: 'd' }], 'd'],
  ])('readThinking reads the thinking text of a message in the format %s', (format, items, text) => {
    expect(read({ format, model: 'm', version: 3, items })).toEqual({ text, version: 3 });
  });

  test('readThinking returns undefined for a message without thinking, of another role or with unknown items', () => {
    expect(read({ format: 'openai-chat', model: 'm', items: [{ role: 'assistant' }] })).toBeUndefined();
    expect(read({ format: 'anthropic', model: 'm', items: [{ type: 'text', text: 'x' }] })).toBeUndefined();
    expect(read('other')).toBeUndefined();
    expect(readThinking({ role: 'user', content: 'x', raw: {} })).toBeUndefined();
  });
});

describe('facts of a request', () => {
  const window = { windowTokens: 10_001, outputCapTokens: 1_000, upperBoundFactor: 1.1 };
  const fixed = { systemTokens: 1, toolTokens: 2, pinTokens: 3 };

  test('the facts of a request list window, output reserve and each threshold in whole tokens, the smallest threshold first', () => {
    const policy = completePolicy({ maxTokens: 2_000, tokenThreshold: 4_000 });
    const facts = readFacts(window, { policy, limits: resolveLimits(policy, window) }, fixed);
    expect(facts).toMatchObject({ ...fixed, windowTokens: 10_001, reservedTokens: 1_000, upperBoundFactor: 1.1 });
    const named = listThresholds(facts).map(({ name, tokens }) => `${name} ${tokens}`);
    expect(named).toEqual(['maxTokens 2000', 'tokenThreshold 4000', 'thresholdRatio 7651', 'hardRatio 8281']);
  });

  test('a plan made from the facts of a request has the same limits as the worker’s plan', () => {
    const policy = completePolicy({});
    const limits = resolveLimits(policy, window);
    const facts = readFacts(window, { policy, limits }, fixed);
    expect(resolveLimits(policy, limitsOf(facts))).toEqual(limits);
    const without = readFacts(window, { policy, limits: { upperBoundFactor: 1 } }, fixed);
    expect(without).toMatchObject({ reservedTokens: 0 });
    expect(listThresholds(without)).toEqual([]);
  });

  test('the facts of a request include the settings that affect a plan and differ from their defaults', () => {
    const settings = { retentionWindow: 2, strategy: { evict: 0.3 } };
    const policy = completePolicy({ ...settings, keepFirstUser: true, pins: ['a long text'], mode: 'review' });
    expect(readFacts(window, { policy, limits: { upperBoundFactor: 1 } }, fixed)).toMatchObject({ policy: settings });
    const none = readFacts(window, { policy: completePolicy({}), limits: { upperBoundFactor: 1 } }, fixed);
    expect(none).not.toHaveProperty('policy');
  });
});
