import { ModelError, type ModelErrorKind, type ModelUsage } from '../../domain/model.ts';

interface EndError {
  readonly reason: RegExp;
  readonly kind: ModelErrorKind;
  readonly words: string;
}

/** Values of `finish_reason` with which OpenAI-compatible servers report that the answer failed. */
const END_ERRORS: readonly EndError[] = [
  {
    reason: /^(?:model_)?context_(?:window|length)_exceeded$/i, // z.ai
    kind: 'overflow',
    words: 'the answer was cut off at the end of the context window',
  },
  {
    // OpenRouter, z.ai, DeepSeek, SGLang and vLLM, Gemini
    reason: /^(?:error|network_error|insufficient_system_resource|abort)$|malformed_(?:function|tool)_call/i,
    kind: 'retry',
    words: 'the provider stopped the answer with an error',
  },
];

/** Share of the window from which an answer without text was cut off because the request fills the window. */
const FULL = 0.98;

export interface ChatEnd {
  readonly finishReason: string | null;
  /** True if the answer has neither text nor calls. */
  readonly isEmpty: boolean;
  readonly windowTokens: number;
  /** True if the server marked the end of the stream with `data: [DONE]`. */
  readonly isMarked: boolean;
  readonly usage: ModelUsage | undefined;
}

/**
 * Returns the reason why the model stopped. A server that gives no reason, but marks the end of its stream, has sent the
 * whole answer. Some servers accept a request that fills the window, and answer nothing.
 * @throws ModelError if the stream ended too early, or the reason is an error
 */
export function readChatEnd({ finishReason, isEmpty, windowTokens, isMarked, usage }: ChatEnd): string {
  const paid = usage === undefined ? {} : { usage };
  if (finishReason === null) {
    if (isMarked) return 'stop';
    throw new ModelError('retry', 'the stream ended before the answer was complete', paid);
  }
  const error = END_ERRORS.find(({ reason }) => reason.test(finishReason));
  if (error !== undefined) throw new ModelError(error.kind, error.words, { code: finishReason, ...paid });
  const usedTokens = (usage?.inputTotal ?? 0) + (usage?.output ?? 0);
  if (finishReason === 'length' && isEmpty && usedTokens >= FULL * windowTokens)
    throw new ModelError('overflow', 'the request fills the context window', { code: finishReason, ...paid });
  return finishReason;
}
