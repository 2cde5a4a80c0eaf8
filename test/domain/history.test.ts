import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { groupMessages } from '../../src/domain/group.ts';
import { type AdoptedMessages, adoptMessages } from '../../src/domain/history.ts';
import type { Message, ToolCall } from '../../src/domain/message.ts';
import { errorOf } from './error-of.ts';
import { callTools, toolResult } from './messages.ts';

const user: Message = { role: 'user', content: 'hi' };

function callsOf(message: Message | undefined): Pick<ToolCall, 'id' | 'providerId'>[] {
  return (message?.toolCalls ?? []).map(({ id, providerId }) => ({
    id,
    ...(providerId === undefined ? {} : { providerId }),
  }));
}

describe('messages that enter a log', () => {
  test('adoptMessages gives tool calls the ids of the log, keeps the provider ids, and renames the results', () => {
    const given = [user, callTools('call_a', 'call_b'), toolResult('call_b'), user, toolResult('call_a')];
    const frozen = structuredClone(given);
    const { messages, openCalls } = adoptMessages(given, 40);
    expect(callsOf(messages[1])).toStrictEqual([
      { id: 'c41_0', providerId: 'call_a' },
      { id: 'c41_1', providerId: 'call_b' },
    ]);
    expect([messages[2]?.toolCallId, messages[4]?.toolCallId]).toStrictEqual(['c41_1', 'c41_0']);
    expect(openCalls).toStrictEqual([]);
    expect(given).toStrictEqual(frozen);
    expect(messages[0]).toBe(user);
  });

  test('adoptMessages gives different ids to tool calls for which a provider repeated an id', () => {
    const given = [callTools('call_0'), toolResult('call_0'), callTools('call_0'), toolResult('call_0')];
    const { messages } = adoptMessages(given, 1);
    expect([messages[1]?.toolCallId, messages[3]?.toolCallId]).toStrictEqual(['c1_0', 'c3_0']);
    expect(groupMessages(messages)).toHaveLength(2);
  });

  test('adoptMessages assigns a tool result to the nearest earlier call with its id and without a result', () => {
    const given = [callTools('x'), callTools('x'), toolResult('x'), toolResult('x')];
    const { messages } = adoptMessages(given, 1);
    expect([messages[2]?.toolCallId, messages[3]?.toolCallId]).toStrictEqual(['c2_0', 'c1_0']);
  });

  test('adoptMessages leaves messages unchanged that already have ids of the log', () => {
    const { messages } = adoptMessages([callTools('x', 'y'), toolResult('y'), toolResult('x')], 7);
    expect(adoptMessages(messages, 7).messages).toStrictEqual(messages);
    const moved = adoptMessages(messages, 20).messages;
    expect(callsOf(moved[0])).toStrictEqual([
      { id: 'c20_0', providerId: 'x' },
      { id: 'c20_1', providerId: 'y' },
    ]);
    expect(moved[1]?.toolCallId).toBe('c20_1');
  });

  test('adoptMessages accepts either id of an unanswered call, and returns the calls that stay unanswered', () => {
    const open = [
      { id: 'c3_0', providerId: 'p' },
      { id: 'c3_1', providerId: undefined },
    ];
    const { messages, openCalls } = adoptMessages([toolResult('c3_1'), callTools('q'), toolResult('p')], 9, open);
    expect([messages[0]?.toolCallId, messages[2]?.toolCallId]).toStrictEqual(['c3_1', 'c3_0']);
    expect(openCalls).toStrictEqual([{ id: 'c10_0', providerId: 'q' }]);
    expect(open).toHaveLength(2);
  });

  test.each<[string, string, string, Message[]]>([
    ['a result without a call', 'orphan_result', 'body.messages[1].toolCallId', [user, toolResult('x')]],
    ['a result that names no call', 'orphan_result', 'body.messages[1].toolCallId', [callTools('x'), toolResult()]],
    [
      'a second result for one call',
      'duplicate_call',
      'body.messages[2].toolCallId',
      [callTools('x'), toolResult('x'), toolResult('x')],
    ],
    [
      'a call id that one message uses twice',
      'duplicate_call',
      'body.messages[0].toolCalls[2].id',
      [callTools('x', 'y', 'x')],
    ],
  ])('adoptMessages refuses %s with the error %s at %s', (_name, code, field, messages) => {
    const error = errorOf(() => adoptMessages(messages, 1, [], 'body.messages'));
    expect(error).toMatchObject({ code, field });
    expect(error.message.startsWith(field)).toBe(true);
  });
});

const toolTalk = fc.array(
  fc.oneof(
    fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'c1_0', 'c3_1'), { minLength: 1, maxLength: 3 }),
    fc.constantFrom('a', 'b', 'c', 'c1_0', 'c3_1', 'user'),
  ),
  { maxLength: 30 },
);

/** @returns undefined if the messages are refused with an error that names the field */
function tryAdopt(messages: readonly Message[], firstSeq: number): AdoptedMessages | undefined {
  try {
    return adoptMessages(messages, firstSeq);
  } catch (error) {
    expect(error).toMatchObject({ field: expect.stringMatching(/^messages\[\d+\]\.toolCall/) });
    return undefined;
  }
}

describe('any messages', () => {
  test('adoptMessages returns messages with unique call ids and one earlier call for each result, or refuses all of them', () => {
    let adopted = 0;
    fc.assert(
      fc.property(toolTalk, fc.integer({ min: 1, max: 5 }), (talk, firstSeq) => {
        const messages = talk.map((said): Message => {
          if (said === 'user') return { role: 'user', content: '' };
          if (typeof said === 'string') return { role: 'tool', content: '', toolCallId: said };
          return { role: 'assistant', content: '', toolCalls: said.map((id) => ({ id, name: 'read', arguments: '' })) };
        });
        const taken = tryAdopt(messages, firstSeq);
        if (taken === undefined) return;
        adopted += 1;
        const groups = groupMessages(taken.messages);
        expect(groups.flatMap((group) => group.positions).toSorted((a, b) => a - b)).toStrictEqual([
          ...messages.keys(),
        ]);
        const calls = taken.messages.flatMap((message) => message.toolCalls ?? []);
        const results = messages.filter((message) => message.role === 'tool').length;
        expect(taken.openCalls).toHaveLength(calls.length - results);
        expect(groups.some((group) => group.isOpen)).toBe(taken.openCalls.length > 0);
      }),
      { numRuns: 2_000 },
    );
    expect(adopted).toBeGreaterThan(100);
  });
});
