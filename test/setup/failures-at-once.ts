import type { Reporter, TestCase } from 'vitest/node';

/** Prints each failure when it happens. The summary at the end would be missing if a time limit ended the run. */
export class FailuresAtOnce implements Reporter {
  onTestCaseResult(test: TestCase): void {
    const { state, errors = [] } = test.result();
    if (state !== 'failed') return;
    for (const { message, diff, stacks = [] } of errors) {
      const places = stacks.map(({ file, line }) => `    at ${file}:${line}`);
      process.stderr.write(`${[`FAILED ${test.fullName}`, message, diff ?? '', ...places].join('\n')}\n`);
    }
  }
}
