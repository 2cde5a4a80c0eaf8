import { isMapping } from '../../domain/parse.ts';
import type { RawItem } from '../../domain/raw-items.ts';
import { completeCalls, mendArguments } from '../answer-calls.ts';
import { readCallArguments } from '../calls.ts';
import type { AnswerParts } from '../wire-request.ts';
import { isToolUse, joinTextBlocks } from './layout.ts';

export interface AnthropicAnswer {
  readonly content: readonly { readonly type: string }[];
  readonly stop_reason: string | null;
  /** Arguments of the calls as the model wrote them: long numbers lose digits when they are parsed. */
  readonly inputs?: readonly string[];
}

/** Stop reasons with another end than `complete`. After `pause_turn`, the provider's own tools have not finished. */
const ENDS: ReadonlyMap<string, AnswerParts['end']> = new Map([
  ['max_tokens', 'cut_off'],
  ['model_context_window_exceeded', 'cut_off'],
  ['pause_turn', 'cut_off'],
  ['refusal', 'refusal'],
]);

/** A call keeps invalid arguments as written, but the verbatim block of the call gets valid JSON (wire rule X7). */
export function readAnthropicAnswer({ content, stop_reason, inputs = [] }: AnthropicAnswer): AnswerParts {
  const read = content.map((block, place) => readBlock(block, inputs[place] ?? ''));
  const uses = read.filter(({ item }) => isToolUse(item));
  const toolCalls = completeCalls(uses.map(({ item: { id, name }, input }) => ({ id, name, arguments: input })));
  const callOf = new Map(uses.map(({ item }, index) => [item, toolCalls[index]]));
  const items = read.map(({ item }) => {
    const { id, name } = callOf.get(item) ?? {};
    return id === undefined ? item : { ...item, id, name };
  });
  return {
    content: joinTextBlocks(items),
    toolCalls,
    end: stop_reason === null ? 'cut_off' : (ENDS.get(stop_reason) ?? 'complete'),
    // The classifiers of Anthropic refuse each later request until the messages of the turn are gone.
    ...(stop_reason === 'refusal' && { isFiltered: true }),
    items,
  };
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

function readWholeBlock(item: RawItem): ReadBlock {
  if (!isToolUse(item) || isMapping(item['input'])) return { item, input: JSON.stringify(item['input'] ?? {}) };
  const { input, arguments: text } = readCallArguments({ arguments: mendArguments(item['input']) });
  return { item: { ...item, input }, input: text };
}
