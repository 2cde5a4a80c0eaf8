import { expect, inject, test } from 'vitest';
import type { Message } from '../../src/domain/message.ts';
import { openReplay, type RecordedReplay } from './replayed.ts';

/** Turns of a run under another system, which compacted it 56 times: 12.7 times per 100 turns. */
const TURNS = 442;
/** Growth that ends a backoff. */
const GAP = 1.15;

/**
 * A run with the shape of that one: one task, and a long tool loop with many small results. A user message comes every 60
 * turns. Each assistant message counts as a turn.
 */
function longToolLoop(turns: number): Message[] {
  const messages: Message[] = [
    { role: 'user', content: 'Migrate every module in src/ to the new client. Run the tests.' },
  ];
  for (let turn = 1; turn <= turns; turn += 1) {
    if (turn % 60 === 0) {
      messages.push({ role: 'assistant', content: `Module group ${turn / 60} is migrated.` });
      messages.push({
        role: 'user',
        content: `Good. Go on with group ${turn / 60 + 1}; keep the ids of part ${turn}.`,
      });
      continue;
    }
    const path = `src/module-${Math.floor(turn / 4)}/file${turn % 4}.ts`;
    const id = `call-${turn}`;
    messages.push({
      role: 'assistant',
      content: turn % 5 === 0 ? `The client of ${path} still uses fetchLegacy${turn}; I will replace it.` : '',
      toolCalls: [{ id, name: turn % 2 === 0 ? 'edit' : 'read', arguments: JSON.stringify({ path, line: turn * 3 }) }],
    });
    messages.push({ role: 'tool', toolCallId: id, content: resultOf(turn, path) });
  }
  return [...messages, { role: 'assistant', content: 'All modules are migrated.' }];
}

/** A small result of 20 to 300 tokens. */
function resultOf(turn: number, path: string): string {
  const lines = 1 + ((turn * 7) % 12);
  return Array.from(
    { length: lines },
    (_, line) =>
      `${path}:${turn * 3 + line}: export const value_${turn}_${line} = client.get('/items/${turn}${line}');`,
  ).join('\n');
}

/** Checks that the context had grown since the pass before, and that the pass met its budget or says why not. */
function checkPasses({ passes }: RecordedReplay, { maxTokens }: { readonly maxTokens: number }): void {
  let before = 0;
  for (const { outcome, messages } of passes) {
    if (outcome.kind !== 'version') continue;
    const { tokensAfter, tokensBefore, explained } = outcome.settled;
    expect(tokensAfter <= maxTokens || explained.length > 0, `fits or is explained, at message ${messages}`).toBe(true);
    expect(tokensBefore, `grown since the last pass, at message ${messages}`).toBeGreaterThanOrEqual(before * GAP - 1);
    before = tokensAfter;
  }
}

test.each([
  { tokenThreshold: 12_000, maxTokens: 6_000, most: 4 },
  ...(inject('isThorough') ? [{ tokenThreshold: 5_000, maxTokens: 4_000, most: 18 }] : []),
  // Without a gap between the sizes, only the backoff separates two passes.
  { tokenThreshold: 4_000, maxTokens: 4_000, most: 26 },
])(
  'a long tool loop is compacted at most $most times per 100 turns with threshold $tokenThreshold and maxTokens $maxTokens, each time after growth',
  async ({ most, ...policy }) => {
    const replay = await openReplay(policy, { usableTokens: 20_000 });
    const run = await replay(longToolLoop(TURNS));
    expect((100 * run.figures.compactions) / run.figures.requests).toBeLessThanOrEqual(most);
    checkPasses(run, policy);
  },
);

test('a tool loop under a policy whose retention window exceeds the threshold is compacted only after growth', async () => {
  const policy = { tokenThreshold: 1_000, maxTokens: 900, retentionWindow: 40 };
  const replay = await openReplay(policy, { usableTokens: 20_000 });
  const run = await replay(longToolLoop(TURNS / 2));
  expect(run.figures.compactions).toBeGreaterThan(10);
  expect(run.passes.length).toBeLessThan(run.figures.requests / 3);
  checkPasses(run, policy);
});
