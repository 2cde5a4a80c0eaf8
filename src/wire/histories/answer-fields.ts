import { isMapping } from '../../domain/parse.ts';
import type { Block } from './blocks.ts';
import { isFilled } from './own-message.ts';

/** Keys with what a model thought. */
export const REASONING = [
  'reasoning_content',
  'reasoning',
  'reasoning_details',
  'thinking',
  'thinking_blocks',
] as const;

const CALLS = ['tool_calls', 'function_call', 'toolInvocations'] as const;

/** Keys that say something in an answer alone. */
export const OF_ANSWERS: readonly string[] = [...CALLS, ...REASONING, 'refusal', 'tool_plan', 'invalid_tool_calls'];

/** LangChain keeps contents that it does not know, and calls in older versions, in the fields of the provider. */
export function openProviderFields(given: Block): Block {
  const others = given['additional_kwargs'];
  if (!isMapping(others)) return given;
  const kept = Object.entries(others).filter(([key, value]) => OF_ANSWERS.includes(key) && isFilled(value));
  return { ...given, ...Object.fromEntries(kept.filter(([key]) => !isFilled(given[key]))) };
}
