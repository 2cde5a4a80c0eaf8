import { hash } from 'node:crypto';
import { z } from 'zod';
import { boundedList } from '../../../domain/bounded-schemas.ts';
import { fieldError } from '../../../domain/errors.ts';
import { idSchema } from '../../../domain/ids.ts';
import { isMapping, parseInput } from '../../../domain/parse.ts';
import { metadataSchema } from '../../../domain/turn.ts';
import { OWN_LIMITS, pickOwn, type TurnOwn } from '../../../domain/turn-own.ts';
import type { CreateRequest, PlacedItem } from '../responses/create-request.ts';
import { RETRY_HEADER, retryHeaders } from '../responses/left-requests.ts';
import type { RequestItem } from '../responses/request-schema.ts';
import { readAnswerFormat, readOwnTool, readToolChoice, refuse, refuseParameters } from './parameters.ts';

const MAX_MESSAGES = 5_000;
const MAX_PARTS = 1_000;

const partSchema = z.looseObject({ type: z.string() });
const callSchema = z.looseObject({
  id: z.string(),
  function: z.looseObject({ name: z.string(), arguments: z.string() }).optional(),
});

const messageSchema = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: z.union([z.string(), boundedList(partSchema, MAX_PARTS)]).nullish(),
  refusal: z.string().nullish(),
  tool_calls: boundedList(callSchema, MAX_PARTS).nullish(),
  tool_call_id: z.string().optional(),
});

type ChatMessage = z.output<typeof messageSchema>;

const toolSchema = z.looseObject({ type: z.string(), function: z.looseObject({ name: z.string() }).optional() });

export const chatSchema = z
  .looseObject({
    model: idSchema.nullish().describe('Name of the agent.'),
    messages: boundedList(messageSchema, MAX_MESSAGES).min(1).describe('The whole chat, oldest first.'),
    stream: z.boolean().nullish(),
    stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
    tools: boundedList(toolSchema, OWN_LIMITS.tools).nullish().describe('Functions that the caller runs.'),
    tool_choice: z.unknown().optional().describe('auto, none, required, or one function.'),
    response_format: z.looseObject({ type: z.string() }).nullish(),
    max_tokens: z.number().int().min(1).nullish(),
    max_completion_tokens: z.number().int().min(1).nullish(),
    metadata: metadataSchema.nullish(),
    user: z.string().max(1_000).nullish().describe('Person who chats. Chats of two persons are never the same.'),
  })
  .meta({
    id: 'CreateChatCompletion',
    examples: [{ model: 'support', messages: [{ role: 'user' as const, content: 'Where is my parcel?' }] }],
  });

/** Headers in which programs name the chat, or the person who chats. */
const CHAT_HEADERS = ['x-openwebui-chat-id', 'x-openwebui-user-id', 'x-conversation-id'] as const;

const named = z.string().max(1_000).optional();
export const chatHeaders = z.object({
  'idempotency-key': idSchema.max(100).optional().describe('Key by which a repeated request finds its answer.'),
  'x-openwebui-chat-id': named.describe('Chat of Open WebUI.'),
  'x-openwebui-user-id': named.describe('Person of Open WebUI.'),
  'x-conversation-id': named.describe('Chat of any other program.'),
  ...retryHeaders,
});

const RULES = {
  n: [1],
  store: 'any',
  logprobs: [false],
  logit_bias: [{}],
  modalities: [['text']],
  verbosity: ['medium'],
  stop: [[]],
  functions: [],
  function_call: [],
  seed: [],
  reasoning_effort: [],
  audio: [],
  prediction: [],
  web_search_options: [],
  moderation: [],
} as const;

export interface CompletionRequest extends CreateRequest {
  readonly needsUsage: boolean;
  /** Names the chat as far as the program does. Chats with different scopes are never the same. */
  readonly scope: string;
  /** True if the client says that it sends the request again. */
  readonly isRepeat: boolean;
  readonly key: string | undefined;
}

