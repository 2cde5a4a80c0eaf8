/**
 * Counts tokens exactly as a model's tokenizer does. Methods that return a promise never block the event loop for more
 * than 50 ms.
 */
export interface TokenCounter {
  /** Bytes of the longest token. A text of n tokens has at most n times this many bytes. */
  readonly longestTokenBytes: number;
  count(text: string): Promise<number>;
  /** Counts tokens synchronously. Use this method only for short texts. */
  countSync(text: string): number;
  /**
   * Returns the longest start of `text` with at most `maxTokens`, without splitting a character. The cost grows with
   * `maxTokens`, not with the length of the text.
   */
  clipStart(text: string, maxTokens: number): Promise<string>;
  /** Like `clipStart`, for the end of the text. */
  clipEnd(text: string, maxTokens: number): Promise<string>;
}
