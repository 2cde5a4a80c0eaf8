import { describe, expect, test } from 'vitest';
import { reportError } from '../../src/cli/output.ts';
import { collectOutput, runTurnfold } from '../cli/run-turnfold.ts';

describe('failures with --json', () => {
  test.each([
    ['--limit', ['turns', 'v1', '--limit', 'x']],
    ['--limt', ['turns', 'v1', '--limt', '5']],
    ['--agent', ['enqueue', 'v1', 'hi']],
    ['--wait', ['result', 'v1', 't1', '--wait']],
    ['text', ['enqueue', 'v1', '--agent', 'a']],
    ['from', ['diff', 'v1', 'x', '1']],
    [undefined, ['show', 'v1', 'v2']],
    [undefined, ['shwo']],
    [undefined, ['help', 'shwo']],
  ])('with --json a usage error is one line of JSON with the field %s: %j', async (field, args) => {
    const { code, stdout, stderr } = await runTurnfold([...args, '--json']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.trim().split('\n')).toHaveLength(1);
    const { error } = JSON.parse(stderr) as { error: { code: string; field?: string; message: string } };
    expect(error).toMatchObject({
      code: 'invalid_input',
      message: expect.not.stringMatching(/^error: |outputHelp/) as string,
    });
    expect(error.field).toBe(field);
  });

  test('without --json a usage error is text', async () => {
    const { code, stderr } = await runTurnfold(['turns', 'v1', '--limit', 'x']);
    expect(code).toBe(1);
    expect(stderr).toContain(
      "error: option '--limit <n>' argument 'x' is invalid. Expected a whole number of 0 or more.",
    );
    expect(stderr).toContain('(see --help)');
  });

  test('a --json after -- is an argument, not the option', async () => {
    const { stderr } = await runTurnfold(['enqueue', '--wait', 'x', '--', 'v1', '--json']);
    expect(stderr).toMatch(/^error: /);
  });

  test('--help with --json prints the help to standard output and exits with 0', async () => {
    const run = await runTurnfold(['turns', '--help', '--json']);
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(run.stdout).toContain('Usage: turnfold turns');
  });

  test('with --json an error without a code is JSON with the code `defect`, and exits with 70', () => {
    const { output, printed } = collectOutput();
    expect(reportError(output, new TypeError('x is undefined'), true)).toBe(70);
    expect(JSON.parse(printed.stderr)).toMatchObject({
      error: { code: 'defect', message: 'x is undefined', stack: expect.stringContaining('TypeError') as string },
    });
  });
});
