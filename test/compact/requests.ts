import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { expect } from 'vitest';

/** All texts of a value, without the names of its fields. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

/** Counts the texts of messages with another tokenizer than turnfold's. */
export function countRequest(messages: readonly unknown[]): number {
  return messages.reduce<number>((sum, message) => sum + countTokens(textsOf(message).join('')), 0);
}

/** Keys that hold the id of a call in a result, in all formats. */
const RESULT_KEYS = ['tool_call_id', 'tool_use_id'];

/** Ids of the calls and of the results that messages hold, in order. Calls of these tests are named `call-<number>`. */
export function listCallIds(messages: readonly unknown[]): { readonly calls: string[]; readonly results: string[] } {
  const calls: string[] = [];
  const results: string[] = [];
  const look = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const { type, role, ...fields } = value as Record<string, unknown>;
    const isResult = /result|output/.test(String(type)) || role === 'tool' || RESULT_KEYS.some((key) => key in fields);
    for (const field of Object.values(fields)) {
      if (typeof field === 'string' && /^call-\d+$/.test(field)) (isResult ? results : calls).push(field);
      else look(field);
    }
  };
  messages.forEach(look);
  return { calls: [...new Set(calls)], results: [...new Set(results)] };
}

/** Every call has a result, and every result a call. */
export function expectPaired(messages: readonly unknown[]): void {
  const { calls, results } = listCallIds(messages);
  expect(results).toStrictEqual(calls);
}
