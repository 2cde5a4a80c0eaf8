import type { Acknowledged } from '../domain/durability.ts';
import type { ConversationRef } from '../domain/ids.ts';
import type { Weight } from '../domain/message.ts';
import { type AnswerKind, describeDecision, type RecordedDecision } from '../domain/turn.ts';
import type { ScriptDefinition } from './script.ts';

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

type AnswerReply =
  | ['answered', number]
  | ['still_waiting' | 'not_found' | 'gone']
  | ['not_waiting' | 'other_call' | 'unnamed_call', string]
  | ['decided', string, string, string, string]
  | ['other_kind', string, StoredAnswer['for']];

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

export const answerTurnScript: ScriptDefinition<[request: AnswerRequest], Acknowledged<AnswerResult>> = {
  file: 'answer-turn',
  args: ([{ turn, wake, answers, request = '' }]) => [
    turn,
    wake,
    request,
    ...[...answers].flatMap(([call, { for: kind, json, unused, verdict, hash = '', by = '' }]) => [
      call,
      kind,
      json,
      `${unused.tokens} ${unused.bytes}\n${unused.json ?? ''}`,
      verdict,
      hash,
      by,
    ]),
  ],
  decode: (reply, [{ wake }]) => {
    const answer = reply as AnswerReply;
    switch (answer[0]) {
      case 'answered':
        return { status: answer[0], ...(answer[1] === 1 && { wake }) };
      case 'not_waiting':
      case 'other_call':
      case 'unnamed_call':
        return { status: answer[0], call: answer[1] };
      case 'decided': {
        const [status, call, at, verdict, by] = answer;
        return { status, call, decision: describeDecision(verdict, Number(at), by) };
      }
      case 'other_kind':
        return { status: answer[0], call: answer[1], for: answer[2] };
      default:
        return { status: answer[0] };
    }
  },
};
