import type { RawItem } from '../../domain/raw-items.ts';
import { EMPTY_TEXT, isBlank } from '../sent-parts.ts';
import type { ArrangedItem, WireCall } from '../wire-request.ts';
import type { ResponsesItem } from './body.ts';

type AssistantItem = Extract<ArrangedItem, { kind: 'assistant' }>;

/** Types whose item has to be followed by what came of it (R2). */
const REASONING = 'reasoning';

export interface OwnItems {
  readonly items: readonly ResponsesItem[];
  /** the items are the raw ones, all of them and untouched */
  readonly isVerbatim: boolean;
}

/**
 * An answer that is sent as its provider wrote it: verbatim and in order, but for call ids that had to change and for what the
 * API writes and refuses to read. Reasoning without its sealed content, or with nothing behind it, goes (R2, R4); the ids of
 * what came with it go then, too (R3), since a server looks for their reasoning by them. One answer is one group (R5).
 * Undefined where the items say something else than the message: it was edited since.
 * @param taken ids that stand in the request already; those sent here are added (R9)
 */
export function writeOwnItems(item: AssistantItem, taken: Set<unknown>): OwnItems | undefined {
  const { raw = [], calls } = item;
  if (!saysTheSame(raw, item)) return undefined;
  const calledBy = new Map(raw.filter(isCall).map((given, index) => [given, calls[index] as WireCall]));
  const kept = dropUnpaired(raw.filter(isSendable));
  const hasReasoning = kept.some(isReasoning);
  const items = kept.map((given) => {
    const renamed = rename(given, calledBy.get(given));
    const keepsId = (hasReasoning || isReasoning(given)) && !taken.has(given.id);
    if (keepsId) taken.add(given.id);
    return keepsId || given.id === undefined ? renamed : withoutId(renamed);
  });
  if (items.length === 0) return { items: [{ role: 'assistant', content: EMPTY_TEXT }], isVerbatim: false };
  const isVerbatim = items.length === raw.length && items.every((sent, index) => sent === raw[index]);
  return { items: items.map(asItem), isVerbatim };
}

/** All that the messages of an answer say, as one text; what it refused to do in its own words. */
export function joinTexts(items: readonly RawItem[]): string {
  return items.map((item) => (item.type === 'message' ? textOfContent(item.content) : '')).join('');
}

export function isCall(item: RawItem): boolean {
  return item.type === 'function_call';
}

/** The provider's compaction, where a checkpoint has it. */
export function findCompaction(raw: readonly RawItem[] = []): ResponsesItem | undefined {
  const item = raw.findLast(({ type }) => type === 'compaction');
  return item === undefined ? undefined : asItem(item);
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
  const said = joinTexts(raw);
  const isSameText = isBlank(said) ? text === '' || text === EMPTY_TEXT : text === said;
  const given = raw.filter(isCall).map((item) => item.arguments);
  return isSameText && given.length === calls.length && calls.every((call, index) => call.arguments === given[index]);
}

function isReasoning({ type }: RawItem): boolean {
  return type === REASONING;
}

function isSendable(item: RawItem): boolean {
  switch (item.type) {
    case REASONING:
      return typeof item['encrypted_content'] === 'string' && item['encrypted_content'] !== '';
    case 'message':
      return !isBlank(joinTexts([item]));
    default:
      return item.type !== 'compaction';
  }
}

/** Reasoning that nothing comes of is refused: of a run, all but the last, and what stands at the end (R2, R4). */
function dropUnpaired(items: readonly RawItem[]): RawItem[] {
  return items.filter((item, index) => {
    const next = items[index + 1];
    return !isReasoning(item) || (next !== undefined && !isReasoning(next));
  });
}

function rename(item: RawItem, call: WireCall | undefined): RawItem {
  const isSame = call === undefined || (item['call_id'] === call.id && item.name === call.name);
  return isSame ? item : { ...item, call_id: call.id, name: call.name };
}

function withoutId({ id: _, ...item }: RawItem): RawItem {
  return item;
}

/** Verbatim: the provider wrote it, and its kind may be none of ours. */
function asItem(item: RawItem): ResponsesItem {
  return item as unknown as ResponsesItem;
}
