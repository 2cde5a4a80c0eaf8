import { expect, test } from 'vitest';
import { readJsonLines, spawnTurnfold, writeTemporary } from '../cli/run-turnfold.ts';

test('the process of a command prints results to standard output and exits with 0', async () => {
  const file = await writeTemporary('text.txt', 'Two words');
  const run = await spawnTurnfold(['tokens', file, '--json']);
  expect(run).toMatchObject({ code: 0, stderr: '' });
  expect(readJsonLines(run.stdout)).toEqual([{ tokens: 2 }]);
});

test('the process of a command that fails prints the reason to standard error and exits with 1', async () => {
  const run = await spawnTurnfold(['tokens', 'nowhere.txt']);
  expect(run).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^turnfold: not_found: nowhere/) });
});
