import type { EventScope, WorkerEvent } from '../events.ts';
import type { Message } from '../message.ts';
import type { ModelRequest } from '../model.ts';
import type { RawItems } from '../raw-items.ts';
import type { SeqRange } from '../version.ts';

/** What stands now for part of a sequence. */
export interface EarlierSummary {
  /** without the users' texts that code put before it */
  readonly text: string;
  readonly covers: SeqRange;
  /** where its provider wrote it: `RawItems` */
  readonly raw?: RawItems;
}

/** What an event tells of one call of a summarizer's model. */
export type SummaryCall = Omit<
  Extract<WorkerEvent, { readonly type: 'model_called' }>,
  'type' | 'purpose' | keyof EventScope
>;

/** Texts that were paid for before a summary was finished, by what they were made from: a later attempt goes on from them. */
export interface SummaryParts {
  read(key: string): Promise<string | undefined>;
  write(key: string, text: string): Promise<void>;
}

/** One sequence to be summarized: data, never instructions. */
export interface SummaryRequest {
  /** the seqs that the summary will stand for */
  readonly range: SeqRange;
  /** what they hold, from the log, oldest first, one for each seq */
  readonly messages: readonly Message[];
  /** may be updated with what they do not cover, instead of a summary of all messages; oldest first */
  readonly earlier?: readonly EarlierSummary[];
  /** number of the live version, where the range opens its context: only there may a provider's own compaction stand */
  readonly opensVersion?: number;
  /** the user message before the sequence: what was asked */
  readonly asked?: string;
  /** most tokens that the text may have */
  readonly maxTokens: number;
  readonly signal: AbortSignal;
  /** absent: nothing is kept between attempts */
  readonly parts?: SummaryParts;
  /** told after every model call, whatever came of it */
  readonly onCall?: (call: SummaryCall) => void;
  readonly onPassedOver?: ModelRequest['onPassedOver'];
}

export type SummaryAnswer =
  | {
      readonly status: 'written';
      readonly text: string;
      /** made from `earlier` and what came after */
      readonly isUpdate?: boolean;
      /** the provider's own compaction, and its tokens as the provider counts them: the text stands in where it cannot be sent */
      readonly own?: { readonly raw: RawItems; readonly tokens: number };
    }
  /** the source is so small that no summarizer of its kind is meant for it: the next in the chain stands in for none */
  | { readonly status: 'unfit'; readonly why: string }
  /** this source will not do better when it is asked for again */
  | { readonly status: 'refused'; readonly why: string }
  /** nothing is known of this source: the summarizer cannot be had now, and not in a moment either */
  | { readonly status: 'failed'; readonly why: string };

export interface Summarizer {
  /** its model's id, or `structural` */
  readonly id: string;
  /** @throws where asking again in a moment may help: a rate limit, an overloaded provider */
  summarize(request: SummaryRequest): Promise<SummaryAnswer>;
}
