import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readJsonLines, runTurnfold, writeTemporary } from '../cli/run-turnfold.ts';
import { listElements, listRows, listTexts, readMarkup } from '../reports/read-report.ts';
import { system, toolTurns, user } from './talks.ts';

const POLICY = 'max_tokens: 1500\ntoken_threshold: 1950';
const HOSTILE = '<script>alert(1)</script>';

async function report(command: string, lines: readonly unknown[], ...args: string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'turnfold-report-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = await writeTemporary('talks.jsonl', lines);
  const policy = await writeTemporary('policy.yaml', POLICY);
  const html = join(folder, 'report.html');
  const { code, stdout, stderr } = await runTurnfold([command, file, '--policy', policy, '--html', html, ...args]);
  expect({ code, stderr }).toStrictEqual({ code: 0, stderr: '' });
  const text = await readFile(html, 'utf8');
  return { stdout, document: readMarkup(text) };
}

interface ReplayLine extends Record<string, unknown> {
  readonly id: string;
  readonly compactions: number;
  readonly recall: { readonly compacted: number; readonly window: number; readonly needles: number };
  readonly prefix: { readonly kept: number; readonly cheapest: number };
}

test('turnfold replay --html writes the figures of the JSON lines and a mark for each compaction', async () => {
  const talks = [
    { id: HOSTILE, messages: [system, ...toolTurns(12)] },
    { id: 'short', messages: toolTurns(2) },
  ];
  const { stdout, document } = await report('replay', talks, '--json');
  const lines = readJsonLines(stdout) as unknown as ReplayLine[];
  const share = (part: number, of: number): number | string => (of === 0 ? '-' : part);
  const rows = lines.map(({ id, recall, prefix, ...figures }) => [
    id,
    ...['requests', 'overLimit', 'invalid', 'compactions', 'tokensSent', 'tokensPeak', 'tokensEnd'].map(
      (name) => figures[name],
    ),
    share(recall.compacted, recall.needles),
    share(recall.window, recall.needles),
    share(prefix.kept / prefix.cheapest, prefix.cheapest),
  ]);
  expect(listRows(document).slice(0, 2)).toEqual(rows);
  expect(listRows(document)[2]?.[0]).toBe('total');
  const [first] = listElements(document, 'svg');
  const marks = listElements(first as never, 'g').filter((group) => group.getAttribute('class') === 'mark');
  expect(marks).toHaveLength(lines[0]?.compactions ?? 0);
  expect(listTexts(document, 'h2').slice(1)).toEqual([HOSTILE, 'short']);
  expect(listElements(document, 'script')).toEqual([]);
});

test('turnfold replay --html has a title with the size of each request, and these sizes match the peak and the sum in the JSON', async () => {
  const { stdout, document } = await report('replay', [{ id: 'talk', messages: toolTurns(8) }], '--json');
  const [line] = readJsonLines(stdout) as unknown as { tokensPeak: number; tokensSent: number }[];
  const sizes = listTexts(document, 'title').flatMap((title) => {
    const [, tokens] = /^model call \d+, turn \d+: ([\d,]+) tokens$/.exec(title) ?? [];
    return tokens === undefined ? [] : [Number(tokens.replaceAll(',', ''))];
  });
  expect(Math.max(...sizes)).toBe(line?.tokensPeak);
  expect(sizes.reduce((sum, tokens) => sum + tokens, 0)).toBe(line?.tokensSent);
});

test('turnfold replay --html --against draws each conversation under both policies, and still prints the tables', async () => {
  const against = await writeTemporary('other.yaml', 'max_tokens: 4000\ntoken_threshold: 5200');
  const { stdout, document } = await report('replay', [{ id: 'talk', messages: toolTurns(12) }], '--against', against);
  expect(stdout.match(/^conversation +requests/gm)).toHaveLength(2);
  expect(listElements(document, 'svg')).toHaveLength(2);
});

test('turnfold plan --html writes the plans of the JSON lines, with the ranges that change', async () => {
  const talks = [
    { id: 'talk', messages: [system, ...toolTurns(8)] },
    { id: 'small', messages: [user('hello')] },
  ];
  const { stdout, document } = await report('plan', talks, '--json');
  const lines = readJsonLines(stdout);
  const rows = lines.map(({ id, kind, reasons, tokens, messages, turns, prefixTokens }) => [
    id,
    kind,
    (reasons as string[]).join(', '),
    tokens,
    messages,
    turns,
    prefixTokens,
  ]);
  expect(listRows(document)).toEqual(rows);
  const sequences = lines[0]?.['sequences'] as { from: number; to: number }[];
  const named = sequences.map(({ from, to }) => `messages ${from}–${to} become one summary`);
  expect(named.length).toBeGreaterThan(0);
  expect(listTexts(document, 'title')).toEqual(expect.arrayContaining(named));
});

test('turnfold plan and replay fail before any computation if the report file cannot be written', async () => {
  const file = await writeTemporary('talks.jsonl', [{ id: 'talk', messages: toolTurns(1) }]);
  for (const command of ['plan', 'replay']) {
    const html = join(tmpdir(), 'turnfold-no-such-folder', 'report.html');
    const { code, stdout, stderr } = await runTurnfold([command, file, '--html', html]);
    expect({ code, stdout }).toStrictEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(`invalid_input: ${html}: cannot be written: no such file or folder (ENOENT)`);
  }
});
