import { expect, test } from 'vitest';
import { runToEnd } from '../../../src/domain/interruptible.ts';
import type { Message } from '../../../src/domain/message.ts';
import { checkOpenRound, checkOrder, checkThinking } from '../../../src/wire/rules/version-checks.ts';
import { calls, result, says, user } from '../messages.ts';
import { nameViolations } from './malformed-bodies.ts';

const ask = user('Read it.');
const done = says('Done.');

/** The messages: a question, calls a and b, a question, result b, result a, an answer. */
const messages = [
  { role: 'system' as const, content: 'Be brief.' },
  ask,
  calls('a', 'b'),
  ask,
  result('b'),
  result('a'),
  done,
];

test.each([
  ['accepts tool results after their calls', [[1], [2], [4, 5], [3], [6]], []],
  ['accepts merged messages and an added placeholder', [[-1, 1], [2], [4, 5, 3], [6]], []],
  ['accepts the system prompt in front', [[-1, 0], [1], [2], [4], [5], [3], [6]], []],
  ['accepts a second block with the picture of a tool result', [[1], [2], [4], [5], [4], [3], [6]], []],
  ['refuses two messages in swapped order', [[2], [4], [5], [1], [3], [6]], ['X10 messages[3]']],
  ['refuses a tool result after another message', [[1], [2], [5], [3], [4], [6]], ['X10 messages[4]']],
  ['refuses a tool result before its call', [[1], [4], [2], [5], [3], [6]], ['X10 messages[1]']],
  ['refuses a request that leaves a message out', [[1], [2], [4, 5], [6]], ['X10']],
])('the check of the message order (wire rule X10) %s', (_, origins, expected) => {
  const violations = runToEnd(checkOrder({ messages }, { format: 'openai-chat', origins }));
  expect(nameViolations(violations)).toStrictEqual(expected);
});

test('the check of the message order (wire rule X10) reports a Responses API item by its path in `input`', () => {
  const rendered = { format: 'openai-responses', origins: [[1], [0]] } as const;
  expect(nameViolations(runToEnd(checkOrder({ messages: [ask, done] }, rendered)))).toStrictEqual(['X10 input[1]']);
});

test.each([
  ['accepts an unchanged tool round that lacks results', [ask, done, ask, calls('a', 'b'), result('b')], []],
  ['accepts that compaction removed only messages before that round', [calls('a', 'b'), result('b')], []],
  ['refuses a clipped tool result', [ask, calls('a', 'b'), result('b', 'fou…')], ['X12 messages[4]']],
  ['refuses a removed tool result', [ask, calls('a', 'b')], ['X12 messages[4]']],
  ['refuses a removed tool call', [ask, calls('b'), result('b')], ['X12 messages[3]']],
  ['refuses a removed tool round', [ask], ['X12 messages[3]', 'X12 messages[4]']],
])('the check of unfinished tool rounds (wire rule X12) %s', (_, after, expected) => {
  const before = [ask, done, ask, calls('a', 'b'), result('b')];
  expect(nameViolations(runToEnd(checkOpenRound(before, after)))).toStrictEqual(expected);
});

test('the check of unfinished tool rounds (wire rule X12) accepts the removal of complete rounds', () => {
  expect(runToEnd(checkOpenRound([ask, calls('a'), result('a'), done], [ask]))).toStrictEqual([]);
});

test.each([
  ['accepts thinking that was written under the same context version and prefix', { version: 3, prefix: 'p' }, []],
  ['accepts thinking without a recorded context version and prefix', {}, []],
  [
    'refuses thinking that was written under another context version',
    { version: 2, prefix: 'p' },
    ['A8 messages[0].content[0]', 'A8 input[0]'],
  ],
  [
    'refuses thinking that was written under other system texts or tools',
    { version: 3, prefix: 'q' },
    ['A8 messages[0].content[0]', 'A8 input[0]'],
  ],
  [
    'refuses thinking that was written by another model',
    { model: 'other' },
    ['A8 messages[0].content[0]', 'A8 input[0]'],
  ],
])('the check of thinking (wire rule A8) %s', (_, written, expected) => {
  const sentIn = (format: 'anthropic' | 'openai-responses', body: unknown) => {
    const items = [{ type: 'thinking', signature: 's=' }, { type: 'text' }];
    const message: Message = { ...done, raw: { format, model: 'm', items, ...written } };
    const rendered = { format, body, prefix: 'p', origins: [[0, 0]] };
    return nameViolations(runToEnd(checkThinking({ messages: [message], model: 'm', version: 3 }, rendered)));
  };
  const found = [
    ...sentIn('anthropic', {
      messages: [{ role: 'assistant', content: [{ type: 'thinking', signature: 's=' }, { type: 'text' }] }],
    }),
    ...sentIn('openai-responses', { input: [{ type: 'reasoning' }] }),
  ];
  expect(found).toStrictEqual(expected);
});
