import type { RawItem } from '../../domain/raw-items.ts';
import { readCallArguments } from '../calls.ts';
import type { AnswerParts } from '../wire-request.ts';
import { isToolUse, joinTextBlocks } from './layout.ts';

/** The fields that we read of a whole answer. The SDK's `Message` has them. */
export interface AnthropicAnswer {
  readonly content: readonly { readonly type: string }[];
  readonly stop_reason: string | null;
  /**
   * Inputs of the blocks as the model wrote them. Parsing and serializing again would change the digits of long
   * numbers.
   */
  readonly inputs?: readonly string[];
}

/**
 * Ends by stop reason. Any other reason is `complete`. A paused turn of server tools counts as cut off. The adapter
 * decides whether the end of the window is an overflow.
 */
const ENDS: Readonly<Record<string, AnswerParts['end']>> = {
  max_tokens: 'cut_off',
  model_context_window_exceeded: 'cut_off',
  pause_turn: 'cut_off',
  refusal: 'refusal',
};

/**
 * Reads text, calls and verbatim blocks from an answer. Invalid input JSON stays in the call as written. Its block gets
 * a form that can be sent back (X7).
 */
export function readAnthropicAnswer({ content, stop_reason, inputs = [] }: AnthropicAnswer): AnswerParts {
  const read = content.map((block, place) => readBlock(block, inputs[place] ?? ''));
  const items = read.map(({ item }) => item);
  return {
    content: joinTextBlocks(items),
    toolCalls: read
      .filter(({ item }) => isToolUse(item))
      .map(({ item: { id, name }, input }) => ({ id: String(id), name: String(name), arguments: input })),
    end: stop_reason === null ? 'cut_off' : (ENDS[stop_reason] ?? 'complete'),
    items,
  };
}

interface ReadBlock {
  readonly item: RawItem;
  /** Arguments of the call, as the model wrote them. */
  readonly input: string;
}

function readBlock(block: object, written: string): ReadBlock {
  const item: RawItem = { ...block };
  if (written.trim() === '') return { item, input: JSON.stringify(item['input'] ?? {}) };
  const sent: unknown = JSON.parse(readCallArguments({ arguments: written }).arguments);
  return { item: { ...item, input: sent }, input: written };
}
