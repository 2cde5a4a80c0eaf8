import type { LanguageModelV4Message, SharedV4ProviderOptions } from '@ai-sdk/provider';
import { isThinking, type RawItem } from '../../domain/raw-items.ts';
import { readCallArguments } from '../../wire/calls.ts';
import { EMPTY_TEXT, isBlank } from '../../wire/parts.ts';
import { isUnedited } from '../../wire/raw-items.ts';
import type { ArrangedAssistant, WireCall } from '../../wire/wire-request.ts';

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'];
type AssistantPart = AssistantContent[number];

/** Writes the provider's own parts with their metadata. An edited message becomes text and calls. */
export function writeAssistant(item: ArrangedAssistant): AssistantContent {
  const { raw, text, calls } = item;
  if (raw !== undefined && saysTheSame(raw, item)) {
    const own = writeOwnParts(raw, calls);
    return own.length > 0 ? own : [{ type: 'text', text: EMPTY_TEXT }];
  }
  return [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...calls.map((call) => writeCall(call))];
}

function writeCall({ id, name, input }: WireCall, providerOptions?: SharedV4ProviderOptions): AssistantPart {
  return { type: 'tool-call', toolCallId: id, toolName: name, input, ...(providerOptions && { providerOptions }) };
}

/** Writes the provider's own parts without reasoning at the end, which providers refuse (wire rules A7, R2). */
function writeOwnParts(raw: readonly RawItem[], calls: readonly WireCall[]): AssistantContent {
  const answered = new Set(raw.filter(({ type }) => type === 'tool-result').map(({ toolCallId }) => toolCallId));
  const sendable = raw.filter((item) => isSendable(item, answered));
  const kept = sendable.slice(0, sendable.findLastIndex((item) => !isThinking(item)) + 1);
  let call = 0;
  let isReasoned = false;
  return kept.map((item): AssistantPart => {
    isReasoned ||= isThinking(item);
    const options = readOptions(item, isReasoned);
    if (isAgentCall(item)) return writeCall(calls[call++] as WireCall, options);
    const { providerOptions: _, ...rest } = item;
    // The cast is safe: the provider's package wrote this part itself.
    return { ...rest, ...(options && { providerOptions: options }) } as unknown as AssistantPart;
  });
}

/**
 * False for blank texts and unanswered calls of the provider's tools (wire rule A11). Gemini signs blank texts, which
 * are sent.
 */
function isSendable(item: RawItem, answered: ReadonlySet<unknown>): boolean {
  if (item['providerExecuted'] === true) return answered.has(item['toolCallId']);
  return item.type !== 'text' || item['providerOptions'] !== undefined || !isBlank(String(item['text']));
}

/** OpenAI's Responses API accepts the id of an item only if the item's reasoning comes before (wire rule R3). */
function readOptions(item: RawItem, isReasoned: boolean): SharedV4ProviderOptions | undefined {
  const options = item['providerOptions'] as SharedV4ProviderOptions | undefined;
  if (options === undefined || isReasoned) return options;
  const kept = Object.entries(options).map(([name, { itemId: _, ...own }]) => [name, own] as const);
  return Object.fromEntries(kept.filter(([, own]) => Object.keys(own).length > 0));
}

/** True for a call that turnfold runs, unlike a web search of the provider. */
export function isAgentCall(item: RawItem): boolean {
  return item.type === 'tool-call' && item['providerExecuted'] !== true;
}

function saysTheSame(raw: readonly RawItem[], item: ArrangedAssistant): boolean {
  const inputs = raw.filter(isAgentCall).map(({ input }) => readCallArguments({ arguments: String(input) }).arguments);
  return isUnedited(item, textOfItems(raw), inputs);
}

export function textOfItems(items: readonly RawItem[]): string {
  return items.map((item) => (item.type === 'text' ? String(item['text']) : '')).join('');
}
