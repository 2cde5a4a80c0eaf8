import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readJsonLines, runTurnfold, tracePath, writeTemporary } from '../cli/run-turnfold.ts';
import { calls, result, says, system, toolTurns, user } from './talks.ts';

interface Line {
  readonly compactions: number;
  readonly tokensPeak: number;
  readonly tokensEnd: number;
  readonly recall: { readonly compacted: number; readonly window: number; readonly needles: number };
}

const POLICY = 'max_tokens: 1500\ntoken_threshold: 1950';

async function replay(lines: readonly unknown[], policy: string, ...args: string[]) {
  const file = await writeTemporary('talks.jsonl', lines);
  const policyFile = await writeTemporary('policy.yaml', policy);
  return await runTurnfold(['replay', file, '--policy', policyFile, ...args]);
}

async function replayOne(messages: readonly unknown[], policy: string, ...args: string[]) {
  const { code, stdout, stderr } = await replay([{ id: 'talk', messages }], policy, '--json', ...args);
  expect({ code, stderr }).toStrictEqual({ code: 0, stderr: '' });
  return readJsonLines(stdout)[0] as Record<string, unknown>;
}

describe('a replay in JSON', () => {
  test('turnfold replay reports the requests, which stay within the window', async () => {
    const line = await replayOne([system, ...toolTurns(12)], POLICY);
    expect(line).toStrictEqual({
      id: 'talk',
      requests: 24,
      overLimit: 0,
      invalid: 0,
      compactions: expect.any(Number) as number,
      tokensSent: expect.any(Number) as number,
      tokensPeak: expect.any(Number) as number,
      tokensEnd: expect.any(Number) as number,
      recall: { compacted: 1, window: 1, needles: 0 },
      prefix: {
        bytes: expect.any(Number) as number,
        kept: expect.any(Number) as number,
        cheapest: expect.any(Number) as number,
      },
    });
    expect(line['compactions']).toBeGreaterThan(1);
    // The default window is twice the budget.
    expect(line['tokensPeak']).toBeLessThanOrEqual(3000);
    expect(line['tokensSent']).toBeLessThan(24 * 3000);
  });

  test('turnfold replay with enabled: false sends everything and counts the requests over the window', async () => {
    const policy = `${POLICY}\nenabled: false`;
    const line = await replayOne([system, ...toolTurns(12)], policy, '--window', '3000');
    expect(line).toMatchObject({ compactions: 0 });
    expect(line['overLimit']).toBeGreaterThan(5);
    expect(line['tokensPeak']).toBeGreaterThan(7000);
  });

  test('turnfold replay closes a tool call without a result, says so, and counts no request as invalid', async () => {
    const messages = [user('go'), calls('lost'), user('well?'), says('sorry'), user('again'), says('no')];
    const notes = [{ at: 'messages[1]', kind: 'repaired' }];
    expect(await replayOne(messages, POLICY)).toMatchObject({ requests: 3, invalid: 0, compactions: 0, notes });
  });

  test('turnfold replay counts assistant messages in a row as the answer to one request', async () => {
    const messages = [
      user('go'),
      says('first'),
      says('second'),
      ...toolTurns(1),
      says('more'),
      user('on'),
      says('yes'),
    ];
    expect(await replayOne(messages, POLICY)).toMatchObject({ requests: 4, invalid: 0 });
  });

  test('turnfold replay measures how much of what the agent later uses is in the compacted context, compared with a plain window', async () => {
    const path = 'src/billing/invoice-9913.ts';
    const messages = [
      system,
      user('fix the bill'),
      calls('first', { path }),
      result('first'),
      says('read'),
      ...toolTurns(7),
      user('now mend it'),
      calls('later', { path, unheard: 'src/never/named.ts' }),
      result('later', 'done'),
      says('mended'),
    ];
    const line = await replayOne(messages, 'max_tokens: 3000\ntoken_threshold: 3900');
    const recall = line['recall'] as Line['recall'];
    expect(recall).toMatchObject({ compacted: 1, window: 0 });
    expect(recall.needles).toBeGreaterThan(0);
  });

  test('turnfold replay --against replays a second policy in the same window', async () => {
    const against = await writeTemporary('other.yaml', 'max_tokens: 4000\ntoken_threshold: 5200');
    const line = await replayOne([system, ...toolTurns(12)], POLICY, '--against', against);
    const other = line['against'] as Record<string, number>;
    expect(other).toMatchObject({ requests: 24, overLimit: 0, invalid: 0 });
    expect(other['tokensSent']).toBeGreaterThan(line['tokensSent'] as number);
    expect(other['compactions']).toBeLessThan(line['compactions'] as number);
  });

  test('turnfold replay --model reports a lower cost with the prompt cache of the provider', async () => {
    const line = await replayOne([system, ...toolTurns(12)], POLICY, '--model', 'anthropic/claude-haiku-4-5');
    const { withCache, withoutCache } = line['cost'] as Record<string, number>;
    expect(withCache).toBeGreaterThan(0);
    expect(withCache).toBeLessThan(withoutCache as number);
    // $1 per million input tokens, $5 per million output tokens.
    expect(withoutCache).toBeGreaterThan(((line['tokensSent'] as number) * 1) / 1_000_000);
  });

  test('turnfold replay refuses a line without a conversation and replays the others', async () => {
    const { code, stdout } = await replay([{ id: 'odd' }, { id: 'talk', messages: toolTurns(1) }], POLICY, '--json');
    expect(code).toBe(1);
    expect(readJsonLines(stdout)).toMatchObject([{ id: 'odd', error: { code: 'invalid_input' } }, { requests: 2 }]);
  });
});

