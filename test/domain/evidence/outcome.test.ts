import { expect, test } from 'vitest';
import { readOutcome } from '../../../src/compaction/evidence/outcome.ts';

test.each([
  { content: 'total 3\nsrc\ntest', status: 'ok', line: 'total 3' },
  { content: '', status: 'ok', line: '' },
  { content: '---\n{}\n', status: 'ok', line: '' },
  { content: 'Error: no such file\nat open', status: 'error', line: 'at open' },
  { content: 'compiling\nlinker failed\nexit code 2', status: 'exit code 2', line: 'linker failed' },
  { content: 'exit code 0\nall good', status: 'ok', line: 'all good' },
  { content: '{"status": 404, "path": "/x"}', status: 'status 404', line: '{"status": 404, "path": "/x"}' },
  { content: '<output exit_code="101">\nthread panicked\n</output>', status: 'exit_code 101', line: 'thread panicked' },
  { content: 'Command exited with code 1\nmissing module', status: 'exited with code 1', line: 'missing module' },
])('the tool result "$content" is read with the outcome $status', ({ content, status, line }) => {
  const outcome = readOutcome({ content });
  expect(outcome.status).toBe(status);
  if (status !== 'ok' || !content.startsWith('exit')) expect(outcome.line).toBe(line);
});

test('a tool result that is marked as an error counts as failed, whatever its text says', () => {
  expect(readOutcome({ content: 'no such order\nW-4711', isError: true })).toEqual({ status: 'error', line: 'W-4711' });
});

test('the outcome of a long tool result is read from its start and its end, without the lines that the cut split', () => {
  const content = `first line\n${'noise\n'.repeat(20_000)}Traceback in main\nexit code 1`;
  expect(readOutcome({ content })).toEqual({ status: 'exit code 1', line: 'Traceback in main' });
});
