import { expect, it } from 'vitest';
import type { WorkDone } from '../../src/api/client/index.ts';
import { describeWork } from '../../src/cli/work-text.ts';

const AT = 1_000_000;
const NOTHING: WorkDone = {
  from: 1,
  head: 9,
  calls: { worked: { count: 0, last: [] }, failed: { count: 0, last: [] }, unanswered: 0 },
  files: { count: 0, last: [] },
};

it('the work of a conversation without calls is one row', () => {
  expect(describeWork(NOTHING, AT)).toEqual([['calls', 'none']]);
});

it('the work names files, tests with their age, tasks and the last calls', () => {
  const work: WorkDone = {
    ...NOTHING,
    from: 4,
    calls: {
      worked: { count: 7, last: [{ seq: 8, at: AT, call: 'edit a.ts', outcome: 'ok' }] },
      failed: { count: 1, last: [{ seq: 6, at: AT, call: 'bash make', outcome: '✗ exit code 2' }] },
      unanswered: 1,
    },
    files: {
      count: 12,
      last: [
        {
          path: 'a.ts',
          seq: 8,
          by: [
            { name: 'edit', count: 2 },
            { name: 'sed -i', count: 1 },
          ],
        },
      ],
    },
    tests: { seq: 5, at: AT, call: 'bash npm test', lines: ['1 failed'], isOld: true },
    tasks: {
      seq: 7,
      at: AT,
      list: [
        { text: 'Mend it', status: 'done', isClosed: true },
        { text: 'Test it', status: 'open', isClosed: false },
      ],
    },
  };
  expect(describeWork(work, AT + 3 * 3_600_000)).toEqual([
    ['read', 'messages 4 to 9. The older messages are too many'],
    ['changed', 'a.ts (edit ×2, sed -i), message 8'],
    ['', 'and 11 more'],
    ['tests', 'bash npm test'],
    ['', 'message 5, 3 h ago, before the last change'],
    ['', '1 failed'],
    ['tasks', '1 of 2 closed, message 7'],
    ['', 'done: Mend it'],
    ['', 'open: Test it'],
    ['calls', '7 worked, 1 failed, 1 without a result'],
    ['failed', 'bash make ⇒ ✗ exit code 2, message 6'],
    ['worked', 'edit a.ts ⇒ ok, message 8'],
  ]);
});
