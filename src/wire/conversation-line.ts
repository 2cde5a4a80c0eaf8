import { z } from 'zod';
import { TurnfoldError } from '../domain/errors.ts';
import { jsonSchema, type Message, messageSchema, toolCallSchema } from '../domain/message.ts';
import { isMapping, parseInput } from '../domain/parse.ts';

/** One conversation of a file that has one per line. */
export interface ConversationLine {
  readonly id: string;
  readonly messages: readonly Message[];
}

const idSchema = z.object({ id: z.string().min(1).optional() });
const messagesSchema = z.object({ messages: z.array(z.unknown()) });

/** A call's arguments as text. Files of others hold the object itself; a record's schema would drop a key `__proto__`. */
const argumentsSchema = z
  .union([z.string(), z.custom<object>(isMapping)], { error: 'expected a JSON object, or its text' })
  .transform((given) => (typeof given === 'string' ? given : JSON.stringify(given)));

const partsSchema = z.array(z.looseObject({ type: z.string(), text: z.string().optional() }));

/** A message as OpenAI's chat format has it, as far as it differs from ours. Dumps hold null where there is nothing. */
const chatMessageSchema = z
  .object({
    role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
    content: z.union([z.string(), partsSchema]).nullish(),
    tool_calls: z
      .array(z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: argumentsSchema }) }))
      .nullish(),
    tool_call_id: z.string().nullish(),
    function_call: z.null({ error: 'retired by its provider; expected tool_calls' }).optional(),
    ...messageSchema.pick({ isError: true, droppable: true, pinned: true }).shape,
  })
  .refine(({ role, content }) => role === 'assistant' || (content !== undefined && content !== null), {
    path: ['content'],
    error: 'expected text or a list of parts',
  });

/** What only the chat format has. */
const CHAT_FIELDS = ['tool_calls', 'tool_call_id', 'function_call', 'refusal'] as const;

/** What only our form has: in a message that is read as the chat format's it would vanish without a word. */
const OWN_FIELDS = ['toolCalls', 'toolCallId', 'parts', 'raw', 'summary'] as const;

/** Our form as files of others write it: arguments as an object, and no text beside calls. */
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

/** A line whose id is known, so that what is wrong with its messages can be told of it. */
export interface OpenedLine {
  readonly id: string;
  /** @throws invalid_input, with the field */
  readonly readMessages: () => Message[];
}

/**
 * Opens one line. Each message may be in our form or in OpenAI's chat form.
 * @param number of the line, from 1: the id where the line has none
 * @throws invalid_input, with the field
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

/** @throws invalid_input, with the field */
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

/** Whatever has none of the marks is read as ours: a broken message of ours must not lose its calls as a chat message. */
function isChatMessage(value: unknown): value is Record<string, unknown> {
  if (!isMapping(value)) return false;
  const isMarked = CHAT_FIELDS.some((field) => field in value);
  return isMarked || value.role === 'developer' || Array.isArray(value.content);
}

function readChatMessage(value: Record<string, unknown>, at: string): Message {
  const stray = OWN_FIELDS.find((name) => value[name] !== undefined && value[name] !== null);
  if (stray !== undefined) {
    const field = `${at}.${stray}`;
    throw new TurnfoldError('invalid_input', `${field}: is of another form than the rest of its message`, { field });
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
  // Copied within the bounds of a message's parts.
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
