import type { ErrorCode } from '../../domain/errors.ts';
import type { AnswerEnd, TurnFailure, WaitRequest } from '../../domain/turn.ts';

/** Why the work on a claimed turn stops. Decided where it is found, written in one place. */
export type TurnEnd =
  | { readonly kind: 'completed'; readonly answerSeq: number; readonly end?: AnswerEnd | undefined }
  | { readonly kind: 'failed'; readonly failure: TurnFailure }
  | { readonly kind: 'suspended'; readonly wait: WaitRequest };

/** @param details figures and ids, never contents */
export function failTurn(code: ErrorCode, message: string, details?: TurnFailure['details']): TurnEnd {
  return { kind: 'failed', failure: { code, message, ...(details === undefined ? {} : { details }) } };
}
