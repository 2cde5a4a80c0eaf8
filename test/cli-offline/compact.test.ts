import { describe, expect, test } from 'vitest';
import type { Message } from '../../src/domain/message.ts';
import { readJsonLines, runTurnfold, writeTemporary } from '../cli/run-turnfold.ts';
import { calls, result, says, system, toolTurns, user, violationsOf } from './talks.ts';

interface Line {
  readonly id: string;
  readonly messages: readonly Message[];
  readonly report: Record<string, unknown> & {
    readonly kind: string;
    readonly tokensBefore: number;
    readonly tokensAfter: number;
    readonly steps: readonly { readonly step: string; readonly tokens: number; readonly bytes: number }[];
  };
}

async function compact(lines: readonly unknown[], policy: string, ...args: string[]) {
  const file = await writeTemporary('talks.jsonl', lines);
  const policyFile = await writeTemporary('policy.yaml', policy);
  return await runTurnfold(['compact', file, '--policy', policyFile, ...args]);
}

async function compactOne(messages: readonly unknown[], policy: string): Promise<Line> {
  const { code, stdout, stderr } = await compact([{ id: 'talk', messages }], policy, '--json');
  expect({ code, stderr }).toStrictEqual({ code: 0, stderr: '' });
  const line = readJsonLines(stdout)[0] as unknown as Line;
  const keys = Object.keys(line).filter((key) => key !== 'notes');
  expect(keys).toStrictEqual(['id', 'messages', 'report']);
  return line;
}

describe('a compacted conversation in JSON', () => {
  test('turnfold compact replaces runs of messages by summaries and reports the token figures', async () => {
    const { id, messages, report } = await compactOne(
      [system, ...toolTurns(6)],
      'max_tokens: 2200\nretention_window: 2',
    );
    expect(id).toBe('talk');
    expect(report).toStrictEqual({
      kind: 'summarize',
      reasons: ['manual'],
      tokensBefore: expect.any(Number) as number,
      tokensAfter: expect.any(Number) as number,
      bytesAfter: messages.reduce((sum, message) => sum + byteLength(message), 0),
      archived: 14,
      sequences: 5,
      evicted: 0,
      clipped: 0,
      floorRelaxed: false,
      steps: [{ step: 'summarize', tokens: report.tokensAfter, bytes: report['bytesAfter'] }],
    });
    expect(report.tokensAfter).toBeLessThanOrEqual(2200);
    expect(messages[0]).toStrictEqual(system);
    expect(messages[1]).toStrictEqual(user('question 0'));
    expect(messages[2]).toMatchObject({
      role: 'user',
      content: expect.stringContaining('<summary version="1" messages="3-5">') as string,
    });
    expect(messages.slice(-4)).toStrictEqual(toolTurns(1, 5));
    expect(violationsOf(messages)).toStrictEqual([]);
  });

  test('turnfold compact keeps fewer and fewer recent messages until the budget is met, and never cuts pinned messages', async () => {
    const pinned = {
      ...user(`remember: ${'ten words of what must never be lost by anyone. '.repeat(10)}`),
      pinned: true,
    };
    const messages = [system, pinned, ...toolTurns(3), ...toolTurns(1, 3)];
    const line = await compactOne(messages, 'max_tokens: 250\nretention_window: 40');
    expect(line.report).toMatchObject({ floorRelaxed: true });
    expect(line.report.tokensAfter).toBeLessThanOrEqual(250);
    const sizes = [line.report.tokensBefore, ...line.report.steps.map(({ tokens }) => tokens)];
    expect(sizes).toStrictEqual(sizes.toSorted((a, b) => b - a));
    expect(new Set(sizes).size).toBe(sizes.length);
    expect(line.messages).toContainEqual(user(pinned.content));
    expect(line.messages).toContainEqual(user('question 3'));
    expect(violationsOf(line.messages)).toStrictEqual([]);
  });

  test('turnfold compact prints messages as providers accept them: a user message first, no empty text, results after their call', async () => {
    const messages = [
      says('hello'),
      user(''),
      { ...calls('a'), toolCalls: ['a', 'b'].map((id) => ({ id, name: 'look', arguments: '{}' })) },
      result('b', 'second'),
      user('and?'),
      result('a', ''),
      says(' '),
    ];
    const line = await compactOne(messages, 'max_tokens: 5000\nretention_window: 20');
    expect(line.report.kind).toBe('none');
    expect(line.messages.map(({ role, content }) => [role, content])).toStrictEqual([
      ['user', '(earlier messages are not shown)'],
      ['assistant', 'hello'],
      ['user', '(empty)'],
      ['assistant', ''],
      ['tool', 'second'],
      ['tool', '(empty)'],
      ['user', 'and?'],
      ['assistant', '(empty)'],
    ]);
    expect(violationsOf(line.messages)).toStrictEqual([]);
  });

  test('turnfold compact keeps the reasoning of answers that stay', async () => {
    const answer = { role: 'assistant', content: '5', reasoning_content: '2 + 3 = 5' };
    const { messages } = await compactOne([user('Add 2 and 3.'), answer, user('Double?')], 'max_tokens: 2200');
    expect(messages[1]).toMatchObject({ content: '5', raw: { items: [{ reasoning_content: '2 + 3 = 5' }] } });
  });

  test('turnfold compact with the policy `enabled: false` changes nothing and reports the kind `none`', async () => {
    const line = await compactOne([system, ...toolTurns(3)], 'enabled: false\nmax_tokens: 100');
    expect(line.messages).toHaveLength(13);
    expect(line.report).toMatchObject({ kind: 'none', reasons: [], archived: 0, steps: [] });
    expect(line.report.tokensAfter).toBe(line.report.tokensBefore);
  });

  test('turnfold compact prints the same line for the same conversation', async () => {
    const talk = { id: 'talk', messages: [system, ...toolTurns(8)] };
    const { stdout } = await compact([talk, talk], 'max_tokens: 700', '--json');
    const [first, second] = stdout.trim().split('\n');
    expect(first).toBe(second);
  });
});

