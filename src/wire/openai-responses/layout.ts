import { forEachInSlices, type Interruptible } from '../../domain/interruptible.ts';
import type { RawItem } from '../../domain/raw-items.ts';
import { readCallArguments } from '../calls.ts';
import { dataUrl, EMPTY_TEXT, isBlank, isFilledText, type SentPart } from '../parts.ts';
import { isUnedited } from '../raw-items.ts';
import type { ArrangedAssistant, ArrangedItem, Origin, WireCall } from '../wire-request.ts';
import type { ResponsesItem, ResponsesPart } from './body.ts';

interface LaidItem {
  readonly item: ResponsesItem;
  /** Origin of each part of a user message. Other items have one origin. */
  readonly origins: readonly Origin[];
}

/** Writes items whose outputs directly follow their calls (wire rules R1, R5). */
export function* layItems(arranged: readonly ArrangedItem[]): Interruptible<LaidItem[]> {
  const items: LaidItem[] = [];
  const ids = new Set<unknown>();
  yield* forEachInSlices(arranged, (one, index) => {
    items.push(...writeItem(one, index === 0, ids));
  });
  return items;
}

function writeItem(item: ArrangedItem, isFirst: boolean, ids: Set<unknown>): LaidItem[] {
  const { origin } = item;
  switch (item.kind) {
    case 'user': {
      // Wire rule R8: a compaction is sent only as the first item, because the server may drop all items before it.
      const compaction = isFirst ? findCompactionItem(item.raw) : undefined;
      if (compaction !== undefined) return compaction.map((sent) => ({ item: sent, origins: [origin] }));
      const content = item.parts.map(writePart);
      return [{ item: { type: 'message', role: 'user', content }, origins: content.map(() => origin) }];
    }
    case 'system':
      return [writeDeveloper(item)];
    case 'assistant': {
      const sent = writeOwnItems(item, ids) ?? writeAssistant(item);
      return sent.map((one) => ({ item: one, origins: [origin] }));
    }
    case 'result': {
      const content = item.parts.map(writePart);
      const [only] = content;
      const output = content.length === 1 && only?.type === 'input_text' ? only.text : content;
      return [{ item: { type: 'function_call_output', call_id: item.callId, output }, origins: [origin] }];
    }
  }
}

export function writeDeveloper({ origin, text }: { readonly origin: Origin; readonly text: string }): LaidItem {
  const content = [{ type: 'input_text' as const, text }];
  return { item: { type: 'message', role: 'developer', content }, origins: [origin] };
}

function writeAssistant({ text, calls }: ArrangedAssistant): ResponsesItem[] {
  return [
    ...(text === '' ? [] : [{ role: 'assistant' as const, content: text }]),
    ...calls.map((call) => ({
      type: 'function_call' as const,
      call_id: call.id,
      name: call.name,
      arguments: call.arguments,
    })),
  ];
}

function writePart(part: SentPart): ResponsesPart {
  switch (part.kind) {
    case 'text':
      return { type: 'input_text', text: part.text };
    case 'image_url':
      return { type: 'input_image', image_url: part.url, detail: 'auto' };
    case 'image':
      return { type: 'input_image', image_url: dataUrl(part), detail: 'auto' };
    case 'file':
      return { type: 'input_file', filename: part.name ?? 'file.pdf', file_data: dataUrl(part) };
    case 'file_url':
      return { type: 'input_file', file_url: part.url };
  }
}

const TAKEN_WITHOUT_ID: ReadonlySet<unknown> = new Set(['message', 'function_call', 'web_search_call']);

/**
 * Writes an answer as its provider wrote it: in order, with nothing in between (wire rule R5), without items that the
 * API would refuse. Without its reasoning, an item is sent without its id (wire rule R3), or left out if it needs one.
 * @param taken ids that the request has. The ids sent here are added (wire rule R9)
 * @returns undefined if the message has no verbatim items, or was edited
 */
function writeOwnItems(item: ArrangedAssistant, taken: Set<unknown>): ResponsesItem[] | undefined {
  const { raw, calls } = item;
  if (raw === undefined) return undefined;
  const own = raw.filter(isFunctionCall);
  if (!isUnedited(item, joinOutputTexts(raw), own.map(argumentsOf))) return undefined;
  const callOf = new Map(own.map((given, index) => [given, calls[index] as WireCall]));
  const items: RawItem[] = [];
  for (const { given, isReasoned } of selectItems(raw, taken)) {
    const { id } = given;
    const keepsId = isReasoned && !taken.has(id);
    if (keepsId && isFilledText(id)) taken.add(id);
    const fitted = fit(given, callOf.get(given));
    items.push(keepsId ? fitted : withoutId(fitted));
  }
  const isSaid = items.some(isMessage) || items.some(isFunctionCall);
  if (!isSaid) items.push({ role: 'assistant', content: EMPTY_TEXT });
  return items.map(asItem);
}

