import type { Attributes } from '@opentelemetry/api';
import type { ContentEvent } from '../domain/contents.ts';
import type { Message, ToolCall } from '../domain/message.ts';
import { boundContent } from './content-bounds.ts';
import type { Redact } from './secrets.ts';
import { GEN_AI_CONTENTS } from './trace-names.ts';

type ContentOf<Type extends ContentEvent['type']> = Extract<ContentEvent, { type: Type }>;
type Contents = {
  readonly [Type in ContentEvent['type']]: (event: ContentOf<Type>) => Readonly<Record<string, string>>;
};

/**
 * Part of a message in the format of OpenTelemetry's conventions for generative AI. A list of parts is sent as JSON
 * text, because attributes are texts.
 */
type Part =
  | { readonly type: 'text'; readonly content: string }
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string; readonly arguments: string }
  | { readonly type: 'tool_call_response'; readonly id: string; readonly response: string };

const CONTENTS: Contents = {
  model_call_started: ({ system, messages }) => ({
    [GEN_AI_CONTENTS.system]: write([textPart(system)]),
    [GEN_AI_CONTENTS.input]: write(messages.map(describeMessage)),
  }),
  model_answered: ({ content, toolCalls }) => ({
    [GEN_AI_CONTENTS.output]: write([{ role: 'assistant', parts: partsOf(content, toolCalls) }]),
  }),
  tool_call_started: (event) => ({ [GEN_AI_CONTENTS.toolArguments]: event.arguments }),
  tool_answered: ({ content }) => ({ [GEN_AI_CONTENTS.toolResult]: content }),
};

/** Creates span attributes with the message texts of an event. */
export function describeContentSpan(event: ContentEvent, redact: Redact): Attributes {
  // TypeScript cannot express that the entry belongs to the type of this event.
  const describe = CONTENTS[event.type] as (event: ContentEvent) => Readonly<Record<string, string>>;
  return Object.fromEntries(Object.entries(describe(boundContent(event))).map(([name, text]) => [name, redact(text)]));
}

/**
 * Converts a message for a span. A summary becomes a user message. Images and other media are left out, because
 * `content` has their text.
 */
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

function write(value: unknown): string {
  return JSON.stringify(value);
}
