import { describe, expect, test } from 'vitest';
import { decideFrom, type ScriptedTurn, turnIdOf } from '../../src/cli/demo/demo-agent.ts';
import type { Message } from '../../src/domain/message.ts';
import type { ModelRequest } from '../../src/domain/model.ts';

const turns: ScriptedTurn[] = [
  { ask: 'hello', rounds: [], answer: () => 'hello yourself' },
  {
    ask: 'look',
    rounds: [
      [{ name: 'list', arguments: { path: '.' } }],
      [
        { name: 'read', arguments: { path: 'a' } },
        { name: 'read', arguments: '{"path": "b"}' },
      ],
    ],
    remarks: ['First the folder.'],
    answer: (results) => results.join('+'),
  },
];

const tool = (content: string): Message => ({ role: 'tool', content, toolCallId: 'c' });

function request(idempotencyKey: string, messages: readonly Message[] = []): ModelRequest {
  return { system: '', tools: [], messages, tokens: 0, idempotencyKey, signal: new AbortController().signal };
}

test('the ids of demo turns sort in the order of the turns', () => {
  expect([0, 8, 41].map(turnIdOf)).toStrictEqual(['turn-01', 'turn-09', 'turn-42']);
});

describe('the choice of answers by the demo script', () => {
  const decide = decideFrom(turns);

  test('the demo script chooses its answer by turn and step, whatever the context contains', () => {
    expect(decide(request('_/demo/turn-01/1/model-1'))).toStrictEqual({ content: 'hello yourself', toolCalls: [] });
    expect(decide(request('_/demo/turn-02/1/model-1'))).toStrictEqual({
      content: 'First the folder.',
      toolCalls: [{ id: 'call_1_0', name: 'list', arguments: '{"path":"."}' }],
    });
    expect(decide(request('_/demo/turn-02/1/model-2'))).toStrictEqual({
      content: '',
      toolCalls: [
        { id: 'call_2_0', name: 'read', arguments: '{"path":"a"}' },
        { id: 'call_2_1', name: 'read', arguments: '{"path": "b"}' },
      ],
    });
  });

  test('the demo script builds an answer from the tool results since the last user message', () => {
    const messages: Message[] = [
      { role: 'user', content: 'before' },
      tool('old'),
      { role: 'user', content: 'look' },
      tool('one'),
      { role: 'assistant', content: '' },
      tool('two'),
    ];
    expect(decide(request('_/demo/turn-02/1/model-3', messages)).content).toBe('one+two');
  });

  test('the demo script gives a repeated step the same answer', () => {
    const step = request('_/demo/turn-02/1/model-2');
    expect(decide(step)).toStrictEqual(decide(step));
  });

  test.each(['_/demo/turn-03/1/model-1', '_/demo/other/1/model-1', ''])(
    'the demo script fails for the unknown step %j',
    (key) => {
      expect(() => decide(request(key))).toThrow('has no turn');
    },
  );
});
