import { expect, test } from 'vitest';
import type { TurnPart } from '../../src/api/client/index.ts';
import { compareItems, compareLog, isSameMessage } from '../../src/api/http/openai/chat-history.ts';
import { ChatTable } from '../../src/api/http/openai/chat-table.ts';
import { buildLog, type Message } from '../../src/domain/message.ts';

const name = { conversation: 'c', turn: 't' };
const read = (parts: readonly object[]) => {
  const table = new ChatTable(name);
  const deltas = parts.flatMap((part) => table.add(part as TurnPart));
  return { table, text: deltas.map(({ content = '' }) => content).join('') };
};
const piece = (step: number, text: string) => ({ type: 'text', step, piece: text });

test('the texts of the steps of a turn are one message, with a blank line between them', () => {
  const { table, text } = read([piece(1, 'One '), piece(1, 'moment.'), piece(2, 'Done.')]);
  expect([text, table.message]).toEqual(['One moment.\n\nDone.', expect.objectContaining({ content: text })]);
});

test('a step that begins again is read whole, and a stream has its text behind the first part', () => {
  const { table, text } = read([piece(1, 'Nothing '), { type: 'restart', step: 1 }, piece(1, 'All is well.')]);
  expect(text).toBe('Nothing \n\nAll is well.');
  expect([table.isBroken, table.message]).toMatchObject([true, { content: 'All is well.' }]);
});

test('a wait for an approval ends the message with the names of the calls', () => {
  const calls = [{ id: 'c2_0', name: 'refund', arguments: '{}', until: 0 }];
  const { table } = read([piece(1, 'Fine.'), { type: 'wait', waiting: { for: 'approval', calls } }]);
  expect([table.end, table.message]).toMatchObject(['stop', { content: 'Fine.\n\n[Waits for approval: refund]' }]);
});

test('a chat and the log of its conversation are the same, whatever tools the worker ran between', () => {
  const messages: Message[] = [
    { role: 'user', content: 'Where is it?' },
    { role: 'assistant', content: 'One moment.', toolCalls: [{ id: 'c2_0', name: 'find', arguments: '{}' }] },
    { role: 'tool', content: 'Bern', toolCallId: 'c2_0' },
    { role: 'assistant', content: '', toolCalls: [{ id: 'c4_0', name: 'ask', arguments: '{ "a": 1 }' }] },
    { role: 'tool', content: 'yes', toolCallId: 'c4_0' },
    { role: 'assistant', content: 'In Bern.' },
  ];
  const log = buildLog(messages.map((message) => ({ message, tokens: 1, bytes: 1 })));
  const call = 'call_c~t~c4_0.hash';
  const items = [
    { type: 'message', role: 'user' as const, content: 'Where is it?' },
    { type: 'message', role: 'assistant' as const, content: 'One moment.' },
    { type: 'function_call', call_id: call, name: 'ask', arguments: '{"a":1}' },
    { type: 'function_call_output', call_id: call, output: 'yes' },
    { type: 'message', role: 'assistant' as const, content: 'In  Bern.\n' },
  ].map((item, index) => ({ item, at: `input[${index}]` }));
  const chat = compareItems(items);
  const compared = compareLog(log, chat);
  expect(compared.map(({ kind, to }) => [kind, to])).toEqual([
    ['user', 1],
    ['assistant', 3],
    ['call', 4],
    ['result', 5],
    ['assistant', 6],
  ]);
  expect(compared.every((message, index) => isSameMessage(message, chat[index] ?? message))).toBe(true);
});
