import { expect, it } from 'vitest';
import { readTodoList } from '../../../src/summarize/progress/todo-list.ts';

it.each([
  [{ todos: [{ id: '1', content: 'Read it', status: 'pending' }] }, [{ text: 'Read it', status: 'pending' }]],
  [{ plan: { steps: [{ title: 'Mend it', done: true }] } }, [{ text: 'Mend it', status: 'done' }]],
  [[{ 任务: '修理水泵', status: '进行中' }], [{ text: '修理水泵', status: '进行中' }]],
  [{ orders: [{ id: 'W1', items: 3 }] }, []],
  [{ status: 'open', note: 'A single status is no list.' }, []],
  [{ mixed: [{ content: 'Read it', status: 'done' }, 'and more'] }, []],
])('the list of tasks in the arguments %j is %j', (given, items) => {
  expect(readTodoList({ arguments: JSON.stringify(given) })).toEqual(items);
});
