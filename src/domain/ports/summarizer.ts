import type { EventScope, WorkerEvent } from '../events.ts';
import type { Message } from '../message.ts';
import type { ModelRequest } from '../model.ts';
import type { RawItems } from '../raw-items.ts';
import type { SeqRange } from '../version.ts';

/** A summary that covers part of a sequence now. */
export interface EarlierSummary {
  /** Text, without the users' texts that code puts before it. */
  readonly text: string;
  readonly covers: SeqRange;
  /** Items of the provider that wrote it, if one did: `RawItems`. */
  readonly raw?: RawItems;
}

/** One call of a summarizer's model, as its event reports it. */
export type SummaryCall = Omit<
  Extract<WorkerEvent, { readonly type: 'model_called' }>,
  'type' | 'purpose' | keyof EventScope
>;

/** Paid parts of an unfinished summary, by the hash of their source. A later attempt reuses them. */
export interface SummaryParts {
  read(key: string): Promise<string | undefined>;
  write(key: string, text: string): Promise<void>;
}

/** One sequence to be summarized. Its contents are data, never instructions. */
export interface SummaryRequest {
  /** Seqs that the summary will stand for. */
  readonly range: SeqRange;
  /** Messages of these seqs from the log, oldest first, one per seq. */
  readonly messages: readonly Message[];
  /**
   * Earlier summaries of the range, oldest first. A summarizer may update them with the messages that they do not
   * cover.
   */
  readonly earlier?: readonly EarlierSummary[];
  /** Number of the live version, if the range opens its context. A provider's own compaction is allowed only there. */
  readonly opensVersion?: number;
  /** User message before the sequence, which states the request. */
  readonly userRequest?: string;
  /** Users' words that code puts before the text. The summary need not repeat them. */
  readonly userTexts?: string;
  /** Messages after the sequence that stay in the context. The summary need not repeat what they say. */
  readonly later?: readonly Message[];
  /** Tokens that the text may have. */
  readonly maxTokens: number;
  readonly signal: AbortSignal;
  /** Store of parts. Absent: no part is kept between attempts. */
  readonly parts?: SummaryParts;
  /** Listener that is called after every model call, whatever its result. */
  readonly onCall?: (call: SummaryCall) => void;
  readonly onPassedOver?: ModelRequest['onPassedOver'];
}

export type SummaryAnswer =
  | {
      readonly status: 'written';
      readonly text: string;
      /** True if the text was made from `earlier` and later messages. */
      readonly isUpdate?: boolean;
      /**
       * The provider's own compaction, with its tokens by the provider's count. The text replaces it for other models.
       */
      readonly own?: { readonly raw: RawItems; readonly tokens: number };
    }
  /** The source is too small for this kind of summarizer. The next one of the chain is used instead. */
  | { readonly status: 'unfit'; readonly why: string }
  /** A retry with this source would not help. */
  | { readonly status: 'refused'; readonly why: string }
  /** The summarizer is not available now, and a quick retry would not help. */
  | { readonly status: 'failed'; readonly why: string };

/** Writes summaries of sequences. Implementations: one per provider, a chain of them, and the structural summarizer. */
export interface Summarizer {
  /** Id of its model, or `structural`. */
  readonly id: string;
  /**
   * Summarizes a sequence.
   * @throws any error that a retry may avoid, e.g. a rate limit or an overloaded provider
   */
  summarize(request: SummaryRequest): Promise<SummaryAnswer>;
}
