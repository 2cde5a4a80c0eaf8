import type { ConversationRef } from '../ids.ts';
import type { Weight } from '../message.ts';
import type { AnswerKind } from '../turn.ts';

/** Result of a call whose answer was accepted but never used, weighed as a message. */
export interface UnusedAnswer extends Weight {
  /** A tool output `{content, isError?}`. Absent: the JSON of the answer itself. */
  readonly json?: string;
}

/** A stored answer to one call. */
export interface StoredAnswer {
  /** Kind of wait that the answer is meant for. */
  readonly for: AnswerKind;
  /** A tool output `{content, isError?}`, or a decision. */
  readonly json: string;
  /** Result that the log gets if the turn settles before a worker uses the answer. */
  readonly unused: UnusedAnswer;
}

/** Answers to calls of a waiting turn. */
export interface AnswerRequest {
  readonly conversation: ConversationRef;
  readonly turn: string;
  /** Answers by call id, at least one. The store takes all of them or none. */
  readonly answers: ReadonlyMap<string, StoredAnswer>;
  /** Id of the wake that is recorded if one is needed. */
  readonly wake: string;
}

export type AnswerResult =
  /** These calls are answered, now or earlier, in any state of the turn. The caller adds the wake if there is one. */
  | { readonly status: 'answered'; readonly wake?: string }
  /** The answers are recorded, and other calls still wait. */
  | { readonly status: 'still_waiting' }
  /** The named call neither waits nor was answered before. Nothing was written. */
  | { readonly status: 'not_waiting'; readonly call: string }
  /** The named call waits for another kind of answer. Nothing was written. */
  | { readonly status: 'other_kind'; readonly call: string; readonly for: StoredAnswer['for'] }
  | { readonly status: 'not_found' | 'gone' };