test('turnfold replay without --json prints a table with a sum and a plot for each policy, and no progress bar on a pipe', async () => {
  const against = await writeTemporary('other.yaml', 'max_tokens: 4000\ntoken_threshold: 5200');
  const talks = ['one', 'two'].map((id) => ({ id, messages: [system, ...toolTurns(12)] }));
  const { code, stdout, stderr } = await replay(talks, POLICY, '--against', against);
  expect({ code, stderr }).toStrictEqual({ code: 0, stderr: '' });
  expect(stdout.match(/^total +48 +0 +0 /gm)).toHaveLength(2);
  expect(stdout.match(/^conversation +requests/gm)).toHaveLength(2);
  expect(stdout.match(/^ +0 [┤┼]/gm)).toHaveLength(2);
});

test('turnfold replay warns that it writes all summaries without a model', async () => {
  const policy = `${POLICY}\nsummarizer:\n  models: [anthropic/claude-haiku-4-5]`;
  const { code, stderr } = await replay([{ id: 'talk', messages: toolTurns(1) }], policy, '--json');
  expect(code).toBe(0);
  expect(stderr).toContain('this command calls no model');
});

test.skipIf(!existsSync(tracePath('tau_airline')))(
  'turnfold replay keeps recorded conversations valid within a tight budget (skipped without ../shared/traces)',
  async () => {
    const policy = await writeTemporary('policy.yaml', 'max_tokens: 4000\ntoken_threshold: 5200');
    const { stdout } = await runTurnfold(['replay', tracePath('tau_airline'), '--policy', policy, '--json']);
    const lines = readJsonLines(stdout) as unknown as Line[];
    expect(lines).toHaveLength(100);
    for (const line of lines) {
      expect(line).toMatchObject({ overLimit: 0, invalid: 0 });
      if (Math.max(line.tokensPeak, line.tokensEnd) >= 5200) expect(line.compactions).toBeGreaterThan(0);
    }
    const countHeld = (kind: 'compacted' | 'window'): number =>
      lines.reduce((sum, { recall }) => sum + Math.round(recall[kind] * recall.needles), 0);
    expect(countHeld('window')).toBeGreaterThan(100);
    expect(countHeld('compacted')).toBeGreaterThanOrEqual(countHeld('window'));
  },
);
