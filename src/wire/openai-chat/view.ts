import { z } from 'zod';
import { boundedList, MAX_GROWN_ENTRIES } from '../../domain/bounded-schemas.ts';
import { type Interruptible, mapInSlices } from '../../domain/interruptible.ts';
import {
  BodyReader,
  type BodyView,
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
  /** True if the message has content. Also true for an unreadable message, which is reported only as malformed. */
  readonly hasContent: boolean;
  readonly hasCalls: boolean;
  readonly images: readonly string[];
  readonly reasoning: unknown;
  readonly hasReasoning: boolean;
  readonly hasOnlyDetails: boolean;
}

export interface ChatView extends BodyView {
  readonly chat: readonly ViewedChatMessage[];
  readonly untextedCalls: readonly string[];
}

/** Maximum characters of an id for OpenAI's own server. Compatible servers accept longer ids. */
const MAX_ID_LENGTH = 40;
const MAX_NAME_LENGTH = 64;
const MAX_MESSAGES = 2_048;

const bodySchema = z.object({
  messages: boundedList(z.unknown(), MAX_GROWN_ENTRIES),
  tools: boundedList(z.unknown(), MAX_GROWN_ENTRIES).nullish(),
});
const toolSchema = z.object({
  function: z.object({ name: z.string() }).optional(),
  custom: z.object({ name: z.string() }).optional(),
});
const messageSchema = z.object({
  role: roleSchema,
  content: z.union([z.string(), boundedList(z.unknown(), MAX_GROWN_ENTRIES)]).nullish(),
  tool_calls: boundedList(z.unknown(), MAX_GROWN_ENTRIES).nullish(),
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
    const { role = 'user', content, tool_calls, tool_call_id, reasoning_content } = read ?? {};
    const images: string[] = [];
    if (content !== undefined && content !== null) {
      this.readContent(content, { path: `${path}.content`, position }, (part, at) => {
        const kind = this.#readPart(part, at, position);
        if (kind === 'image_url' || kind === 'file') images.push(at);
      });
    }
    const hasCalls = tool_calls !== undefined && tool_calls !== null;
    if (hasCalls) this.#readCalls(tool_calls, role, position);
    if (role === 'tool' && tool_call_id === undefined) this.report(path, 'the tool result has no tool_call_id');
    if (role === 'tool' && tool_call_id !== undefined) this.results.push({ path, callId: tool_call_id, position });
    const hasContent = read === undefined || (content !== undefined && content !== null);
    const reasoning = reasoning_content ?? undefined;
    const hasText = (reasoning ?? read?.reasoning ?? undefined) !== undefined;
    const hasDetails = (read?.reasoning_details ?? undefined) !== undefined;
    const hasReasoning = hasText || hasDetails;
    return { path, role, hasContent, hasCalls, images, reasoning, hasReasoning, hasOnlyDetails: !hasText };
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
      const call = this.read(
        callSchema,
        value,
        `${path}[${index}]`,
        'expected a tool call with id, name and arguments',
      );
      if (call === undefined) continue;
      const place = { path: `${path}[${index}]`, id: call.id, position, answer: position };
      if ('custom' in call) this.calls.push({ ...place, name: call.custom.name });
      else {
        const { name, arguments: given } = call.function;
        if (typeof given !== 'string') this.untextedCalls.push(place.path);
        this.calls.push({ ...place, name, input: typeof given === 'string' ? parseBodyJson(given) : given });
      }
    }
  }
}

function viewMessage({ path, role }: ViewedChatMessage, position: Position): ViewedMessage {
  switch (role) {
    case 'assistant':
      return { path, author: 'assistant', answer: position };
    case 'tool':
      return { path, author: 'result' };
    case 'user':
      return { path, author: 'user' };
    case 'system':
    case 'developer':
      return { path, author: 'system' };
  }
}
