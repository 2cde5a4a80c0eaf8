import type { RawItem } from '../../domain/raw-items.ts';
import type { SentPart } from '../sent-parts.ts';
import type { ArrangedItem, Origin } from '../wire-request.ts';
import type { ChatAssistantMessage, ChatImagePart, ChatMessage, ChatTextPart } from './body.ts';

/** A message of the body, and where what it says came from: one origin for each part of it. */
export interface LaidMessage {
  readonly message: ChatMessage;
  readonly origins: readonly Origin[];
}

export interface LaidMessages {
  readonly messages: readonly LaidMessage[];
  /** messages that the body does not say as they are */
  readonly altered: ReadonlySet<Origin>;
}

/** Stands for the text of a result that is a picture: only a user may show one (C6). */
const PICTURE_TEXT = '(the picture follows)';

/**
 * Lays arranged messages out. Pictures of a round's results follow the round as a user message, since a result holds text
 * only; errors have no field of their own. An open model's thinking goes back inside the tool loop that it belongs to (C7).
 */
export function layMessages(items: readonly ArrangedItem[]): LaidMessages {
  const messages: LaidMessage[] = [];
  const altered = new Set<Origin>();
  let pictures: Pictures = [];
  for (const item of items) {
    if (item.kind !== 'result' && pictures.length > 0) {
      messages.push(showPictures(pictures));
      pictures = [];
    }
    if (item.kind !== 'user' && isAltered(item)) altered.add(item.origin);
    if (item.kind === 'result') pictures.push(...picturesOf(item));
    messages.push(writeItem(item));
  }
  if (pictures.length > 0) messages.push(showPictures(pictures));
  return { messages, altered };
}

type ResultItem = Extract<ArrangedItem, { kind: 'result' }>;
type AssistantItem = Extract<ArrangedItem, { kind: 'assistant' }>;
type Pictures = { readonly origin: Origin; readonly part: ChatImagePart }[];

/** The format has no place for an error's mark, for a result's pictures, and for most of what a provider says beside its text. */
function isAltered(item: ResultItem | AssistantItem): boolean {
  if (item.kind === 'assistant') return item.raw !== undefined;
  return item.isError || item.parts.some((part) => part.kind !== 'text');
}

function writeItem(item: ArrangedItem): LaidMessage {
  switch (item.kind) {
    case 'user': {
      const content = item.parts.map(writePart);
      return {
        message: { role: 'user', content: plainText(content) ?? content },
        origins: content.map(() => item.origin),
      };
    }
    case 'assistant':
      return { message: writeAssistant(item), origins: [item.origin] };
    case 'result': {
      const text = item.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
      const content = text === '' ? PICTURE_TEXT : text;
      return { message: { role: 'tool', tool_call_id: item.callId, content }, origins: [item.origin] };
    }
  }
}

function writeAssistant({ text, calls, raw }: AssistantItem): ChatAssistantMessage {
  const reasoning = calls.length > 0 ? reasoningOf(raw) : undefined;
  const toolCalls = calls.map(({ id, name, arguments: given }) => ({
    id,
    type: 'function' as const,
    function: { name, arguments: given },
  }));
  return {
    role: 'assistant',
    content: text === '' ? null : text,
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
  };
}

function reasoningOf(raw: readonly RawItem[] = []): unknown {
  return raw.map((item) => item['reasoning_content']).find((given) => given !== undefined && given !== null);
}

/** An open model's thinking goes back inside the tool loop that it belongs to, and nowhere else (C7). */
export function keepReasoningInLoop(messages: readonly LaidMessage[]): LaidMessage[] {
  const loopStart = messages.findLastIndex(({ message }) => message.role === 'user');
  return messages.map((laid, index) => {
    if (index > loopStart || laid.message.role !== 'assistant') return laid;
    const { reasoning_content: _, ...message } = laid.message;
    return { ...laid, message };
  });
}

function showPictures(pictures: Pictures): LaidMessage {
  return {
    message: { role: 'user', content: pictures.map(({ part }) => part) },
    origins: pictures.map(({ origin }) => origin),
  };
}

function picturesOf({ origin, parts }: ResultItem): Pictures {
  return parts.flatMap((part) => {
    const written = writePart(part);
    return written.type === 'image_url' ? [{ origin, part: written }] : [];
  });
}

function writePart(part: SentPart): ChatTextPart | ChatImagePart {
  switch (part.kind) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image_url':
      return { type: 'image_url', image_url: { url: part.url } };
    case 'image':
      return { type: 'image_url', image_url: { url: `data:${part.mediaType};base64,${part.base64}` } };
  }
}

/** Text alone is sent as text: it is what every compatible server takes. */
export function plainText(parts: readonly (ChatTextPart | ChatImagePart)[]): string | undefined {
  const [only] = parts;
  return parts.length === 1 && only?.type === 'text' ? only.text : undefined;
}
