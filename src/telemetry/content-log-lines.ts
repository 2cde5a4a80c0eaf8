import type { ContentEvent } from '../domain/contents.ts';
import { boundContent } from './content-bounds.ts';
import { type LogLine, readScope } from './log-catalogue.ts';

type ContentOf<Type extends ContentEvent['type']> = Extract<ContentEvent, { type: Type }>;
type ContentLine = Pick<LogLine, 'message'> & { readonly fields: Readonly<Record<string, unknown>> };
type ContentLines = { readonly [Type in ContentEvent['type']]: (event: ContentOf<Type>) => ContentLine };

/** Log lines with message texts, written only if the operator allowed texts in logs. */
const CONTENT_LINES: ContentLines = {
  model_call_started: ({ system, messages }) => ({ message: 'model call started', fields: { system, messages } }),
  model_answered: ({ content, toolCalls }) => ({ message: 'model answered', fields: { content, toolCalls } }),
  tool_call_started: (event) => ({
    message: 'tool call started',
    fields: { tool: event.name, call: event.call, arguments: event.arguments },
  }),
  tool_answered: ({ name, call, content }) => ({ message: 'tool answered', fields: { tool: name, call, content } }),
};

export function describeContentLine(event: ContentEvent): ContentLine {
  const describe = CONTENT_LINES[event.type] as (event: ContentEvent) => ContentLine;
  const { message, fields } = describe(boundContent(event));
  return { message, fields: { event: event.type, ...readScope(event), ...fields } };
}
