/**
 * Beyond the wire format. Without a catalogue row, turnfold knows them by the model's name, and learns from a refusal.
 */
export interface ProviderHabits {
  /**
   * Answers whose reasoning goes back (Chat Completions): `none`, those of the current tool `loop`, also earlier ones
   * with `calls`, or `all`. Default `loop`.
   */
  readonly reasoning?: 'none' | 'loop' | 'calls' | 'all';
  /** Every answer with calls must have reasoning. Without recorded reasoning, it gets a placeholder. */
  readonly needsReasoning?: boolean;
  /** Thinking without a signature goes back (Anthropic Messages of other makers). */
  readonly isThinkingUnsigned?: boolean;
  /** Nine letters or digits (Mistral). */
  readonly callIds?: 'nine';
  /** Every tool call needs a thought signature (Gemini 3). Without one, it gets a placeholder. */
  readonly needsSignatures?: boolean;
  /**
   * A later system message may stay in place. Otherwise a user message has its text. Default: true for both APIs of
   * OpenAI.
   */
  readonly takesLaterSystem?: boolean;
}
