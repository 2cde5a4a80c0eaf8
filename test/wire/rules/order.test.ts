import { expect, test } from 'vitest';
import type { Message } from '../../../src/domain/message.ts';
import { runToEnd } from '../../../src/domain/sliced.ts';
import { checkOpenRound, checkOrder, checkThinking } from '../../../src/wire/rules/version-checks.ts';
import type { Marks } from '../../../src/wire/wire-request.ts';
import { nameViolations } from './broken.ts';

const ask: Message = { role: 'user', content: 'Read it.' };
const says: Message = { role: 'assistant', content: 'Done.' };
const calls = (...ids: string[]): Message => ({
  role: 'assistant',
  content: '',
  toolCalls: ids.map((id) => ({ id, name: 'read', arguments: '{}' })),
});
const result = (toolCallId: string, content = 'found'): Message => ({ role: 'tool', content, toolCallId });

/** ask · calls a, b · ask · result b · result a · answer */
const messages = [
  { role: 'system' as const, content: 'Be brief.' },
  ask,
  calls('a', 'b'),
  ask,
  result('b'),
  result('a'),
  says,
];

test.each([
  ['as they stand, results behind their calls', [[1], [2], [4, 5], [3], [6]], []],
  ['merged, with what was put in', [[-1, 1], [2], [4, 5, 3], [6]], []],
  ['the system prompt in front', [[-1, 0], [1], [2], [4], [5], [3], [6]], []],
  ['a result whose picture is shown again', [[1], [2], [4], [5], [4], [3], [6]], []],
  ['two messages change places', [[2], [4], [5], [1], [3], [6]], ['X10 messages[3]']],
  ['a result behind another message', [[1], [2], [5], [3], [4], [6]], ['X10 messages[4]']],
  ['a result before its call', [[1], [4], [2], [5], [3], [6]], ['X10 messages[1]']],
  ['a message is not sent', [[1], [2], [4, 5], [6]], ['X10']],
])('X10: %s', (_, origins, expected) => {
  const marks = { format: 'openai-chat', origins } as unknown as Marks;
  expect(nameViolations(runToEnd(checkOrder({ messages }, { marks })))).toStrictEqual(expected);
});

test('X10: names items of Responses by their place in input', () => {
  const marks = { format: 'openai-responses', origins: [[1], [0]] } as unknown as Marks;
  expect(nameViolations(runToEnd(checkOrder({ messages: [ask, says] }, { marks })))).toStrictEqual(['X10 input[1]']);
});

test.each([
  ['nothing changed', [ask, says, ask, calls('a', 'b'), result('b')], []],
  ['all before it went', [calls('a', 'b'), result('b')], []],
  ['a result was clipped', [ask, calls('a', 'b'), result('b', 'fou…')], ['X12 messages[4]']],
  ['a result is gone', [ask, calls('a', 'b')], ['X12 messages[4]']],
  ['a call is gone', [ask, calls('b'), result('b')], ['X12 messages[3]']],
  ['the round is gone', [ask], ['X12 messages[3]', 'X12 messages[4]']],
])('X12: %s', (_, after, expected) => {
  const before = [ask, says, ask, calls('a', 'b'), result('b')];
  expect(nameViolations(runToEnd(checkOpenRound(before, after)))).toStrictEqual(expected);
});

test('X12: passes if no round is open', () => {
  expect(runToEnd(checkOpenRound([ask, calls('a'), result('a'), says], [ask]))).toStrictEqual([]);
});

test.each([
  ['under this version and prefix', { version: 3, prefix: 'p' }, []],
  ['where neither was recorded', {}, []],
  ['under another version', { version: 2, prefix: 'p' }, ['A8 messages[0].content[0]', 'A8 input[0]']],
  ['under another prefix', { version: 3, prefix: 'q' }, ['A8 messages[0].content[0]', 'A8 input[0]']],
  ['by another model', { model: 'other' }, ['A8 messages[0].content[0]', 'A8 input[0]']],
])('A8: thinking that was written %s', (_, written, expected) => {
  const sentIn = (format: 'anthropic' | 'openai-responses', body: unknown) => {
    const items = [{ type: 'thinking' }, { type: 'text' }];
    const message: Message = { ...says, raw: { format, model: 'm', items, ...written } };
    const marks = { format, prefix: 'p', origins: [[0, 0]] } as unknown as Marks;
    return nameViolations(runToEnd(checkThinking({ messages: [message], model: 'm', version: 3 }, { body, marks })));
  };
  const found = [
    ...sentIn('anthropic', { messages: [{ role: 'assistant', content: [{ type: 'thinking' }, { type: 'text' }] }] }),
    ...sentIn('openai-responses', { input: [{ type: 'reasoning' }] }),
  ];
  expect(found).toStrictEqual(expected);
});
