import type { Message } from '../domain/message.ts';
import { isThinking, type RawFormat, type RawItem, type RawItems, readRawItems } from '../domain/raw-items.ts';
import { isFilledText } from './parts.ts';

/** Returns true if a thinking block has a signature. Only Anthropic signs its thinking. */
export function isSigned({ signature }: { readonly signature?: unknown }): boolean {
  return isFilledText(signature);
}

/** Returns true for thinking that is valid only in the context in which it was written (wire rule A8). */
export function isBound(item: { readonly type?: unknown; readonly signature?: unknown }): boolean {
  return isThinking(item) && (item.type !== 'thinking' || isSigned(item));
}

export function countThoughts(message: Message, format: RawFormat): number {
  const raw = readRawItems(message);
  return raw?.format === format ? raw.items.filter(isThinking).length : 0;
}

/** The properties of a request that decide which of the provider's verbatim items may be sent back in it. */
export interface Binding {
  readonly format: RawFormat;
  readonly model: string;
  readonly version: number | undefined;
  readonly prefix: string;
}

/**
 * Returns the provider's verbatim items that this request may send back. Items of another format or model are dropped
 * (wire rule R6). Thinking is valid only after the context that it was written in (wire rule A8). Thinking of another
 * context version is dropped, and the other items are kept. Comparing versions drops more thinking than necessary, but
 * stays correct while a compaction runs.
 */
export function keptRawItems(message: Message, binding: Binding): readonly RawItem[] | undefined {
  const raw = readRawItems(message);
  if (raw === undefined || !isOfModel(raw, binding)) return undefined;
  return isThinkingValid(raw, binding) ? raw.items : raw.items.filter((item) => !isBound(item));
}

function isOfModel({ format, model }: RawItems, binding: Binding): boolean {
  return format === binding.format && model === binding.model;
}

/**
 * Returns true if this request may send the thinking of `raw` back to the model. A property that was not recorded
 * counts as unchanged, for example in an imported log.
 */
export function isThinkingValid(raw: RawItems, binding: Binding): boolean {
  const { version, prefix } = binding;
  if (!isOfModel(raw, binding)) return false;
  const isSameVersion = version === undefined || raw.version === undefined || raw.version === version;
  return isSameVersion && (raw.prefix === undefined || raw.prefix === prefix);
}
