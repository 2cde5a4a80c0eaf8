import { z } from 'zod';
import { boundedList } from '../../domain/bounded-schemas.ts';
import { forEachInSlices, type Interruptible } from '../../domain/interruptible.ts';
import { MAX_CALLS } from '../../domain/message.ts';
import { readCallArguments } from '../calls.ts';
import { dataUrl, PICTURE_FOLLOWS, type SentPart } from '../parts.ts';
import { isUnedited } from '../raw-items.ts';
import type { ArrangedAssistant, ArrangedItem, Origin, WireCall } from '../wire-request.ts';
import type { ChatAssistantMessage, ChatMessage, ChatPart } from './body.ts';

export interface LaidMessage {
  readonly message: ChatMessage;
  readonly origins: readonly Origin[];
  /** True for a user message that shows the pictures of the tool results before it. */
  readonly isOfResults?: true;
}

/**
 * Writes messages whose tool results directly follow their calls (wire rules C1, C2). A result is one text, because
 * some compatible servers refuse a list of parts. Its pictures follow in a user message, and no field marks an error.
 */
export function* layMessages(
  items: readonly ArrangedItem[],
  systemRole: 'system' | 'developer',
): Interruptible<LaidMessage[]> {
  const messages: LaidMessage[] = [];
  let pictures: Pictures = [];
  yield* forEachInSlices(items, (item, index) => {
    const { origin } = item;
    if (item.kind === 'assistant') {
      messages.push({ message: writeOwnMessage(item) ?? writeAssistant(item), origins: [origin] });
    } else if (item.kind === 'system') {
      messages.push({ message: { role: systemRole, content: item.text }, origins: [origin] });
    } else if (item.kind === 'user') {
      const content = item.parts.map(writePart);
      messages.push({
        message: { role: 'user', content: plainText(content) ?? content },
        origins: content.map(() => origin),
      });
    } else {
      const parts = item.parts.map(writePart);
      const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
      const content = texts.join('\n') || PICTURE_FOLLOWS;
      messages.push({ message: { role: 'tool', tool_call_id: item.callId, content }, origins: [origin] });
      pictures.push(...parts.filter(({ type }) => type !== 'text').map((part) => ({ origin, part })));
      if (items[index + 1]?.kind === 'result' || pictures.length === 0) return;
      messages.push(showPictures(pictures));
      pictures = [];
    }
  });
  return messages;
}

type Pictures = { readonly origin: Origin; readonly part: ChatPart }[];

function writeAssistant({ text, calls }: ArrangedAssistant): ChatAssistantMessage {
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

function showPictures(pictures: Pictures): LaidMessage {
  return {
    message: { role: 'user', content: pictures.map(({ part }) => part) },
    origins: pictures.map(({ origin }) => origin),
    isOfResults: true,
  };
}

function writePart(part: SentPart): ChatPart {
  switch (part.kind) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image_url':
      return { type: 'image_url', image_url: { url: part.url } };
    case 'image':
      return { type: 'image_url', image_url: { url: dataUrl(part) } };
    case 'file':
      return { type: 'file', file: { filename: part.name ?? 'file.pdf', file_data: dataUrl(part) } };
    case 'file_url':
      // The Chat Completions API accepts no file by its URL.
      return { type: 'text', text: `(a file that is only known by its URL is not shown: ${part.url})` };
  }
}

export function plainText(parts: readonly ChatPart[]): string | undefined {
  const [only] = parts;
  return parts.length === 1 && only?.type === 'text' ? only.text : undefined;
}

const ownSchema = z.object({
  content: z.string().nullish(),
  tool_calls: boundedList(
    z.looseObject({ id: z.string(), function: z.looseObject({ name: z.string(), arguments: z.string() }) }),
    MAX_CALLS,
  ).nullish(),
});

type OwnCall = NonNullable<z.infer<typeof ownSchema>['tool_calls']>[number];

/**
 * Keeps the fields of the server: it may refuse a tool call that comes back without its signature.
 * @returns undefined if the message has no own form, or was edited
 */
function writeOwnMessage(item: ArrangedAssistant): ChatAssistantMessage | undefined {
  const [given, ...others] = item.raw ?? [];
  const read = ownSchema.safeParse(given);
  if (given === undefined || others.length > 0 || !read.success) return undefined;
  const { content, tool_calls } = read.data;
  const own = tool_calls ?? [];
  const ownArguments = own.map((call) => readCallArguments(call.function).arguments);
  if (!isUnedited(item, content ?? '', ownArguments)) return undefined;
  const { tool_calls: _, ...rest } = given;
  const calls = own.map((call, index) => rename(call, item.calls[index] as WireCall));
  return {
    ...rest,
    role: 'assistant',
    content: item.text === '' ? null : item.text,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function rename(own: OwnCall, { id, name, arguments: given }: WireCall): OwnCall & { readonly type: 'function' } {
  return { ...own, id, type: 'function', function: { ...own.function, name, arguments: given } };
}
