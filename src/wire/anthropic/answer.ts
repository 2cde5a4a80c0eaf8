import type { ModelAnswer } from '../../domain/model.ts';
import type { RawItem } from '../../domain/raw-items.ts';
import { readCallArguments } from '../calls.ts';
import type { AnswerParts } from '../wire-request.ts';
import { isToolUse, joinTextBlocks } from './layout.ts';

/** What of a whole (accumulated) answer is read here; the SDK's `Message` is one. */
export interface AnthropicAnswer {
  readonly content: readonly { readonly type: string }[];
  readonly stop_reason: string | null;
  /** what the model wrote as the blocks' inputs: parsed and written again, long numbers lose their digits */
  readonly inputs?: readonly string[];
}

/**
 * By the reason why the model stopped; any other is `complete`. A paused turn (server tools) is cut off as well, and so is one
 * that met the window's end: whether that is an overflow is the adapter's to say.
 */
const ENDS: Readonly<Record<string, ModelAnswer['end']>> = {
  max_tokens: 'cut_off',
  model_context_window_exceeded: 'cut_off',
  pause_turn: 'cut_off',
  refusal: 'refusal',
};

/**
 * Text, calls and verbatim blocks of an answer. An input that is no JSON object stays what the model wrote, and its block has it
 * as it can be sent back (X7).
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
  /** of a call, as JSON */
  readonly input: string;
}

function readBlock(block: object, written: string): ReadBlock {
  const item: RawItem = { ...block };
  if (written.trim() === '') return { item, input: JSON.stringify(item['input'] ?? {}) };
  const sent: unknown = JSON.parse(readCallArguments({ arguments: written }).arguments);
  return { item: { ...item, input: sent }, input: written };
}
