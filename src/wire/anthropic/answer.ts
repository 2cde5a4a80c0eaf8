import type { ToolCall } from '../../domain/message.ts';
import { isMapping } from '../../domain/parse.ts';
import type { RawItem } from '../../domain/raw-items.ts';
import { completeCalls, mendArguments } from '../answer-calls.ts';
import { readCallArguments } from '../calls.ts';
import type { AnswerParts } from '../wire-request.ts';
import { isToolUse, joinTextBlocks } from './layout.ts';

export interface AnthropicAnswer {
  readonly content: readonly { readonly type: string }[];
  readonly stop_reason: string | null;
  /**
   * Arguments of the calls as the model wrote them. If they were parsed and serialized again, long numbers would lose
   * digits.
   */
  readonly inputs?: readonly string[];
}

/** Stop reasons with another end than `complete`. After `pause_turn`, the provider's tools are not done. */
const ENDS: ReadonlyMap<string, AnswerParts['end']> = new Map(
  Object.entries<AnswerParts['end']>({
    max_tokens: 'cut_off',
    model_context_window_exceeded: 'cut_off',
    pause_turn: 'cut_off',
    refusal: 'refusal',
  }),
);

/**
 * Reads an answer. A call keeps invalid arguments as written, but its verbatim block gets valid JSON (wire rule X7).
 */
export function readAnthropicAnswer({ content, stop_reason, inputs = [] }: AnthropicAnswer): AnswerParts {
  const read = content.map((block, place) => readBlock(block, inputs[place] ?? ''));
  const uses = read.filter(({ item }) => isToolUse(item));
  const toolCalls = completeCalls(uses.map(({ item: { id, name }, input }) => ({ id, name, arguments: input })));
  const callOf = new Map(uses.map(({ item }, index) => [item, toolCalls[index] as ToolCall]));
  const items = read.map(({ item }) => completeItem(item, callOf.get(item)));
  return {
    content: joinTextBlocks(items),
    toolCalls,
    end: stop_reason === null ? 'cut_off' : (ENDS.get(stop_reason) ?? 'complete'),
    // Anthropic's classifiers also refuse each later request, until the messages of the turn are gone.
    ...(stop_reason === 'refusal' && { isFiltered: true }),
    items,
  };
}

function completeItem(item: RawItem, call: ToolCall | undefined): RawItem {
  if (call === undefined || (item['id'] === call.id && item['name'] === call.name)) return item;
  return { ...item, id: call.id, name: call.name };
}

interface ReadBlock {
  readonly item: RawItem;
  readonly input: string;
}

function readBlock(block: object, written: string): ReadBlock {
  const item: RawItem = { ...block };
  if (written.trim() === '') return readWholeBlock(item);
  const sent: unknown = JSON.parse(readCallArguments({ arguments: written }).arguments);
  return { item: { ...item, input: sent }, input: written };
}

/** Reads the input of a tool block. Some gateways send null or text instead of an object. */
function readWholeBlock(item: RawItem): ReadBlock {
  if (!isToolUse(item) || isMapping(item['input'])) return { item, input: JSON.stringify(item['input'] ?? {}) };
  const { input, arguments: text } = readCallArguments({ arguments: mendArguments(item['input']) });
  return { item: { ...item, input }, input: text };
}
