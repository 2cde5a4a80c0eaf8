/** Checks of the request's and its messages' schema, and of sizes (wire rules X3, X9, C3, C6). */
import { isObject, type JsonObject, readObjects, readText } from '../json.ts';
import {
  refuse,
  refuseChoice,
  refuseEmptyArray,
  refuseLongArray,
  refuseMissing,
  refuseType,
  refuseUnknown,
} from '../openai/refuse.ts';
import type { CheckContext, Refusal } from '../refusal.ts';
import { type PlacedMessage, readMessages } from './messages.ts';

const MAX_MESSAGES = 2_048;
const ROLES = ['system', 'assistant', 'user', 'function', 'tool', 'developer'];
const MESSAGE_KEYS: ReadonlySet<string> = new Set(
  'role content name tool_calls tool_call_id refusal annotations audio function_call reasoning_content'.split(' '),
);
/** Reasoning models, whose output limit includes their reasoning. */
const REASONING_MODELS = /^(o\d|gpt-[5-9])/;

export function* checkBody(body: JsonObject): Iterable<Refusal> {
  if (body['model'] === undefined) yield refuse('request', 'you must provide a model parameter');
  if (body['messages'] === undefined) yield refuseMissing('request', 'messages');
  const { length } = readMessages(body);
  if (length > MAX_MESSAGES) yield refuseLongArray('messages', length, MAX_MESSAGES);
  if (length === 0) yield { ...refuseEmptyArray('messages'), rule: 'X5' };
  if (body['max_tokens'] !== undefined && REASONING_MODELS.test(readText(body['model']))) {
    yield refuse(
      'request',
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      { param: 'max_tokens', code: 'unsupported_parameter' },
    );
  }
}

export function* checkMessages(body: JsonObject): Iterable<Refusal> {
  for (const placed of readMessages(body)) {
    const { message, role, index } = placed;
    if (!ROLES.includes(role)) yield refuseChoice('request', `messages[${index}].role`, role, ROLES);
    for (const key of Object.keys(message)) {
      if (!MESSAGE_KEYS.has(key)) yield refuseUnknown(`messages[${index}].${key}`);
    }
    if (Array.isArray(message['tool_calls']) && placed.calls.length === 0) {
      yield refuseEmptyArray(`messages[${index}].tool_calls`);
    }
    yield* checkContent(placed);
  }
}

function* checkContent({ message, role, index, calls }: PlacedMessage): Iterable<Refusal> {
  const { content } = message;
  const param = `messages[${index}].content`;
  if (content === null || content === undefined) {
    if (role === 'assistant' && (calls.length > 0 || readText(message['refusal']) !== '')) return;
    yield refuse('C3', "Invalid value for 'content': expected a string, got null.", {
      param: `messages.[${index}].content`,
    });
  } else if (typeof content === 'string') {
    if (content.trim() === '') yield refuseNothing(role, index);
  } else if (Array.isArray(content)) {
    if (content.length === 0) yield refuseEmptyArray(param);
    yield* checkParts(readObjects(content), role, index);
  } else yield refuseType('request', param, 'one of a string or array of objects', content);
}

function* checkParts(parts: readonly JsonObject[], role: string, index: number): Iterable<Refusal> {
  for (const [position, part] of parts.entries()) {
    if (part['type'] === 'text') {
      if (readText(part['text']).trim() === '') yield refuseNothing(role, index);
    } else if (part['type'] === 'image_url') {
      if (role !== 'user') {
        yield refuse(
          'C6',
          `Invalid 'messages[${index}]'. Image URLs are only allowed for messages with role 'user', but this message with role '${role}' contains an image URL.`,
          { param: `messages[${index}]`, code: 'invalid_value' },
        );
      }
      if (!isObject(part['image_url']))
        yield refuseMissing('request', `messages[${index}].content[${position}].image_url`);
    } else if (part['type'] === 'file' && role === 'user') {
      if (!isObject(part['file'])) yield refuseMissing('request', `messages[${index}].content[${position}].file`);
    } else {
      const param = `messages[${index}].content[${position}].type`;
      yield refuseChoice('request', param, readText(part['type']), ['text', 'image_url', 'input_audio', 'file']);
    }
  }
}

/**
 * Refuses an empty message with Moonshot's error message. OpenAI accepts an empty text, but many OpenAI-compatible
 * servers do not.
 */
function refuseNothing(role: string, index: number): Refusal {
  return refuse('X3', `Invalid request: the message at position ${index} with role '${role}' must not be empty`);
}

export function* checkSize(body: JsonObject, context: CheckContext): Iterable<Refusal> {
  const { bytes, maxBytes, windowTokens, countTokens } = context;
  if (bytes > maxBytes) yield { ...refuse('X9', 'Request Entity Too Large'), status: 413 };
  const tokens = countTokens(body);
  const completion = Number(body['max_completion_tokens'] ?? body['max_tokens'] ?? 0);
  const about = { param: 'messages', code: 'context_length_exceeded' };
  const limit = `This model's maximum context length is ${windowTokens} tokens.`;
  if (tokens > windowTokens) {
    yield refuse(
      'X9',
      `${limit} However, your messages resulted in ${tokens} tokens. Please reduce the length of the messages.`,
      about,
    );
  }
  if (tokens + completion > windowTokens) {
    yield refuse(
      'X9',
      `${limit} However, you requested ${tokens + completion} tokens (${tokens} in the messages, ${completion} in the completion). Please reduce the length of the messages or completion.`,
      about,
    );
  }
}
