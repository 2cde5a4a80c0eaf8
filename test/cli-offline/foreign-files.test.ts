import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runTurnfold } from '../cli/run-turnfold.ts';

async function write(name: string, ...values: readonly unknown[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'turnfold-foreign-'));
  onTestFinished(async () => await rm(folder, { recursive: true }));
  const path = join(folder, name);
  await writeFile(path, values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join('\n'));
  return path;
}

function sessionRecord(uuid: string, type: string, message: object, more: object = {}): object {
  return { type, uuid, sessionId: 's-1', isSidechain: false, message, ...more };
}

const CALL = { type: 'tool_use', id: 't1', name: 'Read', input: { path: 'a.ts' } };
const SESSION = [
  sessionRecord('u1', 'user', { role: 'user', content: 'Read it.' }),
  sessionRecord('u2', 'assistant', { id: 'm1', role: 'assistant', content: [CALL] }),
  sessionRecord('u3', 'assistant', { id: 'm2', role: 'assistant', content: [{ type: 'text', text: 'Read.' }] }),
];

function resultOf(stdout: string): {
  readonly id: string;
  readonly messages: { readonly role: string }[];
  readonly notes?: unknown[];
} {
  return JSON.parse(stdout) as never;
}

test('turnfold compact reads a session of Claude Code, and closes a call without a result with a note', async () => {
  const path = await write('session.jsonl', ...SESSION);
  const { code, stdout, stderr } = await runTurnfold(['compact', '--json', path]);
  expect(stderr).toBe('');
  expect(code).toBe(0);
  const { id, messages, notes } = resultOf(stdout);
  expect(id).toBe('s-1');
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  expect(notes).toMatchObject([{ at: 'line 2', kind: 'repaired' }]);
});

test.each(['plan', 'compact', 'replay'])(
  'turnfold %s --strict refuses a file that the command would otherwise repair',
  async (command) => {
    const path = await write('session.jsonl', ...SESSION);
    const { code, stderr } = await runTurnfold([command, '--strict', path]);
    expect(code).toBe(1);
    expect(stderr).toContain('s-1: invalid_input: line 2: refused, because `strict` is set: a call without a result');
  },
);

test.each(['plan', 'compact', 'replay'])(
  'turnfold %s with a wrong --from suggests the format that the file seems to have',
  async (command) => {
    const path = await write('session.jsonl', ...SESSION);
    const { code, stderr } = await runTurnfold([command, '--from', 'codex', path]);
    expect(code).toBe(1);
    expect(stderr).toBe(
      `turnfold: invalid_input: ${path}: this looks like a Claude Code session: use --from claude-code\n`,
    );
  },
);

test('turnfold plan lists the known formats for a file of unknown format, and for an unknown --from', async () => {
  const path = await write('notes.txt', 'Dear diary');
  const { stderr } = await runTurnfold(['plan', path]);
  expect(stderr).toMatch(/notes\.txt: in no known format\. Known formats: .*claude-code, codex, .*openai-chat\n$/);
  const wrong = await runTurnfold(['plan', '--from', 'telepathy', path]);
  expect(wrong.stderr).toMatch(/--from: expected turnfold, claude-code, /);
});

test('turnfold plan prints equal notes about a file once, with their number and the line number of the first', async () => {
  const progress = Array.from({ length: 500 }, (_, index) => ({
    type: 'progress',
    uuid: `p${index}`,
    sessionId: 's-1',
  }));
  const path = await write('session.jsonl', ...SESSION, ...progress);
  const { stderr } = await runTurnfold(['plan', path]);
  expect(stderr.split('\n').filter((line) => line.includes('progress'))).toEqual([
    's-1: line 4 and 499 more: left out: records of type progress are not part of the conversation',
  ]);
});

test('turnfold compact leaves out an unfinished last line of a file with a note', async () => {
  const path = await write('session.jsonl', ...SESSION, '{"type":"assi');
  const { code, stdout } = await runTurnfold(['compact', '--json', path]);
  expect(code).toBe(0);
  expect(resultOf(stdout).notes).toMatchObject([{ at: 'line 4', kind: 'repaired' }, { at: 'line 2' }]);
});

test('turnfold compact reads one JSON document over several lines, and names its conversation after the file', async () => {
  const path = await write('my chat.json', JSON.stringify([{ role: 'user', content: 'Hi' }], undefined, 2));
  const { stdout } = await runTurnfold(['compact', '--json', path]);
  expect(resultOf(stdout)).toMatchObject({ id: 'my-chat', messages: [{ role: 'user', content: 'Hi' }] });
});

test('turnfold compact reads a foreign file with blank lines from standard input', async () => {
  const input = '\n# aider chat started at 2026-01-02 03:04:05\n\n#### Hi  \n\nOne.\n\nTwo.\n\n> Tokens: 1\n';
  const { code, stdout } = await runTurnfold(['compact', '--json', '-'], { input });
  expect(code).toBe(0);
  expect(resultOf(stdout)).toMatchObject({
    id: 'aider-2026-01-02-03-04-05',
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'One.\n\nTwo.' },
    ],
  });
});
