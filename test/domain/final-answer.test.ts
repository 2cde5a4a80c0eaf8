import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { askForRepair, checkFinalAnswer, isAskedForRepair, readJsonAnswer } from '../../src/domain/final-answer.ts';

const schema = z.object({ city: z.string(), degrees: z.number() });
const VALUE = { city: 'Rome', degrees: 21 };
const JSON_TEXT = JSON.stringify(VALUE);

describe('a final answer', () => {
  test.each([
    ['JSON', JSON_TEXT],
    ['JSON between blank lines', `\n${JSON_TEXT}\n\n`],
    ['a block of code', `\`\`\`\n${JSON_TEXT}\n\`\`\``],
    ['a block of code with its language', `\`\`\`json\n${JSON_TEXT}\n\`\`\``],
    ['a block of code with spaces and carriage returns', `\`\`\`json  \r\n${JSON_TEXT}\r\n\`\`\``],
  ])('readJsonAnswer reads a final answer given as %s', (_, content) => {
    expect(readJsonAnswer(content)).toEqual(VALUE);
    expect(checkFinalAnswer(schema, content)).toEqual({ status: 'valid' });
  });

  test.each([['text'], [''], [`${JSON_TEXT} ${JSON_TEXT}`], [`\`\`\`json\n${JSON_TEXT}`]])(
    'checkFinalAnswer refuses the answer %j, because it is not exactly one JSON value',
    (content) => {
      expect(checkFinalAnswer(schema, content)).toEqual({
        status: 'invalid',
        why: 'it is not one JSON value',
        fields: [],
      });
    },
  );

  test('checkFinalAnswer names the fields of an answer that do not match the schema', () => {
    const checked = checkFinalAnswer(schema, '{"city": 7}');
    expect(checked).toMatchObject({ status: 'invalid', fields: ['city', 'degrees'] });
    const root = checkFinalAnswer(schema, '7');
    expect(root).toMatchObject({ status: 'invalid', fields: [''] });
  });

  test('isAskedForRepair returns true until the next user message', () => {
    const repair = askForRepair('city: expected string');
    const answer = { role: 'assistant' as const, content: '{}' };
    expect(repair).toMatchObject({ role: 'user', content: expect.stringContaining('city: expected string') as string });
    expect(isAskedForRepair([repair, answer])).toBe(true);
    expect(isAskedForRepair([repair, answer, { role: 'user', content: 'And Oslo?' }])).toBe(false);
    expect(isAskedForRepair([])).toBe(false);
  });
});
