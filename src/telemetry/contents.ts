import type { Attributes } from '@opentelemetry/api';
import type { ContentEvent } from '../domain/contents.ts';
import type { Message, ToolCall } from '../domain/message.ts';
import { readScope } from './event-catalogue.ts';
import type { Redact } from './secrets.ts';
import { GEN_AI_CONTENTS } from './trace-names.ts';

type ContentOf<Type extends ContentEvent['type']> = Extract<ContentEvent, { type: Type }>;

/** Lines and attributes with message texts are written only if the operator allowed texts there. */
interface ContentRow<Event> {
  readonly message: string;
  readonly fields: (event: Event) => Readonly<Record<string, unknown>>;
  readonly attributes: (event: Event) => Readonly<Record<string, string>>;
}

const CONTENTS: { readonly [Type in ContentEvent['type']]: ContentRow<ContentOf<Type>> } = {
  model_call_started: {
    message: 'model call started',
    fields: ({ system, messages }) => ({ system, messages }),
    attributes: ({ system, messages }) => ({
      [GEN_AI_CONTENTS.system]: JSON.stringify([textPart(system)]),
      [GEN_AI_CONTENTS.input]: JSON.stringify(messages.map(describeMessage)),
    }),
  },
  model_answered: {
    message: 'model answered',
    fields: ({ content, toolCalls }) => ({ content, toolCalls }),
    attributes: ({ content, toolCalls }) => ({
      [GEN_AI_CONTENTS.output]: JSON.stringify([{ role: 'assistant', parts: partsOf(content, toolCalls) }]),
    }),
  },
  tool_call_started: {
    message: 'tool call started',
    fields: (event) => ({ tool: event.name, call: event.call, arguments: event.arguments }),
    attributes: (event) => ({ [GEN_AI_CONTENTS.toolArguments]: event.arguments }),
  },
  tool_answered: {
    message: 'tool answered',
    fields: ({ name, call, content }) => ({ tool: name, call, content }),
    attributes: ({ content }) => ({ [GEN_AI_CONTENTS.toolResult]: content }),
  },
};

function rowOf(event: ContentEvent): ContentRow<ContentEvent> {
  return CONTENTS[event.type] as ContentRow<ContentEvent>;
}

export function describeContentLine(event: ContentEvent) {
  const { message, fields } = rowOf(event);
  return { message, fields: { event: event.type, ...readScope(event), ...fields(boundContent(event)) } };
}

export function describeContentSpan(event: ContentEvent, redact: Redact): Attributes {
  const attributes = Object.entries(rowOf(event).attributes(boundContent(event)));
  return Object.fromEntries(attributes.map(([name, text]) => [name, redact(text)]));
}

/** Part of a message by OpenTelemetry's conventions. Lists are sent as JSON, because attributes are texts. */
type Part =
  | { readonly type: 'text'; readonly content: string }
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string; readonly arguments: string }
  | { readonly type: 'tool_call_response'; readonly id: string; readonly response: string };

/** A summary becomes a user message. Images are left out, because `content` has their text. */
function describeMessage({ role, content, toolCalls = [], toolCallId }: Message) {
  if (toolCallId !== undefined)
    return { role, parts: [{ type: 'tool_call_response', id: toolCallId, response: content } satisfies Part] };
  return { role: role === 'summary' ? 'user' : role, parts: partsOf(content, toolCalls) };
}

function partsOf(content: string, toolCalls: readonly ToolCall[]): Part[] {
  const calls = toolCalls.map(
    ({ id, name, arguments: given }): Part => ({ type: 'tool_call', id, name, arguments: given }),
  );
  return content === '' ? calls : [textPart(content), ...calls];
}

function textPart(content: string): Part {
  return { type: 'text', content };
}

/** Limit of one text. Otherwise each model call could write a context of 2 MB and search it for secrets. */
const TEXT_CHARS = 16_384;
/** Limit of all messages of a request together. The newest messages are kept. */
const REQUEST_CHARS = 131_072;
/** A cut removes the whole last word, up to this many characters, because half a secret would escape redaction. */
const WORD_CHARS = 4_096;

export function boundContent(event: ContentEvent): ContentEvent {
  switch (event.type) {
    case 'model_call_started':
      return { ...event, system: cutText(event.system), messages: takeNewest(event.messages) };
    case 'model_answered':
      return { ...event, content: cutText(event.content), toolCalls: event.toolCalls.map(cutArguments) };
    case 'tool_call_started':
      return { ...event, arguments: cutText(event.arguments) };
    case 'tool_answered':
      return { ...event, content: cutText(event.content) };
  }
}

function takeNewest(messages: readonly Message[]): Message[] {
  const taken: Message[] = [];
  let left = REQUEST_CHARS;
  for (let position = messages.length - 1; position >= 0 && left > 0; position -= 1) {
    const message = cutMessage(messages[position] as Message);
    left -= countChars(message);
    taken.push(message);
  }
  const hidden = messages.length - taken.length;
  if (hidden > 0) taken.push({ role: 'system', content: `[${hidden} earlier messages are not shown]` });
  return taken.toReversed();
}

/** `parts` and `raw` are left out, because `content` has their text. */
function cutMessage({ parts: _parts, raw: _raw, toolCalls, ...message }: Message): Message {
  const content = cutText(message.content);
  return toolCalls === undefined
    ? { ...message, content }
    : { ...message, content, toolCalls: toolCalls.map(cutArguments) };
}

function cutArguments<Call extends { readonly arguments: string }>(call: Call): Call {
  return { ...call, arguments: cutText(call.arguments) };
}

/** Counted for each message besides its text, so that a request with 100,000 empty messages is shortened too. */
const MESSAGE_CHARS = 64;

function countChars({ content, toolCalls = [] }: Message): number {
  return toolCalls.reduce((sum, call) => sum + call.arguments.length + MESSAGE_CHARS, content.length + MESSAGE_CHARS);
}

function cutText(text: string): string {
  if (text.length <= TEXT_CHARS) return text;
  let end = TEXT_CHARS;
  while (end > TEXT_CHARS - WORD_CHARS && !isBlank(text[end - 1])) end -= 1;
  return `${text.slice(0, end).toWellFormed()}… [${text.length - end} more characters]`;
}

function isBlank(char: string | undefined): boolean {
  return char === undefined || char.trim() === '';
}
