import type { Message } from '../domain/message.ts';
import { isThinking, type RawFormat, type RawItem, type RawItems, readRawItems } from '../domain/raw-items.ts';
import { EMPTY_TEXT, isBlank, isFilledText } from './parts.ts';
import type { ArrangedAssistant, WireCall } from './wire-request.ts';

/** True for signed thinking. Only Anthropic signs thinking. */
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
 * Returns the provider's verbatim items that this request may send back. They have its format and model (wire rule R6).
 * Thinking that was written in another context is left out (wire rule A8).
 */
export function keptRawItems(message: Message, binding: Binding): readonly RawItem[] | undefined {
  const raw = readRawItems(message);
  if (raw === undefined || !isOfModel(raw, binding)) return undefined;
  return isThinkingValid(raw, binding) ? raw.items : raw.items.filter((item) => !isBound(item));
}

function isOfModel({ format, model }: RawItems, binding: Binding): boolean {
  return format === binding.format && model === binding.model;
}

/** True if recorded thinking is still valid. A property that was not recorded, as in an imported log, is ignored. */
export function isThinkingValid(raw: RawItems, binding: Binding): boolean {
  const { version, prefix } = binding;
  if (!isOfModel(raw, binding)) return false;
  const isSameVersion = version === undefined || raw.version === undefined || raw.version === version;
  return isSameVersion && (raw.prefix === undefined || raw.prefix === prefix);
}

/**
 * True if the provider's own items still say what the logged message says, so the message was not edited.
 * @param givenArguments arguments of the calls in the provider's items
 */
export function isUnedited(
  { text, calls }: Pick<ArrangedAssistant, 'text'> & { readonly calls: readonly Pick<WireCall, 'arguments'>[] },
  said: string,
  givenArguments: readonly string[],
): boolean {
  const areSameCalls =
    givenArguments.length === calls.length && calls.every((call, index) => call.arguments === givenArguments[index]);
  return areSameCalls && isTextOf(said, text);
}

/** True if the text of the provider's items equals the logged text. The placeholder of a blank text counts as blank. */
function isTextOf(said: string, text: string): boolean {
  return isBlank(said) ? text === '' || text === EMPTY_TEXT : text === said;
}
