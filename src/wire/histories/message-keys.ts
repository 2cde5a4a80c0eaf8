import { z } from 'zod';
import { boundedList } from '../../domain/bounded-schemas.ts';
import { MAX_CALLS, type Message, messageSchema, toolCallSchema } from '../../domain/message.ts';
import { isMapping, parseInput } from '../../domain/parse.ts';
import { type Block, blockOf, isFilled, withoutFields } from './values.ts';

/** turnfold's marks of a message, which other formats may also use. */
export const MESSAGE_MARKS = ['isError', 'droppable', 'pinned', 'stopped'] as const;

/** Keys without a meaning for a model. Other unknown keys are refused. */
export const IGNORED: ReadonlySet<string> = new Set(
  (
    'id object index type created created_at createdAt timestamp date time status model logprobs weight loss_weight ' +
    'metadata usage usage_metadata response_metadata additional_kwargs example invalid_tool_calls ' +
    'provider_specific_fields providerOptions providerMetadata experimental_providerMetadata stop_reason ' +
    'stop_sequence stop_details finish_reason finishReason cache_control stopReason phase artifact container ' +
    'context_management prefix'
  ).split(' '),
);

export const OWN_FIELDS = ['toolCalls', 'toolCallId', 'raw', 'summary'] as const;

const FOREIGN_FIELDS = ['tool_calls', 'tool_call_id', 'function_call', 'refusal', 'toolInvocations', 'name'] as const;

export const REASONING = [
  'reasoning_content',
  'reasoning',
  'reasoning_details',
  'thinking',
  'thinking_blocks',
] as const;

const CALLS = ['tool_calls', 'function_call', 'toolInvocations'] as const;

export const OF_ANSWERS: readonly string[] = [...CALLS, ...REASONING, 'refusal', 'tool_plan', 'invalid_tool_calls'];

/** Takes an answer's keys out of LangChain's `additional_kwargs`, where older versions keep tool calls. */
export function openProviderFields(given: Block): Block {
  const others = given['additional_kwargs'];
  if (!isMapping(others)) return given;
  const kept = Object.entries(others).filter(([key, value]) => OF_ANSWERS.includes(key) && isFilled(value));
  return { ...given, ...Object.fromEntries(kept.filter(([key]) => !isFilled(given[key]))) };
}

/** Arguments of a call, as JSON text or an object. A zod record schema would drop the key `__proto__`. */
const argumentsSchema = z
  .union([z.string(), z.custom<object>(isMapping)], { error: 'expected a JSON object, or its text' })
  .transform((given) => (typeof given === 'string' ? given : JSON.stringify(given)));

/** A message in turnfold's format. Other programs may write arguments as an object, or calls without a content. */
const ownMessageSchema = z
  .strictObject({
    ...messageSchema.shape,
    content: z.string().nullish(),
    // Checked, not copied: `messageSchema` copies `parts` and `raw`, and a second copy of 60,000 values takes 20 ms.
    parts: z.unknown().optional(),
    raw: z.unknown().optional(),
    toolCalls: boundedList(toolCallSchema.extend({ arguments: argumentsSchema }).strict(), MAX_CALLS).nullish(),
  })
  .transform(({ content, toolCalls, ...rest }): unknown => ({
    ...rest,
    content: content ?? (rest.role === 'assistant' && toolCalls ? '' : content),
    ...(toolCalls ? { toolCalls } : {}),
  }))
  .pipe(messageSchema);

/** True for a message in turnfold's format. Read as another format, a broken turnfold message would lose its calls. */
export function isOwnMessage(value: unknown): boolean {
  if (!isMapping(value)) return false;
  const { role, content, parts } = value;
  const has = (fields: readonly string[]): boolean =>
    fields.some((field) => value[field] !== undefined && value[field] !== null);
  if (has(OWN_FIELDS)) return !Array.isArray(content) && !has(FOREIGN_FIELDS);
  if (role === 'summary') return true;
  return typeof content === 'string' && Array.isArray(parts) && !parts.some(isForeignPart);
}

/** True for a part of another format. The AI SDK repeats the text of a message in its parts. */
function isForeignPart(part: unknown): boolean {
  return (
    isMapping(part) &&
    typeof part['type'] === 'string' &&
    /^(?:tool-|step-|source-|data-|reasoning$)/.test(part['type'])
  );
}

/** @throws invalid_input with the path of a wrong or unknown field */
export function readOwnMessage(value: unknown, at: string): Message {
  return parseInput(ownMessageSchema, withoutFields(blockOf(value), IGNORED), at);
}
