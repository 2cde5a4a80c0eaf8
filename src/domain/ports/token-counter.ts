/**
 * Counts tokens exactly as a model's tokenizer does. Methods that return a promise never block the event loop for more than
 * 50 ms.
 */
export interface TokenCounter {
  /** Bytes of the longest token. A text of n tokens has at most n times as many. */
  readonly longestTokenBytes: number;
  count(text: string): Promise<number>;
  /** Counts at once. For short texts only. */
  countSync(text: string): number;
  /**
   * Returns the start of `text` within `maxTokens`, cut between code points. Its cost grows with `maxTokens`, not with
   * the text.
   */
  clipStart(text: string, maxTokens: number): Promise<string>;
  /** Returns the end of `text` within `maxTokens`, by the same rules. */
  clipEnd(text: string, maxTokens: number): Promise<string>;
}
