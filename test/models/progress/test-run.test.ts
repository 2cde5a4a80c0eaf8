import { expect, it } from 'vitest';
import { findTestSummary, mayRunTests } from '../../../src/summarize/progress/test-run.ts';

it.each([
  ['pytest', '....F\n=== 1 failed, 4 passed in 0.12s ===', ['=== 1 failed, 4 passed in 0.12s ===']],
  ['unittest', '...\nRan 17 tests in 0.137s\n\nOK', ['Ran 17 tests in 0.137s', 'OK']],
  ['a failed unittest', 'Ran 5 tests in 0.1s\n\nFAILED (failures=1)', ['Ran 5 tests in 0.1s', 'FAILED (failures=1)']],
  [
    'vitest',
    ' Test Files  1 failed | 3 passed (4)\n      Tests  2 failed | 40 passed (42)\n   Start at 10:00',
    ['Test Files  1 failed | 3 passed (4)', 'Tests  2 failed | 40 passed (42)'],
  ],
  ['jest', 'Tests:       1 failed, 5 passed, 6 total', ['Tests:       1 failed, 5 passed, 6 total']],
  ['cargo', 'test result: ok. 5 passed; 0 failed; 0 ignored', ['test result: ok. 5 passed; 0 failed; 0 ignored']],
  ['maven', '[INFO] Tests run: 5, Failures: 0, Errors: 0', ['[INFO] Tests run: 5, Failures: 0, Errors: 0']],
  ['go', '--- FAIL: TestA\nok  \texample.org/a\t0.102s', ['ok  \texample.org/a\t0.102s']],
  ['rspec', '12 examples, 1 failure', ['12 examples, 1 failure']],
  ['mocha', '  12 passing (30ms)\n  1 failing', ['12 passing (30ms)', '1 failing']],
  ['ctest', '100% tests passed, 0 tests failed out of 5', ['100% tests passed, 0 tests failed out of 5']],
  ['prose', 'I ran the tests, and all is well.', []],
  ['a listing', 'src/pass.ts:12\nsrc/fail.ts:40', []],
])('the summary of %s is found by its form', (_, content, lines) => {
  expect(findTestSummary(content)).toEqual(lines);
});

it('a command that shows a file runs no tests', () => {
  const run = (command: string) => mayRunTests({ id: 'c', name: 'bash', arguments: JSON.stringify({ command }) });
  expect(run('cat report.txt')).toBe(false);
  expect(run('cd app && grep -n passed log')).toBe(false);
  expect(run('npm test 2>&1 | tail -5')).toBe(true);
});
