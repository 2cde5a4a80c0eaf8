import { beforeAll, expect, it } from 'vitest';
import { MAX_MESSAGE_BYTES } from '../../../src/domain/message.ts';
import { loadTokenCounter, type TokenCounter } from '../../../src/wire/tokens/token-counter.ts';
import { clipResult, TOOL_RESULT_MAX_TOKENS } from '../../../src/workers/turn/tool-output.ts';

const hasRecall = true;
let counter: TokenCounter;

beforeAll(async () => {
  counter = await loadTokenCounter('o200k_base');
});

function numbered(lines: number): string {
  return Array.from({ length: lines }, (_, line) => `line ${line + 1} of the file`).join('\n');
}

it('a tool result that is not larger than the token limit stays unchanged', async () => {
  const text = numbered(200);
  const tokens = await counter.count(text);
  expect(await clipResult(counter, text, { maxTokens: tokens, hasRecall })).toEqual({ content: text });
  expect((await clipResult(counter, text, { maxTokens: tokens - 1, hasRecall })).whole?.text).toBe(text);
});

it('a tool result above the token limit is clipped to its head, its tail, its length and a reference to the full text', async () => {
  const text = numbered(5_000);
  const { content, whole } = await clipResult(counter, text, { maxTokens: TOOL_RESULT_MAX_TOKENS, hasRecall });
  expect(whole).toEqual({ hash: expect.stringMatching(/^[a-f0-9]{32}$/), text });
  const marker = `\n[clipped: ${text.length} characters; recall reads the whole by ref ${whole?.hash}]\n`;
  const [head, tail] = content.split(marker) as [string, string];
  expect(text.startsWith(head)).toBe(true);
  expect(text.endsWith(tail)).toBe(true);
  expect(head.startsWith('line 1 of')).toBe(true);
  expect(tail.endsWith('line 5000 of the file')).toBe(true);
  const kept = await counter.count(content);
  expect(kept).toBeLessThanOrEqual(TOOL_RESULT_MAX_TOKENS);
  expect(kept).toBeGreaterThan(TOOL_RESULT_MAX_TOKENS * 0.98);
});

it('a clipped tool result has the same reference for the same text, and splits no character', async () => {
  const text = '👩‍🚀 宇宙飛行士 '.repeat(2_000);
  const first = await clipResult(counter, text, { maxTokens: 300, hasRecall });
  expect(await clipResult(counter, text, { maxTokens: 300, hasRecall })).toEqual(first);
  expect(first.content.isWellFormed()).toBe(true);
});

it.each([
  ['the longest tokens', ' '.repeat(MAX_MESSAGE_BYTES + 1)],
  ['many lines', numbered(60_000)],
])('a clipped tool result of %s is never larger than a message may be, at any token limit', async (_name, text) => {
  const { content, whole } = await clipResult(counter, text, { maxTokens: 10_000_000, hasRecall });
  expect(whole === undefined, 'more than a message may hold is not kept').toBe(true);
  expect(content).toMatch(/\n\[clipped: \d+ characters; the rest is not kept\]\n/);
  expect(Buffer.byteLength(content)).toBeLessThanOrEqual(MAX_MESSAGE_BYTES);
});

it('the full text of a clipped tool result is stored if it is not larger than a message may be', async () => {
  const text = 'a'.repeat(MAX_MESSAGE_BYTES);
  const { whole } = await clipResult(counter, text, { maxTokens: 100, hasRecall });
  expect(whole?.text === text).toBe(true);
});

it('the full text of a clipped tool result is not stored for an agent without recall, and the clipped text states this', async () => {
  const { content, whole } = await clipResult(counter, numbered(5_000), { maxTokens: 300, hasRecall: false });
  expect(whole === undefined).toBe(true);
  expect(content).toMatch(/\n\[clipped: \d+ characters; the rest is not kept\]\n/);
});

it('a clipped tool result is only the note about the clip if the token limit allows no more', async () => {
  const { content } = await clipResult(counter, numbered(100), { maxTokens: 5, hasRecall });
  expect(content).toMatch(/^\n\[clipped: \d+ characters; recall reads the whole by ref [a-f0-9]{32}\]\n$/);
});
