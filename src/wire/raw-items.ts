import type { Message } from '../domain/message.ts';
import { isThinking, type RawFormat, type RawItem, type RawItems, readRawItems } from '../domain/raw-items.ts';
import { isFilledText } from './parts.ts';

/** True for thinking with a signature. Only Anthropic signs thinking. */
export function isSigned({ signature }: { readonly signature?: unknown }): boolean {
  return isFilledText(signature);
}

export function isBound(item: { readonly type?: unknown; readonly signature?: unknown }): boolean {
  return isThinking(item) && (item.type !== 'thinking' || isSigned(item));
}

export function countThoughts(message: Message, format: RawFormat): number {
  const raw = readRawItems(message);
  return raw?.format === format ? raw.items.filter(isThinking).length : 0;
}

export interface Binding {
  readonly format: RawFormat;
  readonly model: string;
  readonly version: number | undefined;
  readonly prefix: string;
}

/**
 * Returns the provider's verbatim items that this request may send back: those of its format and model (wire rule R6).
 * Thinking of another context is left out (wire rule A8). Comparing versions drops more thinking than necessary, but
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
 * True if recorded thinking may be sent. A property that was not recorded counts as unchanged, e.g. in an imported log.
 */
export function isThinkingValid(raw: RawItems, binding: Binding): boolean {
  const { version, prefix } = binding;
  if (!isOfModel(raw, binding)) return false;
  const isSameVersion = version === undefined || raw.version === undefined || raw.version === version;
  return isSameVersion && (raw.prefix === undefined || raw.prefix === prefix);
}
