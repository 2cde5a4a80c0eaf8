import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { estimateMean } from '../../../bench/context/intervals.ts';
import { answerability, Questions } from '../../../bench/context/quality/answers/questions.ts';
import type { Message } from '../../../src/domain/message.ts';
import { renderMessages } from '../../../src/evaluation/quality/searchable-text.ts';
import { round, says, user } from '../quality/conversation.ts';

const words = fc.constantFrom(
  'never',
  'edit',
  '#W12345',
  'status: sent',
  'src/a.ts',
  'exit code 1',
  '3 failed',
  '必须',
  '→ ',
  ' ⇒ ',
  '\n',
);
const text = fc.array(words, { maxLength: 8 }).map((parts) => parts.join(' '));
const part = fc.oneof(
  text.map((content): Message[] => [user(content)]),
  text.map((content): Message[] => [says(content)]),
  fc
    .tuple(fc.constantFrom('bash', 'write_file', 'todo_write'), text, text)
    .map(([name, command, result]) => round({ command, path: command }, result, name)),
);
const log = fc.array(part, { maxLength: 10 }).map((parts) => parts.flat());

test('any log gives questions with answers, and each answer of a context is right, wrong or missing', () => {
  fc.assert(
    fc.property(log, text, (messages, context) => {
      const questions = new Questions({ id: 'one', group: 'made', messages }, messages.length);
      const grades = questions.grade(context);
      for (const { asked, right, wrong } of Object.values(grades)) {
        expect(asked).toBeGreaterThan(0);
        expect(right + wrong).toBeLessThanOrEqual(asked);
      }
      expect(questions.grade(context)).toEqual(grades);
      expect(answerability(questions.grade(renderMessages(messages))) ?? 1).toBeGreaterThanOrEqual(0);
      for (const question of questions.asked) expect(question.grade('')).toMatchObject({ right: 0 });
    }),
  );
});

test('an interval lies between the smallest and the largest value', () => {
  const item = fc.record({
    conversation: fc.constantFrom('a', 'b', 'c'),
    value: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  fc.assert(
    fc.property(fc.array(item, { minLength: 1 }), (items) => {
      const observed = items.map((one) => ({ ...one, family: 'chat' as const }));
      const { interval } = estimateMean(observed, ({ value }) => value);
      const values = items.map(({ value }) => value);
      if (interval === undefined) return;
      expect(interval[0]).toBeGreaterThanOrEqual(Math.min(...values) - 1e-9);
      expect(interval[1]).toBeLessThanOrEqual(Math.max(...values) + 1e-9);
    }),
    { numRuns: 20 },
  );
});
