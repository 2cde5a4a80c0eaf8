import { expect, test } from 'vitest';
import type { ModelAnswer } from '../../src/domain/model.ts';
import { checkAnswer } from '../../src/domain/model-answer.ts';

const usage = { inputTotal: 9, output: 3, outputKept: 3 };
const call = { id: 'c1', name: 'look', arguments: '{}' };

/** Of a model that was written without our types. */
const given = (value: unknown): ModelAnswer => value as ModelAnswer;

test('an answer is copied: what belongs to it, and nothing else', () => {
  const answer = { content: '', toolCalls: [call], end: 'cut_off', usage, model: 'm', raw: { items: [{ a: 1 }] } };
  const copy = checkAnswer(given({ ...answer, more: 1 }));
  expect(copy).toEqual(answer);
  expect(copy.raw).not.toBe(answer.raw);
  expect(checkAnswer(given({ content: 'x', toolCalls: [], end: null, usage: null, model: null, raw: null }))).toEqual({
    content: 'x',
    toolCalls: [],
  });
});

test.each<[unknown, string]>([
  [{ content: 'secret' }, 'answer.toolCalls'],
  [{ content: 5, toolCalls: [] }, 'answer.content'],
  [{ content: '', toolCalls: [{ ...call, name: undefined }] }, 'answer.toolCalls[0].name'],
  [null, 'answer'],
])('%j is fatal, by its field and without what it holds', (answer, field) => {
  const check = (): unknown => checkAnswer(given(answer));
  expect(check).toThrow(expect.objectContaining({ name: 'ModelError', kind: 'fatal', usage: undefined }));
  expect(check).toThrow(new RegExp(`^${RegExp.escape(field)}: (?!.*secret)`));
});

test('what it cost is told all the same', () => {
  expect(() => checkAnswer(given({ usage }))).toThrow(expect.objectContaining({ usage }));
});
