import type { ConversationRef } from '../ids.ts';
import type { Weight } from '../message.ts';
import type { AnswerKind } from '../turn.ts';

/** The result of a call whose answer was acknowledged and never used, weighed as a message. */
export interface UnusedAnswer extends Weight {
  /** `{content, isError?}`; absent: the answer's own JSON */
  readonly json?: string;
}

/** What was brought for one call. */
export interface StoredAnswer {
  /** the wait that it is meant for */
  readonly for: AnswerKind;
  /** a tool output `{content, isError?}`, or a decision */
  readonly json: string;
  /** what the log says of the call if the turn is settled before a worker has used the answer */
  readonly unused: UnusedAnswer;
}

export interface AnswerRequest {
  readonly conversation: ConversationRef;
  readonly turn: string;
  /** by call id, at least one: all of them are taken, or none */
  readonly answers: ReadonlyMap<string, StoredAnswer>;
  readonly wake: string;
}

export type AnswerResult =
  /** nothing more of these calls' wait is awaited; also of answers that were brought before, whatever the turn does by now */
  | { readonly status: 'answered'; readonly wake?: string }
  /** recorded; other calls are still awaited */
  | { readonly status: 'still_waiting' }
  /** this call is not awaited, and was not answered before; nothing was written */
  | { readonly status: 'not_waiting'; readonly call: string }
  /** this call is awaited for something else than was brought; nothing was written */
  | { readonly status: 'other_kind'; readonly call: string; readonly for: StoredAnswer['for'] }
  | { readonly status: 'not_found' | 'gone' };
