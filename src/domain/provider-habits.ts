/**
 * Requirements of a provider beyond its wire format. A row of the catalogue may hold them. Without a row, turnfold knows
 * them by the model's name, and learns them from a refusal.
 */
export interface ProviderHabits {
  /**
   * Answers whose reasoning goes back in later requests (Chat Completions): `none`, those of the current tool `loop`, also
   * earlier ones with `calls`, or `all`. Default `loop`.
   */
  readonly reasoning?: 'none' | 'loop' | 'calls' | 'all';
  /** True if every answer with calls must have reasoning. An answer without recorded reasoning gets a placeholder. */
  readonly needsReasoning?: boolean;
  /** True if thinking without a signature goes back (Anthropic Messages of other makers). */
  readonly isThinkingUnsigned?: boolean;
  /** Form of tool call ids: `nine` letters or digits (Mistral). */
  readonly callIds?: 'nine';
  /** True if every tool call needs a thought signature (Gemini 3). A call without one gets a placeholder. */
  readonly needsSignatures?: boolean;
  /**
   * True if a system message may stand behind other messages. Otherwise, its text is sent there in a user message. Default:
   * true for the Chat Completions API and the Responses API.
   */
  readonly takesLaterSystem?: boolean;
}
