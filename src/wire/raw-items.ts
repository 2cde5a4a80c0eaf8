import type { Message } from '../domain/message.ts';
import { type RawItem, type RawItems, readRawItems, type WireFormat } from '../domain/raw-items.ts';

/** Items that hold what a model thought, by the provider's own type. */
const THINKING_TYPES: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking', 'reasoning']);

export function isThinking(item: { readonly type?: unknown }): boolean {
  return THINKING_TYPES.has(item.type);
}

/** How many items of thinking came with a message in this format, whichever model wrote them. */
export function countThoughts(message: Message, format: WireFormat): number {
  const raw = readRawItems(message);
  return raw?.format === format ? raw.items.filter(isThinking).length : 0;
}

/** What a request sends before a message, as far as thinking is bound to it. */
export interface Binding {
  readonly format: WireFormat;
  readonly model: string;
  readonly version: number | undefined;
  readonly prefix: string;
}

/**
 * The items of a message that this request may send back. Another format's or another model's are dropped whole (R6).
 * Thinking is bound to all that was sent before it (A8): what was written under another version than the one that is sent
 * goes, the rest of the message stays. Stricter than an edit's position would ask for, and right whatever was appended
 * while a pass ran.
 */
export function keptRawItems(message: Message, binding: Binding): readonly RawItem[] | undefined {
  const raw = readRawItems(message);
  if (raw === undefined || raw.format !== binding.format || raw.model !== binding.model) return undefined;
  return holdsUnder(raw, binding) ? raw.items : raw.items.filter((item) => !isThinking(item));
}

/** What was not recorded cannot have changed: a log that was imported, a format that binds to no prefix. */
function holdsUnder(raw: RawItems, { version, prefix }: Binding): boolean {
  const isSameVersion = version === undefined || raw.version === undefined || raw.version === version;
  return isSameVersion && (raw.prefix === undefined || raw.prefix === prefix);
}
