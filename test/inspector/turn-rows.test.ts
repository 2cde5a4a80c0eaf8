import { expect, test } from 'vitest';
import { listTurns } from '../../inspector/src/turn/turn-rows.ts';

test('the list of turns shows the turns of a log, newest first, and leaves out messages that no turn wrote', () => {
  const messages = [
    { role: 'user', at: 1, tokens: 2, start: 'appended' },
    { role: 'user', turn: 'a', at: 2, tokens: 3, start: 'Where is it?' },
    { role: 'assistant', turn: 'a', at: 5, tokens: 4, start: '', calls: ['find', 'find'] },
    { role: 'user', turn: 'b', at: 9, tokens: 1, start: 'Thanks' },
  ];
  expect(listTurns(messages)).toEqual([
    { turn: 'b', start: 'Thanks', messages: 1, calls: 0, tokens: 1, from: 9, to: 9 },
    { turn: 'a', start: 'Where is it?', messages: 2, calls: 2, tokens: 7, from: 2, to: 5 },
  ]);
});
