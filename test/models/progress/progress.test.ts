import { expect, it } from 'vitest';
import { runToEnd } from '../../../src/domain/interruptible.ts';
import { readLogProgress } from '../../../src/summarize/progress/progress.ts';
import { writeProgress } from '../../../src/summarize/progress/progress-lines.ts';
import { loadTokenCounter } from '../../../src/wire/tokens/token-counter.ts';
import { round } from '../structural/sequence-messages.ts';

const counter = await loadTokenCounter('o200k_base');
const edit = (id: string, path: string) => round({ id, name: 'edit', given: { path, text: 'x' }, result: 'done' });
const test = (id: string, result: string) => round({ id, name: 'bash', given: { command: 'npm test' }, result });
const todos = (id: string, items: readonly object[]) => round({ id, name: 'plan', given: { steps: items } });

function linesOf(messages: Parameters<typeof readLogProgress>[0], maxTokens = 300): string[] {
  return writeProgress(counter, runToEnd(readLogProgress(messages)), maxTokens);
}

it('the progress names each changed file with all that changed it, the newest change last', () => {
  const sed = round({ id: 's', name: 'bash', given: { command: "sed -i 's/a/b/' a.ts" } });
  expect(linesOf([...edit('1', 'a.ts'), ...edit('2', 'b.ts'), ...edit('3', 'a.ts'), ...sed])).toEqual([
    'changed: b.ts (edit), a.ts (edit ×2, sed -i)',
  ]);
});

it('the progress has the counts of the last test run, and says if a file was changed since', () => {
  const first = test('1', '1 failed, 4 passed');
  const last = test('2', 'Ran 5 tests in 0.1s\n\nOK');
  expect(linesOf([...first, ...edit('e', 'a.ts'), ...last])).toEqual([
    'changed: a.ts (edit)',
    'tests: bash npm test',
    'Ran 5 tests in 0.1s',
    'OK',
  ]);
  expect(linesOf([...first, ...edit('e', 'a.ts')])).toContain('tests: bash npm test, before the last change');
});

it('the progress has the list of tasks as it was last written, in any form of status', () => {
  const old = todos('1', [{ content: 'Read the code', status: 'pending' }]);
  const last = todos('2', [
    { step: 'Read the code', state: 'completed' },
    { step: 'Mend the pump', state: 'in_progress' },
  ]);
  expect(linesOf([...old, ...last])).toEqual([
    'todo: 2 tasks',
    '  Read the code: completed',
    '  Mend the pump: in_progress',
  ]);
  expect(linesOf(todos('3', [{ id: 'a1', title: 'Drain it', done: false }]))).toContain('  Drain it: not done');
});

it('a small room keeps open tasks rather than closed ones, and the files that were changed last', () => {
  const steps = Array.from({ length: 12 }, (_, at) => ({ step: `Do part ${at}`, status: at < 9 ? 'done' : 'open' }));
  const tasks = linesOf(todos('1', steps), 40);
  expect(tasks[0]).toMatch(/^todo: 12 tasks, \d+ closed$/);
  expect(tasks.slice(-3)).toEqual(['  Do part 9: open', '  Do part 10: open', '  Do part 11: open']);
  const files = Array.from({ length: 20 }, (_, at) => edit(`${at}`, `src/part-${at}.ts`)).flat();
  expect(linesOf(files, 40)[0]).toMatch(/^changed: \d+ more, .*src\/part-19\.ts \(edit\)$/);
});
