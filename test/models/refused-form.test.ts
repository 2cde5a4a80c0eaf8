import { expect, test } from 'vitest';
import type { ProviderHabits } from '../../src/domain/provider-habits.ts';
import { FormMemory, LearnedHabits, type Lesson, TeachingError } from '../../src/providers/provider-habits.ts';
import { ask } from './fixture.ts';

const request = ask([{ role: 'user', content: 'Which files?' }]);
const refuse = (lesson: Lesson): never => {
  throw new TeachingError('invalid', 'refused', { lesson, itemIds: [] });
};

function open() {
  const habits = new LearnedHabits({ id: 'model-1' });
  const asked: ProviderHabits[] = [];
  return { habits, asked, memory: new FormMemory(habits) };
}

test('concurrent requests that a provider refuses for the same reason are each sent again in the accepted form', async () => {
  const { habits, asked, memory } = open();
  const bothSent = Promise.withResolvers<void>();
  const send = () =>
    memory.send(request, async () => {
      asked.push(habits.current);
      if (habits.current.callIds === 'nine') return 'accepted';
      if (asked.length === 2) bothSent.resolve();
      await bothSent.promise;
      return refuse('nine_ids');
    });
  expect(await Promise.all([send(), send()])).toEqual(['accepted', 'accepted']);
  expect(asked).toHaveLength(4);
});

test('a request is sent once more for each changed form, and then fails if two servers of a gateway require opposite forms', async () => {
  const { asked, habits, memory } = open();
  const send = memory.send(request, async () => {
    asked.push(habits.current);
    return refuse(asked.length % 2 === 1 ? 'send_reasoning' : 'drop_reasoning');
  });
  await expect(send).rejects.toThrow('refused');
  expect(asked).toHaveLength(3);
});
