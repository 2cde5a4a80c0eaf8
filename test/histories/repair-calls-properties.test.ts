import { array, assert, constant, constantFrom, oneof, property } from 'fast-check';
import { expect, test } from 'vitest';
import { adoptMessages } from '../../src/domain/history.ts';
import { runToEnd } from '../../src/domain/interruptible.ts';
import { CLOSING_RESULT, type Message } from '../../src/domain/message.ts';
import { HistoryNotes } from '../../src/wire/histories/notes.ts';
import { repairCallsInSlices } from '../../src/wire/histories/repair-calls.ts';
import { countRuns } from '../setup/count-runs.ts';

const call = (...ids: readonly string[]): Message => ({
  role: 'assistant',
  content: '',
  toolCalls: ids.map((id) => ({ id, name: 'look', arguments: '{}' })),
});
const result = (toolCallId: string, content = `of ${toolCallId}`): Message => ({ role: 'tool', content, toolCallId });
const user: Message = { role: 'user', content: 'next' };

function repair(messages: readonly Message[], openCalls: readonly { readonly id: string }[] = []) {
  const notes = new HistoryNotes();
  const placeOf = (index: number): string => `messages[${index}]`;
  const repaired = runToEnd(repairCallsInSlices(messages, { notes, openCalls, placeOf }));
  return { messages: repaired.map(({ message }) => message), notes: notes.list };
}

const closing = (toolCallId: string): Message => ({ role: 'tool', toolCallId, content: CLOSING_RESULT.content });

test.each<[string, Message[], Message[]]>([
  [
    'a valid history',
    [user, call('a', 'b'), result('b'), result('a'), user],
    [user, call('a', 'b'), result('b'), result('a'), user],
  ],
  ['a call at the end', [user, call('a')], [user, call('a')]],
  ['a call that a user has passed', [call('a'), user], [call('a'), closing('a'), user]],
  ['a call that an answer has passed', [call('a'), call('b')], [call('a'), closing('a'), call('b')]],
  ['one of two results', [call('a', 'b'), result('b'), user], [call('a', 'b'), result('b'), closing('a'), user]],
  ['a late result', [call('a'), user, result('a')], [call('a'), result('a'), user]],
  ['an early result', [result('a'), user, call('a')], [user, call('a'), result('a')]],
  [
    'an id of three calls, of which the second was answered first',
    [call('c', 'c', 'c'), result('c#2'), result('c'), user],
    [call('c', 'c#2', 'c#3'), result('c#2'), result('c'), closing('c#3'), user],
  ],
  [
    'an id that is used again',
    [call('a'), result('a', '1'), call('a'), result('a', '2')],
    [call('a'), result('a', '1'), call('a'), result('a', '2')],
  ],
])('the repair of an imported history with %s gives each passed call a result', (_name, given, expected) => {
  expect(repair(given).messages).toStrictEqual(expected);
});

test('the repair of appended messages assigns an open call of the log its first result, or closes the call at the next user message', () => {
  expect(repair([user, result('c1_0')], [{ id: 'c1_0' }, { id: 'c1_1' }]).messages).toStrictEqual([
    result('c1_0'),
    closing('c1_1'),
    user,
  ]);
  expect(repair([{ role: 'system', content: 's' }], [{ id: 'c1_0' }]).messages).toHaveLength(1);
});

const ids = constantFrom('a', 'b', 'c');
const given = array(
  oneof(
    constant(user),
    constant<Message>({ role: 'system', content: 's' }),
    constant<Message>({ role: 'assistant', content: 'said' }),
    array(ids, { minLength: 1, maxLength: 3 }).map((names) => call(...names)),
    ids.map((id) => result(id)),
  ),
  { maxLength: 14 },
);

test('a repaired history is valid, keeps every message except repeated results, and needs no further repair', () => {
  assert(
    property(given, (messages) => {
      const named = new Set(messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id)));
      const known = messages.filter(({ role, toolCallId }) => role !== 'tool' || named.has(toolCallId ?? ''));
      const { messages: repaired } = repair(known);
      expect(() => adoptMessages(repaired, 1)).not.toThrow();
      expect(repaired.filter(({ role }) => role !== 'tool').map(({ role }) => role)).toStrictEqual(
        known.filter(({ role }) => role !== 'tool').map(({ role }) => role),
      );
      const again = repair(repaired);
      expect(again.messages).toStrictEqual(repaired);
      expect(again.notes).toStrictEqual([]);
    }),
    { numRuns: countRuns(5_000) },
  );
});

test('each result of a repaired history follows its call, before the next user or assistant message', () => {
  expect.hasAssertions();
  assert(
    property(given, (messages) => {
      const named = new Set(messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id)));
      const known = messages.filter(({ role, toolCallId }) => role !== 'tool' || named.has(toolCallId ?? ''));
      let open = new Set<string>();
      for (const { role, toolCalls = [], toolCallId = '' } of repair(known).messages) {
        if (role === 'tool') expect(open.delete(toolCallId)).toBe(true);
        if (role === 'user' || role === 'assistant') expect(open.size).toBe(0);
        if (toolCalls.length > 0) open = new Set(toolCalls.map(({ id }) => id));
      }
    }),
    { numRuns: countRuns(5_000) },
  );
});
