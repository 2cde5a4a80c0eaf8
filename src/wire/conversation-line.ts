import { z } from 'zod';
import { boundedList, MAX_GROWN_ENTRIES } from '../domain/bounded-schemas.ts';
import { TurnfoldError } from '../domain/errors.ts';
import { parseJsonText } from '../domain/json-text.ts';
import { jsonSchema, MAX_CALLS, type Message, messageSchema, toolCallSchema } from '../domain/message.ts';
import { isMapping, parseInput } from '../domain/parse.ts';

export interface ConversationLine {
  readonly id: string;
  readonly messages: readonly Message[];
}

/** More content parts than a message of any provider has. */
const MAX_PARTS = 10_000;

/** Bounds of a line: a conversation of 500,000 messages. */
const LINE_BOUNDS = { maxDepth: 200, maxValues: 10_000_000 };

const idSchema = z.object({ id: z.string().min(1).optional() });
const messagesSchema = z.object({ messages: boundedList(z.unknown(), MAX_GROWN_ENTRIES) });

/**
 * Reads tool call arguments that another program exported as an object. A zod record schema would drop the key
 * `__proto__`.
 */
const argumentsSchema = z
  .union([z.string(), z.custom<object>(isMapping)], { error: 'expected a JSON object, or its text' })
  .transform((given) => (typeof given === 'string' ? given : JSON.stringify(given)));

const partsSchema = boundedList(z.looseObject({ type: z.string(), text: z.string().optional() }), MAX_PARTS);

/**
 * Fields of OpenAI's chat format that differ from turnfold's message format. Exported files have null for absent
 * fields.
 */
const chatMessageSchema = z
  .object({
    role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
    content: z.union([z.string(), partsSchema]).nullish(),
    tool_calls: boundedList(
      z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: argumentsSchema }) }),
      MAX_CALLS,
    ).nullish(),
    tool_call_id: z.string().nullish(),
    function_call: z.null({ error: 'function_call is not supported: use tool_calls' }).optional(),
    ...messageSchema.pick({ isError: true, droppable: true, pinned: true, stopped: true }).shape,
  })
  .refine(({ role, content }) => role === 'assistant' || (content !== undefined && content !== null), {
    path: ['content'],
    error: 'expected a string or a list of content parts',
  });

const CHAT_FIELDS = ['tool_calls', 'tool_call_id', 'function_call', 'refusal'] as const;

/**
 * Fields that only turnfold's message format has. Reading a message with one of them as OpenAI chat format would
 * silently lose the field.
 */
const OWN_FIELDS = ['toolCalls', 'toolCallId', 'parts', 'raw', 'summary'] as const;

/**
 * turnfold's message format, plus two variants that other programs write: arguments as an object, and no content beside
 * tool calls.
 */
const ownMessageSchema = messageSchema
  .extend({
    content: z.string().nullish(),
    // The second schema copies these two. A copy of 60,000 values takes 20 ms.
    parts: z.unknown().optional(),
    raw: z.unknown().optional(),
    toolCalls: boundedList(toolCallSchema.extend({ arguments: argumentsSchema }), MAX_CALLS).nullish(),
  })
  .transform(({ content, toolCalls, ...rest }): unknown => ({
    ...rest,
    content: content ?? (rest.role === 'assistant' && toolCalls ? '' : content),
    ...(toolCalls ? { toolCalls } : {}),
  }))
  .pipe(messageSchema);

/**
 * A conversation whose id has been read, but not yet its messages. Errors in the messages can then name the
 * conversation.
 */
export interface OpenedLine {
  readonly id: string;
  readonly readMessages: () => Message[];
}

/**
 * Reads the conversation id from one line of an import file. Each message may be in turnfold's format or in OpenAI's
 * chat format.
 * @param number line number from 1, used as the conversation id if the line has none
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
  const value = parseJsonText(line, at, LINE_BOUNDS);
  if (!isMapping(value)) throw new TurnfoldError('invalid_input', `${at}: expected a JSON object`, { field: at });
  return value;
}

/**
 * Reads a message in turnfold's format or in OpenAI's chat format.
 * @throws invalid_input with the field
 */
export function readMessage(value: unknown, at: string): Message {
  return isChatMessage(value) ? readChatMessage(value, at) : parseInput(ownMessageSchema, value, at);
}

/**
 * Returns true if the message has fields of OpenAI's chat format. Any other message is read as turnfold's format,
 * because reading a broken turnfold message as chat format would drop its tool calls.
 */
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
      `${field}: the message mixes turnfold's format with OpenAI's chat format, which has no such field`,
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
  // The parts are parsed again, to apply the limits on message parts.
  const parts = parseInput(boundedList(jsonSchema, MAX_PARTS), Array.isArray(content) ? content : [], `${at}.content`);
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
