import type { RawItem } from '../../domain/raw-items.ts';
import { forEachInSlices, type Sliced } from '../../domain/sliced.ts';
import { readCallArguments } from '../calls.ts';
import { EMPTY_TEXT, isBlank, isTextOf, type SentPart } from '../parts.ts';
import type { ArrangedItem, AssistantItem, Origin, WireCall } from '../wire-request.ts';
import type { InputImage, InputText, ResponsesItem } from './body.ts';

export interface LaidItem {
  readonly item: ResponsesItem;
  /** one for each part of a user's content, else one */
  readonly origins: readonly Origin[];
}

export interface LaidItems {
  readonly items: readonly LaidItem[];
  /** messages whose raw items were sent */
  readonly withRaw: ReadonlySet<Origin>;
  /** messages that the body does not say as they are */
  readonly altered: ReadonlySet<Origin>;
}

/** Lays arranged messages out as input items; a round's outputs stand behind its calls, because they were arranged so (R1, R5). */
export function* layItems(arranged: readonly ArrangedItem[]): Sliced<LaidItems> {
  const items: LaidItem[] = [];
  const withRaw = new Set<Origin>();
  const altered = new Set<Origin>();
  const ids = new Set<unknown>();
  yield* forEachInSlices(arranged, (one, index) => {
    const written = writeItem(one, index === 0, ids);
    items.push(...written.items);
    if (written.raw === 'verbatim') withRaw.add(one.origin);
    if (written.raw === 'altered' || (one.kind === 'result' && one.isError)) altered.add(one.origin);
  });
  return { items, withRaw, altered };
}

interface WrittenItem {
  readonly items: readonly LaidItem[];
  /** what became of its raw items */
  readonly raw: 'verbatim' | 'altered' | 'unused';
}

function writeItem(item: ArrangedItem, isFirst: boolean, ids: Set<unknown>): WrittenItem {
  const { origin } = item;
  switch (item.kind) {
    case 'user': {
      // R8: what precedes a compaction may go, so it is sent where nothing precedes it.
      const compaction = isFirst ? findCompactionItem(item.raw) : undefined;
      if (compaction !== undefined) {
        return { items: compaction.map((sent) => ({ item: sent, origins: [origin] })), raw: 'verbatim' };
      }
      const content = item.parts.map(writePart);
      const user = { type: 'message' as const, role: 'user' as const, content };
      return { items: [{ item: user, origins: content.map(() => origin) }], raw: 'unused' };
    }
    case 'assistant': {
      const own = item.raw === undefined ? undefined : writeOwnItems(item, ids);
      if (own === undefined) return { items: writeAssistant(item), raw: item.raw === undefined ? 'unused' : 'altered' };
      const items = own.items.map((sent) => ({ item: sent, origins: [origin] }));
      return { items, raw: own.isVerbatim ? 'verbatim' : 'altered' };
    }
    case 'result': {
      const content = item.parts.map(writePart);
      const [only] = content;
      const output = content.length === 1 && only?.type === 'input_text' ? only.text : content;
      return {
        items: [{ item: { type: 'function_call_output', call_id: item.callId, output }, origins: [origin] }],
        raw: 'unused',
      };
    }
  }
}

function writeAssistant({ origin, text, calls }: AssistantItem): LaidItem[] {
  const items: ResponsesItem[] = [
    ...(text === '' ? [] : [{ role: 'assistant' as const, content: text }]),
    ...calls.map((call) => ({
      type: 'function_call' as const,
      call_id: call.id,
      name: call.name,
      arguments: call.arguments,
    })),
  ];
  return items.map((item) => ({ item, origins: [origin] }));
}

function writePart(part: SentPart): InputText | InputImage {
  switch (part.kind) {
    case 'text':
      return { type: 'input_text', text: part.text };
    case 'image_url':
      return { type: 'input_image', image_url: part.url, detail: 'auto' };
    case 'image':
      return { type: 'input_image', image_url: `data:${part.mediaType};base64,${part.base64}`, detail: 'auto' };
  }
}

/** Kinds that a server takes back without the id that it gave them. */
const TAKEN_WITHOUT_ID: ReadonlySet<unknown> = new Set(['message', 'function_call', 'web_search_call']);

export interface OwnItems {
  readonly items: readonly ResponsesItem[];
  /** the items are the raw ones, all of them and untouched */
  readonly isVerbatim: boolean;
}

/**
 * An answer that is sent as its provider wrote it: verbatim and in order, one group (R5), but for call ids that had to change
 * and for what the API writes and refuses to read. Whether an item keeps the server's id is decided item by item (R3): with
 * its reasoning before it, it does; otherwise it goes without the id, or, where its kind needs one, it goes altogether.
 * Undefined where the items say something else than the message: it was edited since.
 * @param taken ids that stand in the request already; those sent here are added (R9)
 */
