/** Counts tokens exactly as the model's tokenizer does. */
export interface TokenCounter {
  /** never holds the event loop over 50 ms, whatever the text */
  count(text: string): Promise<number>;
  /** for short texts */
  countSync(text: string): number;
  /** the longest start of `text` with at most `maxTokens`, cut between code points */
  clipStart(text: string, maxTokens: number): string;
  /** the longest end of `text` with at most `maxTokens`, cut between code points */
  clipEnd(text: string, maxTokens: number): string;
}
