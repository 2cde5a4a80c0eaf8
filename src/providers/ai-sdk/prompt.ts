import type { LanguageModelV4FilePart, LanguageModelV4Message, LanguageModelV4ToolResultPart } from '@ai-sdk/provider';
import { forEachInSlices, type Interruptible } from '../../domain/interruptible.ts';
import type { ProviderHabits } from '../../domain/provider-habits.ts';
import { isThinking } from '../../domain/raw-items.ts';
import { type ArrangedRequest, arrangeInSlices } from '../../wire/arrange.ts';
import { hidePicture, PICTURE_FOLLOWS, type SentPart, textPart } from '../../wire/parts.ts';
import type { ArrangedAssistant, ArrangedItem, ArrangedResult, WireRequest } from '../../wire/wire-request.ts';
import { writeAssistant } from './content-items.ts';
import type { ProviderTraits } from './provider-traits.ts';

/** Patterns for URLs of files that a model fetches itself, by media type. */
type SupportedUrls = Readonly<Record<string, readonly RegExp[]>>;

interface AiSdkPromptOptions {
  readonly specification: 'v3' | 'v4';
  readonly traits: ProviderTraits;
  readonly habits: Pick<ProviderHabits, 'callIds' | 'takesLaterSystem'>;
  readonly supportedUrls: SupportedUrls;
  readonly hasCacheMarks: boolean;
}

/**
 * Thinking that the current tool loop lacks. `recorded`: the model wrote it, but it can no longer be sent.
 * `any`: a tool call has no thinking, because its model wrote none.
 */
type LackingThinking = 'recorded' | 'any' | 'none';

export interface AiSdkPrompt {
  readonly messages: readonly LanguageModelV4Message[];
  readonly tools: ArrangedRequest['tools'];
  readonly prefix: string;
  readonly lacks: LackingThinking;
}

/**
 * Writes a prompt. Versions 3 and 4 of the specification differ only in the form of files.
 * @throws orphan_result or duplicate_call if the messages are not a valid history
 */
export function* writePromptInSlices(request: WireRequest, options: AiSdkPromptOptions): Interruptible<AiSdkPrompt> {
  const { system, tools, items, prefix } = yield* arrangeInSlices(request, 'ai-sdk', {
    callIds: options.habits.callIds,
    takesLaterSystem: options.traits.takesLaterSystem && options.habits.takesLaterSystem !== false,
  });
  const names = new Map(
    items.flatMap((item) => (item.kind === 'assistant' ? item.calls.map(({ id, name }) => [id, name] as const) : [])),
  );
  yield;
  const texts = system.map(({ text }) => text);
  const messages: LanguageModelV4Message[] =
    texts.length === 0 ? [] : [{ role: 'system', content: texts.join('\n\n') }];
  let pictures: SentPart[] = [];
  yield* forEachInSlices(items, (item, index) => {
    if (item.kind !== 'result') return addMessage(messages, item, options);
    const { result, shownLater } = writeResult(item, names.get(item.callId) ?? '', options);
    const last = messages.at(-1);
    if (last?.role === 'tool') last.content.push(result);
    else messages.push({ role: 'tool', content: [result] });
    pictures.push(...shownLater);
    if (items[index + 1]?.kind === 'result' || pictures.length === 0) return;
    messages.push({ role: 'user', content: pictures.map((part) => writePart(part, options)) });
    pictures = [];
  });
  return {
    messages: options.hasCacheMarks ? markPrefixes(messages, options.traits) : messages,
    tools,
    prefix,
    lacks: findLacking(items),
  };
}

/**
 * Joins neighbouring assistant messages: Gemini accepts a tool call only after a user message or results. Claude
 * accepts thinking only at the start of a message (wire rule A7).
 */
function addMessage(
  messages: LanguageModelV4Message[],
  item: Exclude<ArrangedItem, { kind: 'result' }>,
  options: AiSdkPromptOptions,
): void {
  const last = messages.at(-1);
  if (item.kind === 'system') {
    messages.push({ role: 'system', content: item.text });
  } else if (item.kind === 'user') {
    messages.push({ role: 'user', content: item.parts.map((part) => writePart(part, options)) });
  } else if (last?.role === 'assistant') {
    const content = writeAssistant(item);
    last.content.push(...(options.traits.bindsThinking ? content.filter((part) => !isThinking(part)) : content));
  } else messages.push({ role: 'assistant', content: writeAssistant(item) });
}

function fitPart(part: SentPart, { supportedUrls }: AiSdkPromptOptions): SentPart {
  if (part.kind === 'image_url' && !isFetched('image/*', part.url, supportedUrls)) {
    return textPart('(a picture that the model cannot fetch is not shown)');
  }
  if (part.kind === 'file_url' && !isFetched(part.mediaType, part.url, supportedUrls)) {
    return textPart('(a file that the model cannot fetch is not shown)');
  }
  return part;
}

