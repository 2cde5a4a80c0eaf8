import type { EventScope, WorkerEvent } from './events.ts';
import type { Message } from './message.ts';
import type { ModelRequest } from './model.ts';
import type { RawItems } from './raw-items.ts';
import type { SeqRange } from './version.ts';

/** An existing summary of a part of the messages to be summarized. */
export interface EarlierSummary {
  /** Text of the summary, without the copied user messages before it. */
  readonly text: string;
  /** Range of messages that the summary stands for. */
  readonly covers: SeqRange;
  /** Original items of the provider, if the provider wrote the summary: `RawItems`. */
  readonly raw?: RawItems;
}

/** One model call of a summarizer, as reported in its event. */
export type SummaryCall = Omit<
  Extract<WorkerEvent, { readonly type: 'model_called' }>,
  'type' | 'purpose' | keyof EventScope
>;

/**
 * Stores the finished parts of an unfinished summary, because their model calls are paid for. A later attempt reuses
 * them.
 */
export interface SummaryParts {
  /** Returns a stored part. */
  read(key: string): Promise<string | undefined>;
  /** Stores a part. */
  write(key: string, text: string): Promise<void>;
}

/** The request that the agent's model read last, up to the end of the range. Its provider may still have it in its cache. */
export type CachedPrefix = Pick<ModelRequest, 'system' | 'tools' | 'messages' | 'tokens'> & {
  readonly version: number;
  /** Tokens of the range's messages in the log. */
  readonly rangeTokens: number;
};

/** Request to summarize one range of messages. The messages are data to summarize, never instructions to follow. */
export interface SummaryRequest {
  /** Range of messages that the summary will replace. */
  readonly range: SeqRange;
  /** Messages of the range from the log, oldest first. */
  readonly messages: readonly Message[];
  /**
   * Existing summaries of parts of the range, oldest first. A summarizer may extend them with the messages that they do
   * not cover.
   */
  readonly earlier?: readonly EarlierSummary[];
  /**
   * Number of the current context version, if the context starts with this range. Only then may the provider compact
   * the range by itself.
   */
  readonly opensVersion?: number;
  /** User message before the range, which states what the user asked for. */
  readonly userRequest?: string;
  /** Texts of users that code puts before the summary. The summary need not repeat them. */
  readonly userTexts?: string;
  /** System prompt of the agent, as far as it is known. It holds rules of security and permission. */
  readonly system?: string;
  /**
   * Reads the start of the live context. Absent if the start does not end with this range, or shows its messages otherwise
   * than the log.
   */
  readonly readPrefix?: () => Promise<CachedPrefix | undefined>;
  /** Messages after the range. They show which names the agent still uses. */
  readonly later?: readonly Message[];
  /** Number of the last messages of `later` that stay in the context. The summary need not repeat them. */
  readonly keptLater?: number;
  /** Maximum tokens of the summary's text. */
  readonly maxTokens: number;
  /** Aborts when the summary is not needed any more. */
  readonly signal: AbortSignal;
  /** Store for finished parts of the summary. Absent: no part survives a failed attempt. */
  readonly parts?: SummaryParts;
  /** Called after every model call, whether it succeeded or not. */
  readonly onCall?: (call: SummaryCall) => void;
  /** Called for each model of a fallback list that failed, before the next model is called. */
  readonly onPassedOver?: ModelRequest['onPassedOver'];
  /** Lets the calls through the gates of their models. */
  readonly gate?: ModelRequest['gate'];
}

export type SummaryAnswer =
  | {
      readonly status: 'written';
      /** Text of the summary. */
      readonly text: string;
      /** True if existing summaries were extended with later messages. */
      readonly isUpdate?: boolean;
      /** Original items and token count of the provider's own compaction. Other models get the summary text instead. */
      readonly own?: {
        /** Items of the provider. */
        readonly raw: RawItems;
        /** Tokens of the items. */
        readonly tokens: number;
      };
    }
  /** The range is too small for this summarizer. The next one of the list is used instead. */
  | { readonly status: 'unfit'; readonly why: string }
  /** This range cannot be summarized, and a retry would not help. */
  | { readonly status: 'refused'; readonly why: string }
  /** The summarizer is not available now, and an immediate retry would not help. */
  | { readonly status: 'failed'; readonly why: string };

/**
 * Summarizes ranges of messages. Implementations: one per provider, a list of fallbacks, and one in code without a
 * model.
 */
export interface Summarizer {
  /** Id of the summarizer's model, or `structural` for code without a model. */
  readonly id: string;
  /**
   * Summarizes one range of messages.
   * @throws any error that a retry may avoid, e.g. a rate limit or an overloaded provider
   */
  summarize(request: SummaryRequest): Promise<SummaryAnswer>;
}
