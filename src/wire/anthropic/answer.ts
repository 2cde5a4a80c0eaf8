import type { ModelAnswer } from '../../domain/model.ts';
import type { RawItem } from '../../domain/raw-items.ts';
import type { AnswerParts } from '../wire-request.ts';
import { isToolUse, joinTexts } from './blocks.ts';

/** What of a whole (accumulated) answer is read here; the SDK's `Message` is one. */
export interface AnthropicAnswer {
  readonly content: readonly { readonly type: string }[];
  readonly stop_reason: string | null;
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

/** Text, calls and verbatim blocks of an answer. A call that a cut left without its input is left to `end`. */
export function readAnthropicAnswer({ content, stop_reason }: AnthropicAnswer): AnswerParts {
  const items = content.map((block): RawItem => ({ ...block }));
  return {
    content: joinTexts(items),
    toolCalls: items.filter(isToolUse).map(({ id, name, input }) => ({
      id: String(id),
      name: String(name),
      arguments: JSON.stringify(input ?? {}),
    })),
    end: stop_reason === null ? 'cut_off' : (ENDS[stop_reason] ?? 'complete'),
    items,
  };
}
