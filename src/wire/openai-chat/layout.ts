import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { forEachInSlices, type Sliced } from '../../domain/sliced.ts';
import { readCallArguments } from '../calls.ts';
import { isTextOf, type SentPart } from '../parts.ts';
import type { ArrangedItem, AssistantItem, Origin, ResultItem, WireCall } from '../wire-request.ts';
import type { ChatAssistantMessage, ChatImagePart, ChatMessage, ChatTextPart } from './body.ts';

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

/** Where servers put what an open model thought. */
const REASONING_FIELDS = ['reasoning_content', 'reasoning', 'reasoning_details'] as const;

/** What is looked at of a message as its server wrote it; all else goes back as it came. */
const ownSchema = z.object({
  content: z.string().nullish(),
  tool_calls: z
    .array(z.looseObject({ id: z.string(), function: z.looseObject({ name: z.string(), arguments: z.string() }) }))
    .nullish(),
});

type OwnCall = NonNullable<z.infer<typeof ownSchema>['tool_calls']>[number];

export interface OwnMessage {
  readonly message: ChatAssistantMessage;
  /** the message is the raw item, untouched */
  readonly isVerbatim: boolean;
}

/**
 * An assistant message that is sent as its server wrote it, with the fields that only the server knows: it may refuse a call
 * that comes back without the signature it put there. Undefined where it says something else than the message: it was edited
 * since.
 */
function writeOwnMessage(item: AssistantItem): OwnMessage | undefined {
  const [given, ...others] = item.raw ?? [];
  const read = ownSchema.safeParse(given);
  if (given === undefined || others.length > 0 || !read.success) return undefined;
  const { content, tool_calls } = read.data;
  const own = tool_calls ?? [];
  if (!isTextOf(content ?? '', item.text) || !areSameCalls(own, item.calls)) return undefined;
  const { tool_calls: _, ...rest } = given;
  const calls = own.map((call, index) => rename(call, item.calls[index] as WireCall));
  const message = {
    ...rest,
    role: 'assistant' as const,
    content: item.text === '' ? null : item.text,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  return { message, isVerbatim: isDeepStrictEqual(message, given) };
}

/** The same message without what the model thought; itself where it holds none. */
export function dropReasoning(message: ChatAssistantMessage): ChatAssistantMessage {
  if (!REASONING_FIELDS.some((field) => field in message)) return message;
  const fields = Object.entries(message).filter(([name]) => !REASONING_FIELDS.some((field) => field === name));
  return Object.fromEntries(fields) as unknown as ChatAssistantMessage;
}

function areSameCalls(own: readonly OwnCall[], calls: readonly WireCall[]): boolean {
  return own.length === calls.length && calls.every((call, index) => call.arguments === argumentsOf(own[index]));
}

/** As they are sent, since what is no JSON object is put into one (X7). */
function argumentsOf(call: OwnCall | undefined): string | undefined {
  return call === undefined ? undefined : readCallArguments(call.function).arguments;
}

function rename(own: OwnCall, { id, name, arguments: given }: WireCall): OwnCall & { readonly type: 'function' } {
  return { ...own, id, type: 'function', function: { ...own.function, name, arguments: given } };
}
