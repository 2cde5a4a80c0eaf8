import type { Acknowledged } from '../domain/durability.ts';
import type { ConversationRef } from '../domain/ids.ts';
import type { Weight } from '../domain/message.ts';
import { type AnswerKind, describeDecision, type RecordedDecision } from '../domain/turn.ts';
import type { ScriptDefinition } from './script.ts';

/** Tool result for the log, from an answer that was accepted but never used. */
interface UnusedAnswer extends Weight {
  /** Result as JSON `{content, isError?}`. Absent: the result is the JSON of the answer itself. */
  readonly json?: string;
}

export interface StoredAnswer {
  readonly for: AnswerKind;
  /** `approved`, `denied`, or the hash of a tool result. A later answer with another verdict is refused. */
  readonly verdict: string;
  /** Hash of the call that the caller means (I21). Absent: the call is named by its id alone. */
  readonly hash?: string | undefined;
  readonly by?: string | undefined;
  /** Answer as JSON: `{content, isError?}` for a tool result, or a person's decision. */
  readonly json: string;
  /** Result for the log, if the turn ends before a worker uses the answer. */
  readonly unused: UnusedAnswer;
}

type AnswerReply =
  | ['answered', number]
  | ['still_waiting' | 'not_found' | 'gone']
  | ['not_waiting' | 'other_call' | 'unnamed_call', string]
  | ['decided', string, string, string, string]
  | ['other_kind', string, StoredAnswer['for']];

export type AnswerResult =
  /** All calls of the wait have answers. The caller adds the queue job `wake`, if the reply has it. */
  | { readonly status: 'answered'; readonly wake?: string }
  | { readonly status: 'still_waiting' }
  | { readonly status: 'not_waiting'; readonly call: string }
  /** The call waits for another kind of answer, e.g. an approval. Nothing was written. */
  | { readonly status: 'other_kind'; readonly call: string; readonly for: StoredAnswer['for'] }
  /** The hash belongs to a call of an erased conversation. Nothing was written. */
  | { readonly status: 'other_call'; readonly call: string }
  /**
   * The conversation was created again after an erase, so the id alone may mean an erased call. Nothing was written.
   */
  | { readonly status: 'unnamed_call'; readonly call: string }
  | { readonly status: 'decided'; readonly call: string; readonly decision: RecordedDecision }
  | { readonly status: 'not_found' | 'gone' };

export interface AnswerRequest {
  readonly conversation: ConversationRef;
  readonly turn: string;
  /** Answers by call id. Either all answers are accepted or none. */
  readonly answers: ReadonlyMap<string, StoredAnswer>;
  readonly wake: string;
  /** Id of the request that brings the answers, which the turn keeps. */
  readonly request?: string | undefined;
}

export const answerTurnScript: ScriptDefinition<[request: AnswerRequest], Acknowledged<AnswerResult>> = {
  file: 'answer-turn',
  args: ([{ turn, wake, answers, request }]) => ({
    turn,
    wake,
    request,
    rest: [...answers].flatMap(([call, { for: kind, json, unused, verdict, hash = '', by = '' }]) => [
      call,
      kind,
      json,
      `${unused.tokens} ${unused.bytes}\n${unused.json ?? ''}`,
      verdict,
      hash,
      by,
    ]),
  }),
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
