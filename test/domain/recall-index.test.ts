import { expect, test } from 'vitest';
import { buildLog, type Message } from '../../src/domain/message.ts';
import { RecallIndex } from '../../src/domain/recall-index.ts';
import { runToEnd } from '../../src/domain/sliced.ts';
import { toolResult, user } from './messages.ts';

function indexOf(messages: readonly Message[]): RecallIndex {
  const index = new RecallIndex();
  runToEnd(index.add(buildLog(messages.map((message) => ({ message, tokens: 1, bytes: 1 })))));
  return index;
}

function find(query: string, messages: readonly Message[], more: object = {}): string[] {
  return indexOf(messages)
    .search({ query, from: 1, to: messages.length, most: 10, ...more })
    .map(({ seq, text }) => `${seq}: ${text}`);
}

test.each([
  [
    'the exact query first',
    'blue whale',
    ['whale: blue', 'a Blue Whale', 'whale'],
    ['2: a Blue Whale', '1: whale: blue', '3: whale'],
  ],
  [
    'a rare word before a frequent word',
    'order 4711',
    ['an order', 'an order', '4711'],
    ['3: 4711', '2: an order', '1: an order'],
  ],
  ['the newest of equal lines first', 'tide', ['tide', 'no', 'low tide'], ['3: low tide', '1: tide']],
  ['an id within a longer one', '4711', ['ORD4711', 'ORD4712'], ['1: ORD4711']],
  ['only the lines that match', 'heron', ['a cat\na heron\na dog'], ['1: a heron']],
  ['words of a script without blanks', '订单', ['你的订单已发货', '天气'], ['1: 你的订单已发货']],
])('a recall index finds %s', (_what, query, texts, lines) => {
  expect(
    find(
      query,
      texts.map((text) => user(text)),
    ),
  ).toEqual(lines);
});

test('a recall index returns at most the given number of lines, of the given messages', () => {
  const messages = Array.from({ length: 50 }, (_, at) => user(`heron ${at}`));
  expect(find('heron', messages, { most: 3 })).toEqual(['50: heron 49', '49: heron 48', '48: heron 47']);
  expect(find('heron', messages, { from: 2, to: 3 })).toEqual(['3: heron 2', '2: heron 1']);
});

test('a recall index ignores calls of recall and their results', () => {
  const call: Message = {
    role: 'assistant',
    content: '',
    toolCalls: [{ id: 'c', name: 'recall', arguments: '{"query":"heron"}' }],
  };
  expect(find('heron', [user('a heron'), call, toolResult('c', 'a heron')])).toEqual(['1: a heron']);
});
