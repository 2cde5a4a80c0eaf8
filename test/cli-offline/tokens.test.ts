import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { getEncoding } from 'js-tiktoken';
import { expect, test } from 'vitest';
import { readJsonLines, runTurnfold, writeTemporary } from '../cli/run-turnfold.ts';

const TEXT = 'Two words, 数える, 🧵 and <|endoftext|>\n';

test.each(['o200k_base', 'cl100k_base'] as const)(
  'the command tokens counts a file in %s as tiktoken does',
  async (encoding) => {
    const file = await writeTemporary('text.txt', TEXT);
    const expected = getEncoding(encoding).encode(TEXT, [], []).length;
    const { code, stdout } = await runTurnfold(['tokens', file, '--encoding', encoding, '--json']);
    expect(code).toBe(0);
    expect(readJsonLines(stdout)).toStrictEqual([{ tokens: expected }]);
  },
);

test('the command tokens without --json prints the count and the default encoding', async () => {
  const file = await writeTemporary('text.txt', '');
  expect(await runTurnfold(['tokens', file])).toMatchObject({ code: 0, stdout: '0 tokens (o200k_base)\n' });
});

test('the command tokens refuses an unknown --encoding', async () => {
  const file = await writeTemporary('text.txt', TEXT);
  const { code, stdout, stderr } = await runTurnfold(['tokens', file, '--encoding', 'p50k_base']);
  expect({ code, stdout }).toStrictEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^turnfold: invalid_input: --encoding: .*o200k_base/);
});

test('help lists every command and the environment variables', async () => {
  const { code, stdout } = await runTurnfold(['--help']);
  expect(code).toBe(0);
  for (const command of [
    'dev',
    'worker',
    'demo',
    'enqueue',
    'show',
    'versions',
    'import',
    'export',
    'plan',
    'tokens',
    'render',
    'validate',
  ]) {
    expect(stdout).toContain(`\n  ${command} `);
    const help = await runTurnfold([command, '--help']);
    expect(help).toMatchObject({ code: 0, stderr: '' });
    expect(help.stdout).toContain(`Usage: turnfold ${command}`);
    expect(help.stdout).not.toContain('(default: false)');
  }
  for (const name of ['REDIS_URL', 'TURNFOLD_METRICS_PORT', 'TURNFOLD_SHUTDOWN_MS']) expect(stdout).toContain(name);
});

test.each([
  [['nonsense'], /unknown command 'nonsense'/],
  [['plan'], /missing required argument 'file'/],
  [['plan', 'x', '--jason'], /unknown option '--jason'/],
  [['worker'], /--agents <file>' not specified/],
  [
    ['worker', '--agents', 'x', '--roles', 'turn,cook'],
    /--roles: unknown role 'cook', expected turn, compaction, summarization/,
  ],
  [['show', 'c1', '--version', 'x'], /Expected a whole number/],
  [['enqueue', 'c1', 'x', '--agent', 'a', '--wait', '-1'], /Expected a number of seconds/],
])('turnfold refuses an invalid command line and prints the reason: %j', async (args, words) => {
  const { code, stdout, stderr } = await runTurnfold(args);
  expect({ code, stdout }).toStrictEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(words);
});

test('a command whose output pipe is closed early exits without an error', async () => {
  const talks = Array.from({ length: 3_000 }, (_, index) => ({ id: `talk-${index}`, messages: [] }));
  const file = await writeTemporary('talks.jsonl', talks);
  const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
  const shell = spawn('sh', ['-c', '"$0" "$1" plan "$2" | head -1', process.execPath, main, file]);
  let stderr = '';
  let stdout = '';
  shell.stderr.on('data', (chunk) => (stderr += String(chunk)));
  shell.stdout.on('data', (chunk) => (stdout += String(chunk)));
  await once(shell, 'close');
  expect(stderr).toBe('');
  expect(stdout).toMatch(/^none {8}talk-0 .*\n$/);
});
