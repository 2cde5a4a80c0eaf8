import type { ConversationRef } from '../ids.ts';
import type { TraceParent } from '../trace-parent.ts';
import type { SummarizationTask } from './queue.ts';

/** Nothing was taken, or it was handed back: deliver the job again after `delayMs`, at no cost of an attempt. */
export interface Postponed {
  readonly status: 'postponed';
  readonly delayMs: number;
}

/** What a queue delivers to a turn worker. Undefined: done. It throws an outage of Redis, and `BrokenDelivery` at what nobody foresaw. */
export type TurnHandler = (conversation: ConversationRef) => Promise<Postponed | undefined>;

/** One delivery of a pass's job. */
export interface PassDelivery {
  readonly conversation: ConversationRef;
  /** id of the queue job */
  readonly job: string;
  /** its children have all ended: settle with what they brought */
  readonly haveChildrenEnded: boolean;
  /** the span of who asked for the pass */
  readonly askedIn?: TraceParent | undefined;
}

export type PassDeliveryResult =
  | { readonly status: 'done' }
  | Postponed
  /** run these as children of the job, then deliver it again */
  | { readonly status: 'parked'; readonly children: readonly (SummarizationTask & { readonly child: string })[] };

export type PassHandler = (delivery: PassDelivery) => Promise<PassDeliveryResult>;

export interface SummarizationDelivery {
  readonly task: SummarizationTask;
  /** when its pass asked for it, ms since epoch */
  readonly askedAt: number;
  readonly isLastAttempt: boolean;
}

export type SummarizationResult =
  | Postponed
  /** how it ended, failures included: a child that *failed* could leave its parent waiting for ever */
  | { readonly status: 'ended'; readonly outcome: 'written' | 'known' | 'refused' | 'failed' | 'superseded' }
  /** another job works on the same source: deliver it again in a second, at no cost of an attempt */
  | { readonly status: 'in_flight' }
  /** a provider said when to come back, ms since epoch: deliver it again then, at no cost of an attempt */
  | { readonly status: 'limited'; readonly retryAt: number };

/** Throws what may succeed when asked again, except on the last attempt. */
export type SummarizationHandler = (delivery: SummarizationDelivery) => Promise<SummarizationResult>;
