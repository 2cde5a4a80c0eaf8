import { forEachInSlices, type Sliced } from '../../domain/sliced.ts';
import type { SentPart } from '../sent-parts.ts';
import type { ArrangedItem, Origin } from '../wire-request.ts';
import type { ChatAssistantMessage, ChatImagePart, ChatMessage, ChatTextPart } from './body.ts';
import { writeOwnMessage } from './own-message.ts';

/** A message of the body, and where what it says came from: one origin for each part of it. */
export interface LaidMessage {
  readonly message: ChatMessage;
  readonly origins: readonly Origin[];
  /** shows pictures of the results before it, and is no word of the user's */
  readonly isOfResults?: true;
}

export interface LaidMessages {
  readonly messages: readonly LaidMessage[];
  /** messages whose raw items were sent */
  readonly withRaw: ReadonlySet<Origin>;
  /** messages that the body does not say as they are */
  readonly altered: ReadonlySet<Origin>;
}

/** Stands for the text of a result that is a picture: only a user may show one (C6). */
const PICTURE_TEXT = '(the picture follows)';

/**
 * Lays arranged messages out, each round's results directly behind its calls (C1, C2). Pictures of results follow the round as
 * a user message, since a result holds text only; errors have no field of their own.
 */
export function* layMessages(items: readonly ArrangedItem[]): Sliced<LaidMessages> {
  const messages: LaidMessage[] = [];
  const withRaw = new Set<Origin>();
  const altered = new Set<Origin>();
  let pictures: Pictures = [];
  yield* forEachInSlices(items, (item, index) => {
    const { origin } = item;
    if (item.kind === 'assistant') {
      const own = writeOwnMessage(item);
      messages.push({ message: own?.message ?? writeAssistant(item), origins: [origin] });
      if (own?.isVerbatim === true) withRaw.add(origin);
      else if (own !== undefined) altered.add(origin);
    } else if (item.kind === 'user') {
      const content = item.parts.map(writePart);
      messages.push({
        message: { role: 'user', content: plainText(content) ?? content },
        origins: content.map(() => origin),
      });
    } else {
      messages.push({ message: { role: 'tool', tool_call_id: item.callId, content: textOf(item) }, origins: [origin] });
      if (!isToldByText(item)) altered.add(origin);
      pictures.push(...picturesOf(item));
      if (items[index + 1]?.kind === 'result' || pictures.length === 0) return;
      messages.push(showPictures(pictures));
      pictures = [];
    }
  });
  return { messages, withRaw, altered };
}

type ResultItem = Extract<ArrangedItem, { kind: 'result' }>;
type AssistantItem = Extract<ArrangedItem, { kind: 'assistant' }>;
type Pictures = { readonly origin: Origin; readonly part: ChatImagePart }[];

function writeAssistant({ text, calls }: AssistantItem): ChatAssistantMessage {
  const toolCalls = calls.map(({ id, name, arguments: given }) => ({
    id,
    type: 'function' as const,
    function: { name, arguments: given },
  }));
  return {
    role: 'assistant',
    content: text === '' ? null : text,
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  };
}

/** One text, which every compatible server takes. */
function textOf({ parts }: ResultItem): string {
  const texts = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []));
  return texts.length === 0 ? PICTURE_TEXT : texts.join('\n');
}

/** Whether one text, and pictures behind it, say all of a result. */
function isToldByText({ parts: [first, ...rest], isError }: ResultItem): boolean {
  return !isError && first?.kind === 'text' && rest.every(({ kind }) => kind !== 'text');
}

function showPictures(pictures: Pictures): LaidMessage {
  return {
    message: { role: 'user', content: pictures.map(({ part }) => part) },
    origins: pictures.map(({ origin }) => origin),
    isOfResults: true,
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
