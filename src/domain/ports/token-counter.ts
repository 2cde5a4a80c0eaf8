/** Counts tokens exactly as the model's tokenizer does. What answers with a promise never holds the event loop over 50 ms. */
export interface TokenCounter {
  /** bytes of the longest token: a text of n tokens has at most n times as many */
  readonly longestTokenBytes: number;
  count(text: string): Promise<number>;
  /** for short texts */
  countSync(text: string): number;
  /** the start of `text` with at most `maxTokens`, cut between code points; its work grows with `maxTokens`, not with the text */
  clipStart(text: string, maxTokens: number): Promise<string>;
  /** the end of `text` with at most `maxTokens`, likewise */
  clipEnd(text: string, maxTokens: number): Promise<string>;
}
