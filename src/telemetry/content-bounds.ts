import type { ContentEvent } from '../domain/contents.ts';
import type { Message } from '../domain/message.ts';

/**
 * Maximum length of a message text in a log line or a span. Without a limit, each model call could write a context of 2
 * MB and search it for secrets.
 */
const TEXT_CHARS = 16_384;
/** Maximum length of all messages of one request in a log line or a span. The newest messages are kept. */
const REQUEST_CHARS = 131_072;
/**
 * If a cut falls inside a word of up to this length, the whole word is removed. Half a secret would escape redaction.
 */
const WORD_CHARS = 4_096;

/** Shortens message texts for a log line or a span. */
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

/** Leaves out the fields `parts` and `raw` of a message, because `content` has the same text. */
function cutMessage({ parts: _parts, raw: _raw, toolCalls, ...message }: Message): Message {
  const content = cutText(message.content);
  return toolCalls === undefined
    ? { ...message, content }
    : { ...message, content, toolCalls: toolCalls.map(cutArguments) };
}

function cutArguments<Call extends { readonly arguments: string }>(call: Call): Call {
  return { ...call, arguments: cutText(call.arguments) };
}

/** Length that is added for each message, so that a request with 100,000 empty messages is also shortened. */
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
