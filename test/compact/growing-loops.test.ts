import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, test } from 'vitest';
import type { MessageFormat } from '../../src/compact/kinds/kind.ts';
import { compactMessages, type CompactState } from '../../src/compact.ts';
import { DIALECTS, type Dialect, stepOf } from './dialects.ts';

const STEPS = 100;
const WINDOW = 8_000;

/** All texts of a value, without the names of its fields. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

function countRequest(messages: readonly unknown[]): number {
  return messages.reduce<number>((sum, message) => sum + countTokens(textsOf(message).join('')), 0);
}

const callIds = (messages: readonly unknown[], pattern: RegExp): string[] =>
  [...JSON.stringify(messages).matchAll(pattern)].map(([, id]) => id as string);

/** Ids of calls and of results by the keys of all formats. */
const CALL = /"(?:id|callId|call_id|toolCallId)":"(call-\d+)"(?=,"(?:name|toolName|type":"function))/g;
const RESULT =
  /"(?:tool_call_id|tool_use_id)":"(call-\d+)"|"(?:function_call_result|function_call_output)","(?:callId|call_id)":"(call-\d+)"|"tool-result","toolCallId":"(call-\d+)"|"tool","toolCallId":"(call-\d+)"/g;

function expectPaired(messages: readonly unknown[]): void {
  const results = [...JSON.stringify(messages).matchAll(RESULT)].map(([, ...ids]) => ids.find((id) => id !== undefined));
  const calls = new Set(callIds(messages, CALL).filter((id) => !results.includes(id)));
  expect([...calls]).toStrictEqual([]);
  expect(results.length).toBeGreaterThan(0);
}

interface Run {
  readonly compactions: number;
  readonly prefixChanges: number;
  readonly prefixChangesElsewhere: number;
  readonly largest: number;
}

/** @param feedsBack true: the caller keeps only what was returned */
async function runLoop(dialect: Dialect, format: MessageFormat, feedsBack: boolean): Promise<Run> {
  let messages: unknown[] = [];
  let state: CompactState | undefined;
  let before: string[] = [];
  const run = { compactions: 0, prefixChanges: 0, prefixChangesElsewhere: 0, largest: 0 };
  for (let step = 0; step < STEPS; step += 1) {
    messages = [...messages, ...stepOf(dialect, step)];
    const given = messages;
    const copy = structuredClone(given);
    const compacted = await compactMessages({ messages: given, format, window: WINDOW, ...(state && { state }) });
    expect(given).toStrictEqual(copy);
    expect(compacted.changed).toBe(compacted.messages !== given);
    // Passing a state through a store changes nothing.
    state = JSON.parse(JSON.stringify(compacted.state)) as CompactState;
    run.largest = Math.max(run.largest, countRequest(compacted.messages));
    expectPaired(compacted.messages);
    const now = compacted.messages.map((message) => JSON.stringify(message));
    const isKept = before.every((message, index) => now[index] === message);
    if (compacted.report.kind !== 'none') run.compactions += 1;
    if (!isKept) run.prefixChanges += 1;
    if (!isKept && compacted.report.kind === 'none') run.prefixChangesElsewhere += 1;
    before = now;
    if (feedsBack) messages = compacted.messages;
  }
  return run;
}

const formats = Object.entries(DIALECTS) as [MessageFormat, Dialect][];

describe.each([
  ['the whole history', false],
  ['what the call before returned', true],
])('a loop that passes %s', (_, feedsBack) => {
  test.each(formats)('stays inside the window over 100 steps of %s, and changes its start only at compactions', async (format, dialect) => {
    const run = await runLoop(dialect, format, feedsBack);
    expect(run.largest).toBeLessThanOrEqual(WINDOW);
    expect(run.largest).toBeGreaterThan(WINDOW / 2);
    expect(run.prefixChangesElsewhere).toBe(0);
    expect(run.compactions).toBeGreaterThan(3);
    expect(run.prefixChanges).toBeLessThanOrEqual(run.compactions);
  });
});
