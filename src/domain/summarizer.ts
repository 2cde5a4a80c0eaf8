import type { EventScope, WorkerEvent } from './events.ts';
import type { Message } from './message.ts';
import type { ModelRequest } from './model.ts';
import type { RawItems } from './raw-items.ts';
import type { SeqRange } from './version.ts';

/** Messages of the log that a summary reads, if earlier summaries stand for the older messages. */
export const MAX_READ_MESSAGES = 2_048;

export interface EarlierSummary {
  /** Text of the summary, without the user messages that were copied before it. */
  readonly text: string;
  /** Range of messages that the summary stands for. */
  readonly covers: SeqRange;
  /** Present if the provider wrote the summary. */
  readonly raw?: RawItems;
}

export type SummaryCall = Omit<
  Extract<WorkerEvent, { readonly type: 'model_called' }>,
  'type' | 'purpose' | keyof EventScope
>;

/** Finished parts of an unfinished summary. Their model calls are paid for, so a later attempt reuses them. */
export interface SummaryParts {
  /** Returns a stored part. */
  read(key: string): Promise<string | undefined>;
  write(key: string, text: string): Promise<void>;
}

/** The agent's last request, up to the end of the range. Its provider may still have it in its cache. */
export type CachedPrefix = Pick<ModelRequest, 'system' | 'tools' | 'messages' | 'tokens' | 'cache'> & {
  readonly version: number;
  /** Tokens of the range's messages in the log. */
  readonly rangeTokens: number;
};

/** The messages are data to summarize, never instructions to follow. */
export interface SummaryRequest {
  /** Range of messages that the summary will replace. */
  readonly range: SeqRange;
  /** Messages of the range as in the log, oldest first. */
  readonly messages: readonly Message[];
  /** Summaries of parts of the range, oldest first. A summarizer may extend them. */
  readonly earlier?: readonly EarlierSummary[];
  /**
   * Texts of all earlier summaries in a long range, without the copied words of users. Code reads them instead of the
   * oldest messages, because reading 10,000 messages takes seconds.
   */
  readonly older?: string;
  /** Current version, if the context starts with this range. Only then may the provider compact the range itself. */
  readonly opensVersion?: number;
  /** User message before the range. */
  readonly userRequest?: string;
  /** Words of users that turnfold copies before the summary. The summary need not repeat them. */
  readonly userTexts?: string;
  /** System prompt of the agent, which holds rules of security and permission. */
  readonly system?: string;
  /** Absent unless the live context starts with the messages to summarize, unchanged from the log. */
  readonly readPrefix?: () => Promise<CachedPrefix | undefined>;
  /** Messages after the range. They show which names the agent still uses. */
  readonly later?: readonly Message[];
  /** How many last messages of `later` stay in the context. The summary need not repeat them. */
  readonly keptLater?: number;
  /** Maximum tokens of the summary's text. */
  readonly maxTokens: number;
  /** Aborts when the summary is not needed any more. */
  readonly signal: AbortSignal;
  /** Absent: no part survives a failed attempt. */
  readonly parts?: SummaryParts;
  /** Called after each call of a model, even a failed call. */
  readonly onCall?: (call: SummaryCall) => void;
  /** A model of a fallback list failed, and the next one will be called. */
  readonly onPassedOver?: ModelRequest['onPassedOver'];
  /** Lets each call through the gate of its model. */
  readonly gate?: ModelRequest['gate'];
}

export type SummaryAnswer =
  | {
      readonly status: 'written';
      /** Text of the summary. */
      readonly text: string;
      /** True if existing summaries were extended with later messages. */
      readonly isUpdate?: boolean;
      /** The provider's own compaction with its tokens. Other models get the summary text instead. */
      readonly own?: {
        /** Items of the provider. */
        readonly raw: RawItems;
        readonly tokens: number;
      };
    }
  /** The range is too small for this summarizer. The next summarizer of the list is used. */
  | { readonly status: 'unfit'; readonly why: string }
  /** A retry would not help. */
  | { readonly status: 'refused'; readonly why: string }
  /** An immediate retry would not help. */
  | { readonly status: 'failed'; readonly why: string };

/** Implementations: one per provider, a list of fallbacks, and one in code. */
export interface Summarizer {
  /** Id of the model, or `structural` for code without a model. */
  readonly id: string;
  /** Summarizes one range. @throws any error that a retry may avoid, e.g. a rate limit */
  summarize(request: SummaryRequest): Promise<SummaryAnswer>;
}