function writePart(
  given: SentPart,
  options: AiSdkPromptOptions,
): { type: 'text'; text: string } | LanguageModelV4FilePart {
  const part = fitPart(given, options);
  switch (part.kind) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image':
      return writeFile(part.mediaType, { type: 'data', data: part.base64 }, options);
    case 'image_url':
      return writeFile('image/*', { type: 'url', url: new URL(part.url) }, options);
    case 'file':
      return writeFile(part.mediaType, { type: 'data', data: part.base64 }, options, part.name);
    case 'file_url':
      return writeFile(part.mediaType, { type: 'url', url: new URL(part.url) }, options, part.name);
  }
}

type FileData = Extract<LanguageModelV4FilePart['data'], { type: 'data' | 'url' }>;

function writeFile(
  mediaType: string,
  data: FileData,
  { specification }: AiSdkPromptOptions,
  filename?: string,
): LanguageModelV4FilePart {
  // Version 3 has the bytes or the URL directly in `data`.
  const given = specification === 'v4' ? data : ((data.type === 'data' ? data.data : data.url) as unknown as FileData);
  return { type: 'file', mediaType, data: given, ...(filename !== undefined && { filename }) };
}

/** @param mediaType a type, or a family of types such as `image/*` */
function isFetched(mediaType: string, url: string, supported: SupportedUrls): boolean {
  const family = mediaType.slice(0, mediaType.indexOf('/') + 1);
  return Object.entries(supported).some(
    ([type, patterns]) =>
      (type.startsWith('*') ||
        type === mediaType ||
        (mediaType.endsWith('*') ? type.startsWith(family) : type === `${family}*`)) &&
      patterns.some((pattern) => pattern.test(url)),
  );
}

interface WrittenResult {
  readonly result: LanguageModelV4ToolResultPart;
  readonly shownLater: readonly SentPart[];
}

/** A failed call's result has only text (wire rule A12). */
function writeResult(item: ArrangedResult, toolName: string, options: AiSdkPromptOptions): WrittenResult {
  const { callId, isError } = item;
  const parts = item.parts.map((part) => (isError ? hidePicture(part) : fitPart(part, options)));
  const texts = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []));
  const pictures = parts.filter(({ kind }) => kind !== 'text');
  const write = (
    output: LanguageModelV4ToolResultPart['output'],
    shownLater: readonly SentPart[] = [],
  ): WrittenResult => ({
    result: { type: 'tool-result', toolCallId: callId, toolName, output },
    shownLater,
  });
  if (isError) return write({ type: 'error-text', value: texts.join('\n') });
  if (pictures.length === 0) return write({ type: 'text', value: texts.join('\n') });
  if (!options.traits.showsPicturesInResults) {
    return write({ type: 'text', value: texts.join('\n') || PICTURE_FOLLOWS }, pictures);
  }
  return write({ type: 'content', value: parts.map((part) => writeResultPart(part, options)) });
}

type ResultPart = Extract<LanguageModelV4ToolResultPart['output'], { type: 'content' }>['value'][number];

function writeResultPart(part: SentPart, options: AiSdkPromptOptions): ResultPart {
  const written = writePart(part, options);
  if (written.type === 'text' || options.specification === 'v4') return written;
  const { mediaType } = written;
  const data = written.data as unknown; // version 3: the bytes or the URL
  const kind = mediaType.startsWith('image/') ? 'image' : 'file';
  const media =
    data instanceof URL ? { type: `${kind}-url`, url: data.href } : { type: `${kind}-data`, data, mediaType };
  return media as unknown as ResultPart;
}

/** Marks three prefixes for the prompt cache (wire rule A9): system text, previous user message, last message. */
function markPrefixes(
  messages: readonly LanguageModelV4Message[],
  { cacheMark }: ProviderTraits,
): LanguageModelV4Message[] {
  if (cacheMark === undefined) return [...messages];
  const last = messages.length - 1;
  const before = messages.findLastIndex(({ role }, index) => role === 'user' && index < last);
  return messages.map((message, index) =>
    index === last || index === before || (index === 0 && message.role === 'system')
      ? { ...message, providerOptions: cacheMark }
      : message,
  );
}

/** User messages after tool results do not end a tool loop, because Claude gets both in one message. */
function findLacking(items: readonly ArrangedItem[]): LackingThinking {
  const isBehindAnswer = (index: number): boolean => (items[index - 1]?.kind ?? 'assistant') === 'assistant';
  const start = items.findLastIndex(({ kind }, index) => kind === 'user' && isBehindAnswer(index));
  const calling = items.slice(start + 1).filter((item) => item.kind === 'assistant' && item.calls.length > 0);
  let lacks: LackingThinking = 'none';
  for (const item of calling as ArrangedAssistant[]) {
    const sent = writeAssistant(item).filter(isThinking).length;
    if (item.thoughts > sent) return 'recorded';
    if (sent === 0) lacks = 'any';
  }
  return lacks;
}
