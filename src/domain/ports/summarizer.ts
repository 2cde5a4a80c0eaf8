import type { Message } from '../message.ts';
import type { SeqRange } from '../version.ts';

/** One sequence to be summarized: data, never instructions. */
export interface SummaryRequest {
  /** the seqs that the summary will stand for */
  readonly range: SeqRange;
  /** what they hold, from the log, oldest first */
  readonly messages: readonly Message[];
  /** the user message before the sequence: what was asked */
  readonly asked?: string;
  /** most tokens that the text may have */
  readonly maxTokens: number;
  readonly signal: AbortSignal;
}

export type SummaryAnswer =
  | {
      readonly status: 'written';
      readonly text: string;
      readonly usage?: { readonly inputTokens: number; readonly outputTokens: number };
    }
  /** it will not do better when asked again */
  | { readonly status: 'refused'; readonly why: string };

export interface Summarizer {
  /** its model's id, or `structural` */
  readonly id: string;
  /** @throws where asking again may help */
  summarize(request: SummaryRequest): Promise<SummaryAnswer>;
}