export function readCompletionRequest(
  body: unknown,
  headers: Readonly<Record<string, string | undefined>>,
): CompletionRequest {
  const read = parseInput(chatSchema, body);
  const { [RETRY_HEADER]: retries = 0, 'idempotency-key': key } = parseInput(chatHeaders, headers);
  refuseParameters(read, new Set(Object.keys(chatSchema.shape)), RULES);
  const first = read.messages.findIndex(({ role }) => !isSystem(role));
  if (first === -1) throw fieldError('invalid_input', 'messages', 'expected a user message');
  const instructions = read.messages
    .slice(0, first)
    .map(({ content }, index) => readText(content, `messages[${index}]`));
  const scope = [read.user ?? '', ...CHAT_HEADERS.map((name) => headers[name] ?? '')];
  return {
    agent: read.model ?? undefined,
    stream: read.stream === true,
    background: false,
    isStored: true,
    conversation: undefined,
    previous: undefined,
    items: read.messages.flatMap((message, index) => (index < first ? [] : readItems(message, `messages[${index}]`))),
    own: readRequestOwn(read, instructions.join('\n\n')),
    metadata: read.metadata ?? undefined,
    onBusy: 'reject',
    echo: {},
    needsUsage: read.stream_options?.include_usage === true,
    scope: hash('sha256', JSON.stringify(scope)),
    isRepeat: retries > 0 || key !== undefined,
    key,
  };
}

function isSystem(role: ChatMessage['role']): boolean {
  return role === 'system' || role === 'developer';
}

function readRequestOwn(read: z.output<typeof chatSchema>, instructions: string): TurnOwn {
  const { tools: given, tool_choice: choice, response_format: format } = read;
  const tools = (given ?? []).map((tool, index) =>
    readOwnTool({ ...tool.function, type: tool.type }, `tools[${index}]`),
  );
  const schema = isMapping(format?.['json_schema']) ? format['json_schema'] : {};
  const own = {
    ...readToolChoice(choice, tools),
    instructions,
    answer: readAnswerFormat(format && { ...schema, type: format.type }, 'response_format'),
    maxOutputTokens: read.max_completion_tokens ?? read.max_tokens ?? undefined,
  };
  return pickOwn(own) ?? {};
}

/** Items of the Responses API that say what a message of Chat Completions says. */
function readItems(message: ChatMessage, at: string): PlacedItem[] {
  const { role, refusal, tool_calls: calls, tool_call_id: call } = message;
  const content = isEmpty(message.content) ? (refusal ?? undefined) : message.content;
  const { function_call: legacy } = message;
  if (legacy !== undefined && legacy !== null) {
    throw refuse(`${at}.function_call`, 'unsupported_value', 'send the call in `tool_calls`');
  }
  if (role === 'tool') {
    if (call === undefined) throw fieldError('invalid_input', `${at}.tool_call_id`, 'expected the id of a call');
    const output = readText(content, at);
    return [{ item: { type: 'function_call_output', call_id: call, output }, at }];
  }
  const called = (calls ?? []).map((one, index): PlacedItem => {
    const place = `${at}.tool_calls[${index}]`;
    if (one.function === undefined) throw refuse(place, 'unsupported_value', 'expected the call of a function');
    const { name, arguments: written } = one.function;
    return { item: { type: 'function_call', call_id: one.id, name, arguments: written }, at: place };
  });
  if (role === 'assistant' && isEmpty(content)) return called;
  return [{ item: { type: 'message', role, content: readContent(content, at) }, at }, ...called];
}

function isEmpty(content: ChatMessage['content']): boolean {
  return content === undefined || content === null || content.length === 0;
}

function readContent(content: ChatMessage['content'], at: string): RequestItem['content'] {
  if (!Array.isArray(content)) return content ?? '';
  return content.map((part, index) => readPart(part, `${at}.content[${index}]`));
}

function readPart(part: z.output<typeof partSchema>, at: string): z.output<typeof partSchema> {
  const { type, text, refusal, image_url: image, file } = part;
  switch (type) {
    case 'text':
      return { type: 'input_text', text };
    case 'refusal':
      return { type: 'input_text', text: refusal };
    case 'image_url':
      return { type: 'input_image', image_url: isMapping(image) ? image['url'] : image };
    case 'file':
      return { ...(isMapping(file) ? file : {}), type: 'input_file' };
    default:
      throw refuse(`${at}.type`, 'unsupported_value', `expected text, image_url or file, and got "${type}"`);
  }
}

function readText(content: ChatMessage['content'], at: string): string {
  if (!Array.isArray(content)) return content ?? '';
  return content
    .map(({ type, text }, index) => {
      if (typeof text === 'string') return text;
      throw refuse(`${at}.content[${index}].type`, 'unsupported_value', `expected text, and got "${type}"`);
    })
    .join('');
}
