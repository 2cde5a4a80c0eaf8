/**
 * Rules of a provider beyond the wire format. Without a catalogue row, they follow from the model's name and refusals.
 */
export interface ProviderHabits {
  /**
   * Answers whose reasoning is sent back: `none`, answers of the current tool `loop` (default), of this loop and
   * earlier answers with `calls`, or `all`.
   */
  readonly reasoning?: 'none' | 'loop' | 'calls' | 'all';
  /** Every answer with calls must have reasoning. An answer without recorded reasoning gets a placeholder. */
  readonly needsReasoning?: boolean;
  /** Thinking without a signature is sent back, for other servers with the Anthropic Messages API. */
  readonly isThinkingUnsigned?: boolean;
  /** Call ids must have nine letters or digits (Mistral). */
  readonly callIds?: 'nine';
  /** Every tool call needs a thought signature (Gemini 3). A call without a signature gets a placeholder. */
  readonly needsSignatures?: boolean;
  /**
   * A later system message may keep its role and place. Otherwise, its text is sent as a user message. Default: true
   * for both APIs of OpenAI.
   */
  readonly takesLaterSystem?: boolean;
}
