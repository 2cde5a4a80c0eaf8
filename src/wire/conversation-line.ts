import { z } from 'zod';
import { TurnfoldError } from '../domain/errors.ts';
import { type Message, messageSchema } from '../domain/message.ts';
import { parseInput } from '../domain/parse.ts';

/** One conversation of a file that has one per line. */
export interface ConversationLine {
  readonly id: string;
  readonly messages: readonly Message[];
}

const lineSchema = z.object({ id: z.string().min(1).optional(), messages: z.array(z.unknown()) });

/** A message as OpenAI's chat format has it, as far as it differs from ours. */
const chatMessageSchema = z.object({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: z
    .union([z.string(), z.null(), z.array(z.looseObject({ type: z.string(), text: z.string().optional() }))])
    .optional(),
  tool_calls: z
    .array(z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) }))
    .optional(),
  tool_call_id: z.string().optional(),
});

/**
 * Reads one line. Each message may be in our form or in OpenAI's chat form.
 * @param number of the line, from 1: the id where the line has none
 * @throws invalid_input, with the field
 */
export function readConversationLine(line: string, number: number): ConversationLine {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw new TurnfoldError('invalid_input', `line ${number}: not JSON`, { field: `line ${number}`, cause });
  }
  const { id, messages } = parseInput(lineSchema, value);
  return {
    id: id ?? `line-${number}`,
    messages: messages.map((message, index) => readMessage(message, `messages[${index}]`)),
  };
}

export function writeConversationLine(conversation: ConversationLine): string {
  return JSON.stringify(conversation);
}

function readMessage(value: unknown, at: string): Message {
  return isChatMessage(value) ? readChatMessage(value, at) : parseInput(messageSchema, value, at);
}

function isChatMessage(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const message = value as Record<string, unknown>;
  return (
    'tool_calls' in message ||
    'tool_call_id' in message ||
    message.role === 'developer' ||
    typeof message.content !== 'string'
  );
}

function readChatMessage(value: Record<string, unknown>, at: string): Message {
  const { role, content, tool_calls: calls = [], tool_call_id: toolCallId } = parseInput(chatMessageSchema, value, at);
  const parts = Array.isArray(content) ? content : [];
  const text = Array.isArray(content) ? content.map((part) => part.text ?? '').join('') : (content ?? '');
  return {
    role: role === 'developer' ? 'system' : role,
    content: text,
    ...(calls.length === 0 ? {} : { toolCalls: calls.map((call) => ({ id: call.id, ...call.function })) }),
    ...(toolCallId === undefined ? {} : { toolCallId }),
    ...(parts.some((part) => part.type !== 'text') ? { parts } : {}),
  };
}
