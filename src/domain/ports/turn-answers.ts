import type { ConversationRef } from '../ids.ts';
import type { Weight } from '../message.ts';
import type { AnswerKind, RecordedDecision } from '../turn.ts';

/** Tool result for an answer that was accepted but never used, with its size as a message. */
export interface UnusedAnswer extends Weight {
  /** The result as JSON: `{content, isError?}`. Absent: the result is the JSON of the answer itself. */
  readonly json?: string;
}

/** The stored answer to one waiting tool call. */
export interface StoredAnswer {
  /** Kind of wait that the answer is for: a tool result or an approval. */
  readonly for: AnswerKind;
  /**
   * Decision of the answer, without spaces: `approved`, `denied`, or a hash of a tool result. A later answer with another
   * verdict is refused.
   */
  readonly verdict: string;
  /** Hash of the call that the caller means (I21). Absent: the caller names the call by its id alone. */
  readonly hash?: string | undefined;
  /** Person who answers, without line breaks. */
  readonly by?: string | undefined;
  /** JSON of the answer: `{content, isError?}` for a tool result, or a person's decision. */
  readonly json: string;
  /** Result that is written to the log if the turn ends before a worker uses the answer. */
  readonly unused: UnusedAnswer;
}

/** Answers to tool calls of a waiting turn. */
export interface AnswerRequest {
  readonly conversation: ConversationRef;
  readonly turn: string;
  /** One or more answers, by the id of the tool call. The store accepts either all of them or none. */
  readonly answers: ReadonlyMap<string, StoredAnswer>;
  /** Id of the queue job to add if the answer has `needsWake`. */
  readonly wake: string;
  /** Id of the request that brings the answers, which the turn keeps. */
  readonly request?: string | undefined;
}

export type AnswerResult =
  /**
   * All of these calls now have answers, from this request or an earlier one. If the answer has a `wake`, the caller
   * adds that queue job.
   */
  | { readonly status: 'answered'; readonly wake?: string }
  /** The answers are stored, but other calls still wait. */
  | { readonly status: 'still_waiting' }
  /** The named call is not waiting and was never answered. Nothing was written. */
  | { readonly status: 'not_waiting'; readonly call: string }
  /** The named call waits for another kind of answer, e.g. for an approval. Nothing was written. */
  | { readonly status: 'other_kind'; readonly call: string; readonly for: StoredAnswer['for'] }
  /** The named call has another hash: the caller means a call of an erased conversation. Nothing was written. */
  | { readonly status: 'other_call'; readonly call: string }
  /** The conversation was created again after an erase, so the id alone may mean an erased call. Nothing was written. */
  | { readonly status: 'unnamed_call'; readonly call: string }
  /** The named call has an answer with another verdict, which counts. Nothing was written. */
  | { readonly status: 'decided'; readonly call: string; readonly decision: RecordedDecision }
  | { readonly status: 'not_found' | 'gone' };
