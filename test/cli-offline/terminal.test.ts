import { expect, test } from 'vitest';
import type { TurnfoldClient } from '../../src/api/client/index.ts';
import { compactFile } from '../../src/cli/commands/compact.ts';
import { planFile } from '../../src/cli/commands/plan.ts';
import { replayFile } from '../../src/cli/commands/replay.ts';
import { showContext } from '../../src/cli/commands/show.ts';
import { renderFile } from '../../src/cli/commands/wire.ts';
import { type Output, openOutput, reportError, writeJson } from '../../src/cli/output.ts';
import { TurnfoldError } from '../../src/domain/errors.ts';
import { escapeActing } from '../../src/domain/visible-text.ts';
import { parsePolicy } from '../../src/host/policy-text.ts';
import { writeTemporary } from '../cli/run-turnfold.ts';
import { HOSTILE_THROWN } from '../fakes/hostile-values.ts';

/** Sequences that a terminal acts on: colour, title, clipboard, C1, and marks that reorder text. */
const SEQUENCES = [
  '\u001B[31m',
  '\u001B]0;title\u0007',
  '\u001B]52;c;aGk=\u0007',
  '\u009B2J',
  '\u202Egnp.exe',
  '\u0008',
  '\r',
];
const HOSTILE = `a${SEQUENCES.join('b')}\tc\nd`;
/** Control characters except newline and tab, and marks that reorder text. */
const ACTS = /(?!\n|\t)\p{Cc}|[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/u;

function openTest(): { readonly output: Output; readonly written: { stdout: string; stderr: string } } {
  const written = { stdout: '', stderr: '' };
  const keep = (name: keyof typeof written) => ({
    write: (text: string | Uint8Array) => {
      written[name] += String(text);
      return true;
    },
  });
  return { output: openOutput(keep('stdout'), keep('stderr')), written };
}

test('the command output escapes control characters, except newlines and tabs, and leaves other text unchanged', () => {
  expect(escapeActing(HOSTILE)).not.toMatch(ACTS);
  expect(escapeActing('\u001B[31m\u009B2J\u202E\u007F')).toBe(String.raw`\u001b[31m\u009b2J\u202e\u007f`);
  const text = 'naïve 日本語 👩‍👩‍👧 עברית\n\tx\r\ny';
  expect(escapeActing(text)).toBe(text);
});

test('an escape sequence that arrives one character at a time is escaped', () => {
  const { output, written } = openTest();
  for (const character of HOSTILE) output.text(character);
  expect(written.stdout).not.toMatch(ACTS);
});

test('printed JSON has no control characters and parses to the same value', () => {
  const { output, written } = openTest();
  const value = { [HOSTILE]: [HOSTILE, `\\${HOSTILE}`] };
  writeJson(output, value);
  expect(written.stdout).not.toMatch(ACTS);
  expect(JSON.parse(written.stdout)).toEqual(value);
});

test.each([false, true])('errors are printed escaped (--json: %s)', (isJson) => {
  const { output, written } = openTest();
  reportError(output, new TurnfoldError('conflict', HOSTILE, { field: HOSTILE }), isJson);
  reportError(output, new Error(HOSTILE), isJson);
  expect(written.stderr).not.toMatch(ACTS);
  expect(written.stderr).toContain(String.raw`\u001b[31m`);
});

test.each(HOSTILE_THROWN)('reportError prints a line and returns 70 for %s', (_, make) => {
  for (const isJson of [false, true]) {
    const { output, written } = openTest();
    expect(reportError(output, make(), isJson)).toBe(70);
    expect(written.stderr.length).toBeGreaterThan(0);
    expect(written.stderr.length).toBeLessThan(40_000);
  }
});

test.each([false, true])('turnfold show prints messages escaped (--json: %s)', async (json) => {
  const { output, written } = openTest();
  const message = { role: 'user', content: HOSTILE };
  const view = {
    conversation: 'c1',
    version: 1,
    head: 1,
    tokens: 1,
    agentSnapshot: { system: HOSTILE, pins: [HOSTILE], tools: [] },
  };
  const context = async () => ({ ...view, items: [{ from: 1, to: 1, tokens: 1, message }] });
  const client = { context } as unknown as TurnfoldClient;
  await showContext({ client, output }, 'c1', { tenant: '_', json, full: true });
  expect(written.stdout).toContain('u001b');
  expect(written.stdout).not.toMatch(ACTS);
});

test('unknown tags of a policy file cause no Node warning, which would print them unescaped', async () => {
  const warnings: Error[] = [];
  const keep = (warning: Error): void => void warnings.push(warning);
  process.on('warning', keep);
  try {
    expect(parsePolicy('mode: !!odd auto')).toMatchObject({ policy: { mode: 'auto' } });
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings).toEqual([]);
  } finally {
    process.off('warning', keep);
  }
});

test('offline commands escape names, contents and errors when they print them', async () => {
  const messages = [1, 2, 3].flatMap(() => [
    { role: 'user', content: HOSTILE },
    { role: 'assistant', content: HOSTILE },
  ]);
  const path = await writeTemporary('file.jsonl', [
    { id: HOSTILE, messages },
    { id: HOSTILE, messages: [{ role: HOSTILE }] },
    { id: 'wrong', messages: [{ role: 'tool', content: '', toolCallId: HOSTILE }] },
  ]);
  for (const json of [false, true]) {
    const { output, written } = openTest();
    await planFile({ output }, path, { json });
    await compactFile({ output }, path, { json });
    await replayFile({ output }, path, { json });
    await renderFile({ output }, path, { format: 'openai-chat' });
    expect(written.stdout).not.toMatch(ACTS);
    expect(written.stderr).not.toMatch(ACTS);
    expect(written.stdout).toContain('u001b');
    expect(written.stderr).toContain('u001b');
  }
});
