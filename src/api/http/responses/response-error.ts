import type { AnswerError } from '../app-options.ts';
import { explainError, writeProblem } from '../problem.ts';

/** Answers an error as a problem that also has the error object of the Responses API, which its clients read. */
export const answerResponseError: AnswerError = (error, onDefect) => {
  const { problem, headers } = explainError(error, onDefect);
  const { status, code, detail: message, field: param = null } = problem;
  const body = { ...problem, error: { type: typeOf(status), code, message, param } };
  return writeProblem(body, headers);
};

/** Types of errors by Open Responses. */
function typeOf(status: number): string {
  if (status === 404) return 'not_found';
  if (status === 429) return 'too_many_requests';
  return status >= 500 ? 'server_error' : 'invalid_request';
}