/** Yields the items that the API accepts. `taken` is read at each item, because the caller adds ids to it. */
function* selectItems(
  raw: readonly RawItem[],
  taken: ReadonlySet<unknown>,
): Generator<{ readonly given: RawItem; readonly isReasoned: boolean }> {
  const readable = raw.map((given) => isReadable(given, taken));
  let isReasoned = false;
  for (const [index, given] of raw.entries()) {
    const hasCompanion = readable[index + 1] === true && isCompanion(raw[index + 1], taken);
    const isKept = readable[index] === true && (!isReasoning(given) || hasCompanion);
    if (isReasoning(given)) isReasoned = isKept;
    if (isKept && (isReasoned || TAKEN_WITHOUT_ID.has(given.type))) yield { given, isReasoned };
  }
}

export function joinOutputTexts(items: readonly RawItem[]): string {
  return items
    .filter(isMessage)
    .map(({ content }) => textOfContent(content))
    .filter((text) => text !== '')
    .join('\n\n');
}

export function isFunctionCall({ type }: RawItem): boolean {
  return type === 'function_call';
}

/**
 * Returns the user messages that the provider kept, and its encrypted compaction (wire rule R8). The messages lose
 * their ids, because a reasoning model requires reasoning before an item with an id (wire rule R3).
 */
function findCompactionItem(raw: readonly RawItem[] = []): readonly ResponsesItem[] | undefined {
  const sealed = raw.findLast((item) => item.type === 'compaction' && isSealed(item));
  if (sealed === undefined) return undefined;
  return raw.flatMap((item) => {
    const { role, content, encrypted_content } = item;
    if (role === 'user') return [asItem({ type: 'message', role, content })];
    return item === sealed ? [asItem({ type: 'compaction', encrypted_content })] : [];
  });
}

function textOfContent(content: unknown): string {
  return Array.isArray(content) ? content.map((part: unknown) => textOf(part)).join('') : '';
}

function textOf(part: unknown): string {
  if (typeof part !== 'object' || part === null) return '';
  if ('text' in part && typeof part.text === 'string') return part.text;
  return 'refusal' in part && typeof part.refusal === 'string' ? part.refusal : '';
}

function argumentsOf({ arguments: given }: RawItem): string {
  return readCallArguments({ arguments: typeof given === 'string' ? given : '' }).arguments;
}

function isReasoning({ type }: RawItem): boolean {
  return type === 'reasoning';
}

function isMessage({ type, role }: RawItem): boolean {
  return type === 'message' || role === 'assistant';
}

/** False for calls whose outputs the log does not have (R1), and for compactions after the first item (R8). */
function isReadable(item: RawItem, taken: ReadonlySet<unknown>): boolean {
  if (isReasoning(item)) return isSealed(item) && !taken.has(item['id']);
  if (isMessage(item)) return !isBlank(textOfContent(item.content));
  const waits = typeof item['call_id'] === 'string' || item.type === 'mcp_approval_request';
  return isFunctionCall(item) || !(waits || item.type === 'compaction');
}

/** True if an item has `encrypted_content`, from which a server that stores nothing restores it (wire rule R6). */
function isSealed({ encrypted_content: sealed }: RawItem): boolean {
  return isFilledText(sealed);
}

/** True if the item may follow reasoning. Reasoning, or a message without an id, may not (wire rules R2, R4). */
function isCompanion(next: RawItem | undefined, taken: ReadonlySet<unknown>): boolean {
  if (next === undefined || isReasoning(next)) return false;
  return !isMessage(next) || (next['id'] !== undefined && !taken.has(next['id']));
}

function fit(item: RawItem, call: WireCall | undefined): RawItem {
  if (call !== undefined) return { ...item, call_id: call.id, name: call.name, arguments: call.arguments };
  if (!isMessage(item) || !Array.isArray(item.content)) return item;
  return { ...item, content: item.content.filter((part) => !isBlank(textOf(part))) };
}

function withoutId({ id: _, ...item }: RawItem): RawItem {
  return item;
}

function asItem(item: RawItem): ResponsesItem {
  return item as unknown as ResponsesItem;
}
