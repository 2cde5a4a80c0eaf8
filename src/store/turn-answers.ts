import type { Acknowledged } from '../domain/durability.ts';
import type { ConversationRef } from '../domain/ids.ts';
import type { Weight } from '../domain/message.ts';
import { type AnswerKind, describeDecision, type RecordedDecision } from '../domain/turn.ts';
import { decodeReply, type ScriptDefinition } from './script.ts';

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
  decode: (reply, [{ wake }]) =>
    decodeReply<AnswerResult>(reply, {
      answered: (needsWake: number) => (needsWake === 1 ? { wake } : {}),
      not_waiting: (call: string) => ({ call }),
      other_call: (call: string) => ({ call }),
      unnamed_call: (call: string) => ({ call }),
      decided: (call: string, at: string, verdict: string, by: string) => ({
        call,
        decision: describeDecision(verdict, Number(at), by),
      }),
      other_kind: (call: string, kind: AnswerKind) => ({ call, for: kind }),
    }),
};
