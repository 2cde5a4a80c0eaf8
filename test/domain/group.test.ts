import { describe, expect, test } from 'vitest';
import { groupMessages, readGroups } from '../../src/domain/group.ts';
import { runToEnd } from '../../src/domain/interruptible.ts';
import type { Message } from '../../src/domain/message.ts';
import { messagesOf } from './alphabet.ts';
import { errorOf } from './error-of.ts';
import { callTools, toolResult } from './messages.ts';

function groupsOf(line: string): string[] {
  return groupMessages(messagesOf(line).map(({ message }) => message)).map(
    ({ kind, positions, isOpen }) => `${kind} ${positions.join(',')}${isOpen ? ' open' : ''}`,
  );
}

describe('groups of messages that compaction keeps together', () => {
  test.each<{ line: string; groups: string[] }>([
    { line: '', groups: [] },
    { line: 'suaS', groups: ['system 0', 'user 1', 'assistant 2', 'summary 3'] },
    { line: 'utr', groups: ['user 0', 'round 1,2'] },
    { line: 'ut', groups: ['user 0', 'round 1 open'] },
    { line: 't{1,2} u r1 u r2 a', groups: ['round 0,2,4', 'user 1', 'user 3', 'assistant 5'] },
    { line: 't{1,2} r2', groups: ['round 0,1 open'] },
    { line: 't1 t2 r2 r1', groups: ['round 0,3', 'round 1,2'] },
    { line: 't1 (u)x9 r1', groups: ['round 0,10', ...Array.from({ length: 9 }, (_, at) => `user ${at + 1}`)] },
  ])('groupMessages divides the message history "$line" into the groups $groups', ({ line, groups }) => {
    expect(groupsOf(line)).toStrictEqual(groups);
  });

  test('readGroups returns the group of each message and the call of each result', () => {
    const messages = messagesOf('t{1,2} u r2 r1 a').map(({ message }) => message);
    const { groupOf, callOf } = runToEnd(readGroups(messages));
    expect(groupOf).toStrictEqual([0, 1, 0, 0, 2]);
    const [first, second] = messages[0]?.toolCalls ?? [];
    expect(callOf).toStrictEqual([undefined, undefined, second, first, undefined]);
  });

  test('groupMessages ignores tool calls of a message that is not from the assistant', () => {
    expect(groupMessages([{ ...callTools('x'), role: 'user' }])).toStrictEqual([
      { kind: 'user', positions: [0], isOpen: false },
    ]);
  });

  test.each<[string, string, string, Message[]]>([
    ['a result without a call', 'orphan_result', 'messages[0].toolCallId', [toolResult('x')]],
    ['a result that names no call', 'orphan_result', 'messages[1].toolCallId', [callTools('x'), toolResult()]],
    ['a result before its call', 'orphan_result', 'messages[0].toolCallId', [toolResult('x'), callTools('x')]],
    [
      'a second result for one call',
      'duplicate_call',
      'messages[2].toolCallId',
      [callTools('x'), toolResult('x'), toolResult('x')],
    ],
    ['a call id that one message uses twice', 'duplicate_call', 'messages[0].toolCalls[1].id', [callTools('x', 'x')]],
    [
      'a call id that two messages use',
      'duplicate_call',
      'messages[2].toolCalls[1].id',
      [callTools('x'), toolResult('x'), callTools('y', 'x')],
    ],
  ])('groupMessages refuses a history with %s with the error %s at the field %s', (_name, code, field, messages) => {
    const error = errorOf(() => groupMessages(messages));
    expect(error).toMatchObject({ code, field });
    expect(error.message.startsWith(field)).toBe(true);
  });
});
