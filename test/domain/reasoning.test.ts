import { expect, test } from 'vitest';
import { MAX_REASONING_CHARACTERS, wholeReasoning, withoutReasoning } from '../../src/domain/message.ts';

test('reasoning is whole unless it has the maximum length, or may have been cut with its turn', () => {
  expect(wholeReasoning({})).toBeUndefined();
  expect(wholeReasoning({ reasoning: 'a heron' })).toBe('a heron');
  expect(wholeReasoning({ reasoning: 'a heron', stopped: true })).toBe('a heron');
  expect(wholeReasoning({ reasoning: 'a'.repeat(MAX_REASONING_CHARACTERS) })).toBeUndefined();
  const long = 'ä'.repeat(MAX_REASONING_CHARACTERS / 2);
  expect(wholeReasoning({ reasoning: long })).toBe(long);
  expect(wholeReasoning({ reasoning: long, stopped: true })).toBeUndefined();
});

test('messages for a model have no reasoning, and stay the same object without any', () => {
  const plain = [{ role: 'user', content: 'hi' }] as const;
  expect(withoutReasoning(plain)).toBe(plain);
  expect(withoutReasoning([...plain, { role: 'assistant', content: 'yes', reasoning: 'a heron' }])).toEqual([
    ...plain,
    { role: 'assistant', content: 'yes' },
  ]);
});