function writeOwnItems(item: AssistantItem, taken: Set<unknown>): OwnItems | undefined {
  const { raw = [], calls } = item;
  if (!saysTheSame(raw, item)) return undefined;
  const callOf = new Map(raw.filter(isOwnCall).map((given, index) => [given, calls[index] as WireCall]));
  const readable = raw.map((given) => isReadable(given, taken));
  const items: RawItem[] = [];
  let isReasoned = false;
  for (const [index, given] of raw.entries()) {
    const isKept =
      readable[index] === true &&
      (!isReasoning(given) || (readable[index + 1] === true && isCompanion(raw[index + 1], taken)));
    if (isReasoning(given)) isReasoned = isKept;
    if (!isKept || !(isReasoned || TAKEN_WITHOUT_ID.has(given.type))) continue;
    const keepsId = isReasoned && !taken.has(given['id']);
    if (keepsId) taken.add(given['id']);
    const fitted = fit(given, callOf.get(given));
    items.push(keepsId || given['id'] === undefined ? fitted : withoutId(fitted));
  }
  const isSaid = items.some(isMessage) || items.some(isOwnCall);
  if (!isSaid) items.push({ role: 'assistant', content: EMPTY_TEXT });
  const isVerbatim = items.length === raw.length && items.every((sent, index) => sent === raw[index]);
  // Two messages are read back as one text without what stands between them.
  return { items: items.map(asItem), isVerbatim: isVerbatim && items.filter(isMessage).length < 2 };
}

/** All that the messages of an answer say, as one text; what it refused to do in its own words. */
export function joinOutputTexts(items: readonly RawItem[]): string {
  return items
    .filter(isMessage)
    .map(({ content }) => textOfContent(content))
    .filter((text) => text !== '')
    .join('\n\n');
}

export function isOwnCall({ type }: RawItem): boolean {
  return type === 'function_call';
}

/**
 * What the provider made of a context, where a summary has it: the users' messages, which it keeps, and the sealed item
 * that stands for all else (R8). Ids are left out: the API takes the items without, and where models reason an id asks for
 * reasoning before it (R3).
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

function saysTheSame(raw: readonly RawItem[], { text, calls }: AssistantItem): boolean {
  const said = joinOutputTexts(raw);
  const given = raw.filter(isOwnCall).map(argumentsOf);
  return (
    isTextOf(said, text) &&
    given.length === calls.length &&
    calls.every((call, index) => call.arguments === given[index])
  );
}

/** As they are sent, since what is no JSON object is put into one (X7). */
function argumentsOf({ arguments: given }: RawItem): string {
  return readCallArguments({ arguments: typeof given === 'string' ? given : '' }).arguments;
}

function isReasoning({ type }: RawItem): boolean {
  return type === 'reasoning';
}

function isMessage({ type, role }: RawItem): boolean {
  return type === 'message' || role === 'assistant';
}

/** Calls of other kinds and their outputs wait for answers that no log of ours has (R1); a compaction has its place elsewhere (R8). */
function isReadable(item: RawItem, taken: ReadonlySet<unknown>): boolean {
  if (isReasoning(item)) return isSealed(item) && !taken.has(item['id']);
  if (isMessage(item)) return !isBlank(textOfContent(item.content));
  const waits = typeof item['call_id'] === 'string' || item.type === 'mcp_approval_request';
  return isOwnCall(item) || !(waits || item.type === 'compaction');
}

/** Stateless: a server that stores nothing knows reasoning by its content alone (R6). */
function isSealed({ encrypted_content: sealed }: RawItem): boolean {
  return typeof sealed === 'string' && sealed !== '';
}

/** R2, R4: what came next is no reasoning; a message is known as the one that came of it by its id. */
function isCompanion(next: RawItem | undefined, taken: ReadonlySet<unknown>): boolean {
  if (next === undefined || isReasoning(next)) return false;
  return !isMessage(next) || (next['id'] !== undefined && !taken.has(next['id']));
}

/** With the id, name and arguments that are sent, and without blank texts (X3); itself where nothing has to change. */
function fit(item: RawItem, call: WireCall | undefined): RawItem {
  if (call !== undefined) {
    const sent = { call_id: call.id, name: call.name, arguments: call.arguments };
    return Object.entries(sent).every(([name, value]) => item[name] === value) ? item : { ...item, ...sent };
  }
  if (!isMessage(item) || !Array.isArray(item.content)) return item;
  const content = item.content.filter((part) => !isBlank(textOf(part)));
  return content.length === item.content.length ? item : { ...item, content };
}

function withoutId({ id: _, ...item }: RawItem): RawItem {
  return item;
}

/** Verbatim: the provider wrote it, and its kind may be none of ours. */
function asItem(item: RawItem): ResponsesItem {
  return item as unknown as ResponsesItem;
}
