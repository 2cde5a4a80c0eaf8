import { expect, test } from 'vitest';
import { answersOf } from '../../inspector/src/turn/answer-draft.ts';

const calls = ['a', 'b', 'c'].map((id) => ({ id, name: 'refund', arguments: '{}', until: 1 }));

test('the answer form sends results only for calls for which a person has entered a result', () => {
  const drafts = new Map([
    ['a', { text: 'It left.', isError: false }],
    ['b', { text: 'no stock', isError: true }],
  ]);
  expect(answersOf({ for: 'tools', calls }, drafts)).toEqual({
    a: { content: 'It left.' },
    b: { content: 'no stock', isError: true },
  });
});

test('the answer form sends the reason of a denial, and no reason for an approval', () => {
  const drafts = new Map([
    ['a', { approved: true, text: 'fine', isError: false }],
    ['b', { approved: false, text: ' too much ', isError: false }],
    ['c', { text: 'undecided', isError: false }],
  ]);
  expect(answersOf({ for: 'approval', calls }, drafts)).toEqual({
    a: { approved: true },
    b: { approved: false, why: 'too much' },
  });
});
