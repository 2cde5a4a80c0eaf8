import { expect, test } from 'vitest';
import { LineIndex } from '../../../src/compaction/recall/line-index.ts';
import { LineMarks } from '../../../src/compaction/recall/line-marks.ts';
import { LineScores } from '../../../src/compaction/recall/line-scores.ts';
import { isFrameWord, readCues } from '../../../src/compaction/recall/question-words.ts';
import { readRecallQuery } from '../../../src/compaction/recall/recall-query.ts';
import { RoundRanking, readHead } from '../../../src/compaction/recall/round-ranking.ts';
import { runToEnd } from '../../../src/domain/interruptible.ts';
import { buildLog, type Message } from '../../../src/domain/message.ts';
import { round, says, user } from '../../evaluation/quality/conversation.ts';

function find(query: string, messages: readonly Message[]): number[] {
  const index = new LineIndex();
  runToEnd(index.add(buildLog(messages.map((message) => ({ message, tokens: 9, bytes: 36 })))));
  const scope = { from: 1, to: index.head, segments: [], most: 20 };
  return runToEnd(index.search(readRecallQuery(query), scope)).messages.map(({ seq }) => seq);
}

test('a recall search finds the other forms of a word of the question', () => {
  expect(find('editing reservations', [user('no'), says('I edited the reservation.')])).toEqual([2]);
  expect(find('cancellation', [user('cancel it'), user('cancer')])).toEqual([1]);
});

test('a recall search finds the result of a call by the words of the call', () => {
  const messages = [...round({ path: 'heron.ts' }, 'done'), ...round({ path: 'owl.ts' }, 'not done')];
  expect(find('did the heron work', messages).toSorted((a, b) => a - b)).toEqual([1, 2]);
});

test('a recall search that asks for the first or the last message prefers old or new messages', () => {
  const messages = [user('a heron'), user('a heron'), user('a heron')];
  expect(find('the last heron', messages)[0]).toBe(3);
  expect(find('the first heron', messages)[0]).toBe(1);
});

test('a recall query ignores words of questions, and reads what is asked for', () => {
  expect(['what', 'welche', 'dónde', 'です', '什么'].map(isFrameWord)).toEqual([true, true, true, true, true]);
  expect(['heron', '酒店', 'W104711'].map(isFrameWord)).toEqual([false, false, false]);
  expect(readCues('which error did the user see last')).toMatchObject({ age: 1, asksFailure: true, asksUser: true });
  expect(readRecallQuery('where is getUserName').words.map(({ text }) => text)).toEqual([
    'getusername',
    'user',
    'name',
  ]);
});

test('a round ranking keeps the best rounds, and counts the matching lines of all rounds', () => {
  const marks = new LineMarks();
  marks.open(4);
  for (const [line, bit] of [
    [0, 1],
    [1, 1],
    [3, 2],
  ] as const)
    marks.mark(line, { bit, isAlone: true, isFrequent: false });
  const ranking = new RoundRanking(new LineScores([1, 5]), 1);
  for (const seq of [4, 3, 2, 1]) {
    const span = { seq, start: seq - 1, end: seq, canBeMasked: false };
    ranking.add([span], readHead(marks, span), { marks, weight: 1 });
  }
  expect(ranking.count).toBe(3);
  expect(ranking.rounds.map(({ spans }) => spans[0]?.seq)).toEqual([4]);
});

test('a round ranking returns the best rounds in order, and none that has no searched word', () => {
  const marks = new LineMarks();
  marks.open(4);
  for (const [line, bit] of [
    [0, 1],
    [1, 3],
    [3, 2],
  ] as const)
    marks.mark(line, { bit, isAlone: true, isFrequent: false });
  const ranking = new RoundRanking(new LineScores([1, 5]), 2);
  for (const seq of [1, 2, 3, 4]) {
    const span = { seq, start: seq - 1, end: seq, canBeMasked: false };
    ranking.add([span], readHead(marks, span), { marks, weight: 1 });
  }
  expect(ranking.rounds.map(({ spans }) => spans[0]?.seq)).toEqual([2, 4]);
  expect(readHead(marks, undefined)).toEqual([0, 0]);
});
