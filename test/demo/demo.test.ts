import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { nameProgram } from '../../src/cli/commands/demo.ts';
import { endOf, readJsonLines, runTurnfold, startTurnfold, writeTemporary } from '../cli/run-turnfold.ts';

const KEYS = ['turns', 'versions', 'summarized', 'evicted', 'tokensPeak', 'tokensEnd', 'overLimit'];

/** Runs the demo. `lines` are its JSON output, `printed` is the text for people. */
async function runDemo(...args: string[]) {
  const { code, stdout, stderr } = await runTurnfold(['demo', '--json', ...args]);
  return { code, lines: readJsonLines(stdout), printed: stderr };
}

function figureOf(printed: string, pattern: RegExp): number {
  const found = pattern.exec(printed)?.[1];
  if (found === undefined) throw new Error(`${String(pattern)} is not in the output:\n${printed}`);
  return Number(found);
}

test('the demo summarizes messages, and no model request exceeds the window', async () => {
  const { code, lines, printed } = await runDemo();
  expect(code).toBe(0);
  expect(lines).toHaveLength(1);
  const [summary = {}] = lines;
  expect(Object.keys(summary)).toStrictEqual(KEYS);
  expect(summary).toMatchObject({ turns: 42, overLimit: 0 });
  expect(summary['summarized']).toBeGreaterThanOrEqual(2);
  expect(summary['versions']).toBe(Number(summary['summarized']) + Number(summary['evicted']));

  const usable = figureOf(printed, /usable window (\d+)/);
  expect(usable * 4).toBeLessThanOrEqual(figureOf(printed, /(\d+) tokens in the log/));
  expect(summary['tokensPeak']).toBeLessThanOrEqual(usable);
  expect(figureOf(printed, /without compaction (\d+) calls exceed the window/)).toBeGreaterThanOrEqual(5);
  expect(printed.match(/^turn +\d+\/42 /gm)).toHaveLength(42);
});

test('the demo prints its versions and the commands to examine them', async () => {
  const talk = Array.from({ length: 12 }, (_, turn) => [
    { role: 'user', content: `question ${turn}` },
    { role: 'assistant', content: 'and so on '.repeat(100) },
  ]).flat();
  const file = await writeTemporary('talk.jsonl', [{ id: 'talk', messages: talk }]);
  const { code, stdout } = await runTurnfold(['demo', '--file', file]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/\nversion {2}strategy {2}/);
  expect(stdout).toMatch(/REDIS_URL=redis:\/\/127\.0\.0\.1:\d+ npm run -s turnfold -- versions turnfold-demo-/);
});

test('the demo serves the inspector, which refuses changes without --allow-changes, until Ctrl-C', async () => {
  const messages = [
    { role: 'user', content: 'one question' },
    { role: 'assistant', content: 'one answer' },
  ];
  const file = await writeTemporary('talk.jsonl', [{ id: 'talk', messages }]);
  const child = startTurnfold(['demo', '--inspect', '--file', file]);
  if (child.stderr === null) throw new Error('the notes of the demo are not piped');
  const { promise, resolve } = Promise.withResolvers<string>();
  createInterface({ input: child.stderr }).on('line', (line) => {
    const url = /until Ctrl-C: (http.*)\/#/.exec(line)?.[1];
    if (url !== undefined) resolve(url);
  });
  const url = await promise;
  const answer = await fetch(`${url}/v1/conversations/not-there/compact`, { method: 'POST' });
  expect(await answer.json()).toMatchObject({ code: 'read_only' });
  child.kill('SIGINT');
  expect((await endOf(child)).code).toBe(130);
});

test('the demo prints the commands that fit a checkout or an installed package', async () => {
  expect(nameProgram(fileURLToPath(new URL('../..', import.meta.url)))).toBe('npm run -s turnfold --');
  expect(nameProgram(dirname(await writeTemporary('package.json', '{}')))).toBe('npx turnfold');
});

describe('a playback', () => {
  test('the demo plays back a conversation that starts with the assistant, calls in parallel and has empty texts', async () => {
    const calls = [0, 1, 2].map((n) => ({ id: `x${n}`, name: 'read', arguments: `{"n":${n}}` }));
    const messages = [
      { role: 'assistant', content: 'Welcome.' },
      { role: 'user', content: '' },
      { role: 'assistant', content: '', toolCalls: calls },
      ...calls.map(({ id }) => ({ role: 'tool', toolCallId: id, content: '' })),
      { role: 'assistant', content: '' },
      { role: 'user', content: 'thanks' },
    ];
    const file = await writeTemporary('talk.jsonl', [{ id: 'talk', messages }]);
    const { code, lines } = await runDemo('--file', file);
    expect(code).toBe(0);
    expect(lines).toMatchObject([{ turns: 2, overLimit: 0 }]);
  });

  test('the demo reports turns that fail in spite of compaction, and exits with 1', async () => {
    // One answer larger than any window that it is played back in: nothing that may be removed makes room behind it.
    const calls = Array.from({ length: 12 }, (_, n) => ({ id: `x${n}`, name: 'read', arguments: `{"n":${n}}` }));
    const messages = [
      { role: 'user', content: 'read all at once' },
      { role: 'assistant', content: '', toolCalls: calls },
      ...calls.map(({ id }) => ({ role: 'tool', toolCallId: id, content: 'word '.repeat(4_000) })),
      { role: 'assistant', content: 'done' },
    ];
    const file = await writeTemporary('talk.jsonl', [{ id: 'talk', messages }]);
    const { code, lines, printed } = await runDemo('--file', file);
    expect(code).toBe(1);
    expect(lines).toMatchObject([{ turns: 1, overLimit: 0 }]);
    expect(printed).toContain('1 of 1 turns fail (1 budget_infeasible) with compaction on');
  });

  test.each([
    ['no conversation', '', /invalid_input: --file: .* has no conversation/],
    [
      'no question',
      '{"messages":[{"role":"assistant","content":"hi"}]}',
      /invalid_input: messages: playback needs at least one user message/,
    ],
    ['no JSON', 'hello', /invalid_input: line 1: not valid JSON/],
    ['no JSON further down', '\n\nhello', /playing back line 3 of [^]*invalid_input: line 3: not valid JSON/],
  ])('the demo refuses a file with %s', async (_, content, words) => {
    const file = await writeTemporary('talk.jsonl', content);
    const { code, stdout, stderr } = await runTurnfold(['demo', '--file', file]);
    expect({ code, stdout }).toStrictEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(words);
  });
});