describe('refused input', () => {
  test('turnfold compact reports the token count and a remedy if a conversation cannot become small enough, and compacts the other conversations', async () => {
    const large = { id: 'large', messages: [{ role: 'system', content: 'rule '.repeat(500) }, user('go')] };
    const small = { id: 'small', messages: [system, user('go')] };
    const { code, stdout, stderr } = await compact([large, small], 'max_tokens: 200', '--json');
    expect(code).toBe(1);
    const [refused, done] = readJsonLines(stdout);
    expect(refused).toMatchObject({
      id: 'large',
      error: {
        code: 'budget_infeasible',
        details: { pinned: 0, open: 5, floor: 0, max: 200, advice: expect.stringContaining('system prompt') as string },
      },
    });
    const { error } = refused as unknown as { error: { details: { fixed: number; open: number } } };
    expect(stderr).toContain(`raise maxTokens to at least ${error.details.fixed + error.details.open}`);
    expect(done).toMatchObject({ id: 'small', report: { kind: 'none' } });
  });

  test('turnfold compact refuses a conversation with a tool result whose call is missing', async () => {
    const { code, stdout } = await compact([{ id: 'odd', messages: [result('none')] }], '', '--json');
    expect(code).toBe(1);
    expect(readJsonLines(stdout)[0]).toMatchObject({ id: 'odd', error: { code: 'orphan_result' } });
  });

  test('turnfold compact refuses an unknown --summarizer', async () => {
    const run = await compact([], '', '--summarizer', 'magic');
    expect(run).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('--summarizer: expected structural') as string,
    });
  });
});

test('turnfold compact --summarizer structural needs no API key, whatever summarizer the policy names', async () => {
  const policy = 'max_tokens: 2000\nsummarizer:\n  models: [anthropic/claude-haiku-4-5]';
  const talk = { id: 'talk', messages: [system, ...toolTurns(4)] };
  expect(await compact([talk], policy)).toMatchObject({ code: 1 });
  const { code, stdout } = await compact([talk], policy, '--summarizer', 'structural');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^summarize {2}talk {2}\(manual; \d+ → \d+ tokens, \d+ messages\) {2}\d+ archived, /);
});

/** A summary is counted with a version number of six digits, five more than in this test. */
function byteLength({ content, toolCalls = [] }: Message): number {
  const called = toolCalls.map((call) => call.name + call.arguments).join('');
  const widened = content.startsWith('<summary ') ? '99999' : '';
  return Buffer.byteLength(content + called + widened);
}

test('turnfold compact puts the pinned texts of the policy first, byte for byte, and counts their tokens', async () => {
  const pin = 'Answer in French.\n"Always".';
  const plain = await compactOne([system, ...toolTurns(6)], 'max_tokens: 2200\nretention_window: 2');
  const pinned = await compactOne([system, ...toolTurns(6)], `max_tokens: 2200\npins: [${JSON.stringify(pin)}]`);
  expect(pinned.messages.slice(0, 2)).toEqual([{ role: 'system', content: pin }, system]);
  expect(pinned.report.tokensBefore).toBeGreaterThan(plain.report.tokensBefore);
});
