import { z } from 'zod';
import { TurnfoldError } from '../domain/errors.ts';
import { jsonSchema, type Message, messageSchema, toolCallSchema } from '../domain/message.ts';
import { isMapping, parseInput } from '../domain/parse.ts';

export interface ConversationLine {
  readonly id: string;
  readonly messages: readonly Message[];
}

const idSchema = z.object({ id: z.string().min(1).optional() });
const messagesSchema = z.object({ messages: z.array(z.unknown()) });

/** Reads arguments that other tools wrote as an object. A record schema would drop the key `__proto__`. */
const argumentsSchema = z
  .union([z.string(), z.custom<object>(isMapping)], { error: 'expected a JSON object, or its text' })
  .transform((given) => (typeof given === 'string' ? given : JSON.stringify(given)));

const partsSchema = z.array(z.looseObject({ type: z.string(), text: z.string().optional() }));

/** Fields of OpenAI's chat format that differ from ours. Dumps write null for absent fields. */
const chatMessageSchema = z
  .object({
    role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
    content: z.union([z.string(), partsSchema]).nullish(),
    tool_calls: z
      .array(z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: argumentsSchema }) }))
      .nullish(),
    tool_call_id: z.string().nullish(),
    function_call: z.null({ error: 'function_call is not supported, use tool_calls' }).optional(),
    ...messageSchema.pick({ isError: true, droppable: true, pinned: true }).shape,
  })
  .refine(({ role, content }) => role === 'assistant' || (content !== undefined && content !== null), {
    path: ['content'],
    error: 'expected text or a list of parts',
  });

const CHAT_FIELDS = ['tool_calls', 'tool_call_id', 'function_call', 'refusal'] as const;

/** Fields that only our format has. Reading such a message as chat format would silently lose the fields. */
const OWN_FIELDS = ['toolCalls', 'toolCallId', 'parts', 'raw', 'summary'] as const;

/** Our format with what other tools make of it: arguments as an object, no content beside calls. */
const ownMessageSchema = messageSchema
  .extend({
    content: z.string().nullish(),
    toolCalls: z.array(toolCallSchema.extend({ arguments: argumentsSchema })).nullish(),
  })
  .transform(({ content, toolCalls, ...rest }): unknown => ({
    ...rest,
    content: content ?? (rest.role === 'assistant' && toolCalls ? '' : content),
    ...(toolCalls ? { toolCalls } : {}),
  }))
  .pipe(messageSchema);

/** A line whose id is known, so that errors in its messages can name the conversation. */
export interface OpenedLine {
  readonly id: string;
  readonly readMessages: () => Message[];
}

/**
 * Opens one line. Each message may be in our format or in OpenAI's chat format.
 * @param number line number from 1, used as the id of a line without one
 * @throws invalid_input with the field
 */
export function openConversationLine(line: string, number: number): OpenedLine {
  const value = parseLine(line, `line ${number}`);
  const { id = `line-${number}` } = parseInput(idSchema, value);
  return {
    id,
    readMessages: () =>
      parseInput(messagesSchema, value).messages.map((message, index) => readMessage(message, `messages[${index}]`)),
  };
}

export function readConversationLine(line: string, number: number): ConversationLine {
  const { id, readMessages } = openConversationLine(line, number);
  return { id, messages: readMessages() };
}

export function writeConversationLine(conversation: ConversationLine): string {
  return JSON.stringify(conversation);
}

function parseLine(line: string, at: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw new TurnfoldError('invalid_input', `${at}: not JSON`, { field: at, cause });
  }
  if (!isMapping(value)) throw new TurnfoldError('invalid_input', `${at}: expected an object`, { field: at });
  return value;
}

function readMessage(value: unknown, at: string): Message {
  return isChatMessage(value) ? readChatMessage(value, at) : parseInput(ownMessageSchema, value, at);
}

/** A message without chat fields counts as ours: reading a broken message of ours as chat would drop its calls. */
function isChatMessage(value: unknown): value is Record<string, unknown> {
  if (!isMapping(value)) return false;
  const isMarked = CHAT_FIELDS.some((field) => field in value);
  return isMarked || value.role === 'developer' || Array.isArray(value.content);
}

function readChatMessage(value: Record<string, unknown>, at: string): Message {
  const stray = OWN_FIELDS.find((name) => value[name] !== undefined && value[name] !== null);
  if (stray !== undefined) {
    const field = `${at}.${stray}`;
    throw new TurnfoldError(
      'invalid_input',
      `${field}: not a field of the chat format, which the other fields of the message have`,
      { field },
    );
  }
  const {
    role,
    content,
    tool_calls,
    tool_call_id,
    function_call: _retired,
    ...marks
  } = parseInput(chatMessageSchema, value, at);
  const calls = (tool_calls ?? []).map((call) => ({ id: call.id, ...call.function }));
  // The parts are parsed again to enforce the limits on them.
  const parts = parseInput(z.array(jsonSchema), Array.isArray(content) ? content : [], `${at}.content`);
  const text = Array.isArray(content) ? content.map((part) => part.text ?? '').join('') : (content ?? '');
  return {
    role: role === 'developer' ? 'system' : role,
    content: text,
    ...(calls.length === 0 ? {} : { toolCalls: calls }),
    ...(typeof tool_call_id === 'string' ? { toolCallId: tool_call_id } : {}),
    ...(Array.isArray(content) && content.some((part) => part.type !== 'text') ? { parts } : {}),
    ...marks,
  };
}
