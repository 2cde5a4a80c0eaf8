import { z } from 'zod';
import { type Interruptible, mapInSlices } from '../../domain/interruptible.ts';
import {
  BodyReader,
  type BodyView,
  contentSchema,
  isGiven,
  listSchema,
  type Position,
  parseBodyJson,
  type ViewedMessage,
  writeInSlices,
} from '../rules/body-view.ts';
import { OPENAI_MAX_TOOLS } from '../tools.ts';

const roleSchema = z.enum(['system', 'developer', 'user', 'assistant', 'tool']);

export interface ViewedChatMessage {
  readonly path: string;
  readonly role: z.infer<typeof roleSchema>;
  readonly hasContent: boolean;
  readonly hasCalls: boolean;
  readonly images: readonly string[];
  readonly reasoning: unknown;
  readonly hasReasoning: boolean;
  readonly hasOnlyDetails: boolean;
}

/** View of a message that cannot be read, which is reported as malformed. No rule finds a flaw in this view. */
const UNREADABLE: Omit<ViewedChatMessage, 'path'> = {
  role: 'user',
  hasContent: true,
  hasCalls: false,
  images: [],
  reasoning: undefined,
  hasReasoning: false,
  hasOnlyDetails: true,
};

export interface ChatView extends BodyView {
  readonly chat: readonly ViewedChatMessage[];
  readonly untextedCalls: readonly string[];
}

/** Maximum characters of an id for OpenAI's own server. Compatible servers accept longer ids. */
const MAX_ID_LENGTH = 40;
const MAX_NAME_LENGTH = 64;
const MAX_MESSAGES = 2_048;

const bodySchema = z.object({
  messages: listSchema,
  tools: listSchema.nullish(),
});
const toolSchema = z.object({
  function: z.object({ name: z.string() }).optional(),
  custom: z.object({ name: z.string() }).optional(),
});
const messageSchema = z.object({
  role: roleSchema,
  content: contentSchema.nullish(),
  tool_calls: listSchema.nullish(),
  tool_call_id: z.string().optional(),
  reasoning_content: z.unknown().optional(),
  reasoning: z.unknown().optional(),
  reasoning_details: z.unknown().optional(),
});
const callSchema = z.union([
  z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.unknown().optional() }) }),
  z.object({ id: z.string(), custom: z.object({ name: z.string() }) }),
]);
const partSchema = z.object({ type: z.string(), text: z.string().optional(), refusal: z.string().optional() });

export function* viewChat(body: unknown): Interruptible<ChatView> {
  const reading = new ChatReading();
  const { messages = [], tools } = reading.read(bodySchema, body, '') ?? {};
  if (tools?.length === 0) reading.emptyLists.push('tools');
  const described = (tools ?? []).map((tool, index) => reading.read(toolSchema, tool, `tools[${index}]`));
  const chat = yield* mapInSlices(messages, (message, position) => reading.readMessage(message, position));
  yield;
  const written = yield* writeInSlices(body, 'messages');
  return {
    ...reading.seen,
    body,
    written,
    messages: chat.map(viewMessage),
    chat,
    tools: described.flatMap((tool, index) => {
      const name = tool?.function?.name ?? tool?.custom?.name;
      return name === undefined ? [] : [{ path: `tools[${index}]`, name }];
    }),
    maxIdLength: MAX_ID_LENGTH,
    maxNameLength: MAX_NAME_LENGTH,
    maxTools: OPENAI_MAX_TOOLS,
    maxMessages: MAX_MESSAGES,
    untextedCalls: reading.untextedCalls,
  };
}

class ChatReading extends BodyReader {
  readonly untextedCalls: string[] = [];

  readMessage(value: unknown, position: Position): ViewedChatMessage {
    const path = `messages[${position}]`;
    const read = this.read(messageSchema, value, path);
    if (read === undefined) return { ...UNREADABLE, path };
    const { role, content, tool_calls: calls, tool_call_id: callId, reasoning_content: reasoning } = read;
    const hasCalls = isGiven(calls);
    if (hasCalls) this.#readCalls(calls, role, position);
    if (role === 'tool' && callId === undefined) this.report(path, 'the tool result has no tool_call_id');
    if (role === 'tool' && callId !== undefined) this.results.push({ path, callId, position });
    const hasText = isGiven(reasoning) || isGiven(read.reasoning);
    return {
      path,
      role,
      hasContent: isGiven(content),
      hasCalls,
      images: isGiven(content) ? this.#readParts(content, `${path}.content`, position) : [],
      reasoning: reasoning ?? undefined,
      hasReasoning: hasText || isGiven(read.reasoning_details),
      hasOnlyDetails: !hasText,
    };
  }

  /** @returns the paths of pictures and files */
  #readParts(content: string | readonly unknown[], path: string, position: Position): string[] {
    const images: string[] = [];
    this.readContent(content, { path, position }, (part, at) => {
      const kind = this.#readPart(part, at, position);
      if (kind === 'image_url' || kind === 'file') images.push(at);
    });
    return images;
  }

  #readPart(value: unknown, path: string, position: Position): string | undefined {
    const part = this.read(partSchema, value, path);
    const text = part?.text ?? part?.refusal;
    if (text !== undefined) this.texts.push({ path, text, position });
    else if (part?.type === 'text') this.report(path, 'the text part has no text');
    return part?.type;
  }

  #readCalls(calls: readonly unknown[], role: ViewedChatMessage['role'], position: Position): void {
    const path = `messages[${position}].tool_calls`;
    if (calls.length === 0) this.emptyLists.push(path);
    if (role !== 'assistant')
      return this.report(path, `tool calls in a message with the role ${role}: only assistant messages may have calls`);
    for (const [index, value] of calls.entries()) {
      const at = `${path}[${index}]`;
      const call = this.read(callSchema, value, at, 'expected a tool call with id, name and arguments');
      if (call === undefined) continue;
      const place = { path: at, id: call.id, position, answer: position };
      if ('custom' in call) this.calls.push({ ...place, name: call.custom.name });
      else {
        const { name, arguments: given } = call.function;
        if (typeof given !== 'string') this.untextedCalls.push(place.path);
        this.calls.push({ ...place, name, input: typeof given === 'string' ? parseBodyJson(given) : given });
      }
    }
  }
}

const AUTHORS = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
  tool: 'result',
} as const;

function viewMessage({ path, role }: ViewedChatMessage, position: Position): ViewedMessage {
  return { path, author: AUTHORS[role], ...(role === 'assistant' && { answer: position }) };
}
