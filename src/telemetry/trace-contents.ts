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
 * A message part by the OpenTelemetry conventions for generative AI. Attributes are text, so a list is sent as JSON.
 */
type Part =
  | { readonly type: 'text'; readonly content: string }
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string; readonly arguments: string }
  | { readonly type: 'tool_call_response'; readonly id: string; readonly response: string };

const CONTENTS: Contents = {
  model_asked: ({ system, messages }) => ({
    [GEN_AI_CONTENTS.system]: write([textPart(system)]),
    [GEN_AI_CONTENTS.input]: write(messages.map(describeMessage)),
  }),
  model_answered: ({ content, toolCalls }) => ({
    [GEN_AI_CONTENTS.output]: write([{ role: 'assistant', parts: partsOf(content, toolCalls) }]),
  }),
  tool_asked: (event) => ({ [GEN_AI_CONTENTS.toolArguments]: event.arguments }),
  tool_answered: ({ content }) => ({ [GEN_AI_CONTENTS.toolResult]: content }),
};

/** Attributes with the contents of an event. */
export function describeContentSpan(event: ContentEvent, redact: Redact): Attributes {
  // Each entry is typed by its own event, which an index by the union cannot express.
  const describe = CONTENTS[event.type] as (event: ContentEvent) => Readonly<Record<string, string>>;
  return Object.fromEntries(Object.entries(describe(boundContent(event))).map(([name, text]) => [name, redact(text)]));
}

/** A summary is sent as a user message. Other media are left out: their text is in `content`. */
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
