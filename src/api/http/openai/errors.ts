import { fieldError, isTurnfoldError } from '../../../domain/errors.ts';
import type { AnswerError } from '../app-options.ts';
import { explainError, writeProblem } from '../problem.ts';
import { refuseRetry } from '../responses/response-object.ts';

/** Types of errors in OpenAI's APIs, by HTTP status. */
const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  429: 'rate_limit_error',
};

/** Writes a problem that also has the error object of OpenAI, with the statuses of OpenAI. */
export const answerOpenAiError: AnswerError = (error, onDefect) => {
  const { problem, headers } = explainError(error, onDefect);
  const { code, detail: message, field: param = null, details } = problem;
  const status = problem.status === 422 ? 400 : problem.status;
  const body = writeErrorBody(status, { message, param, code: readReason(details) ?? code });
  const title = status === problem.status ? problem.title : 'Bad Request';
  return writeProblem({ ...problem, ...body, status, title }, { ...headers, ...refuseRetry(status, headers) });
};

interface ErrorFields {
  readonly message: string;
  readonly param: string | null;
  readonly code: string;
}

export function writeErrorBody(status: number, { message, param, code }: ErrorFields): object {
  const type = TYPES[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error');
  return { error: { message, type, param, code } };
}

/** The code that OpenAI has for an error, e.g. `model_not_found`. */
function readReason(details: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const reason = details?.['reason'];
  return typeof reason === 'string' ? reason : undefined;
}

/** Renames fields of `enqueueTurn` in an error to those of the request. */
export async function renameFields<Done>(
  names: readonly (readonly [RegExp, string])[],
  work: () => Promise<Done>,
): Promise<Done> {
  try {
    return await work();
  } catch (error) {
    if (!isTurnfoldError(error) || error.field === undefined) throw error;
    const { field } = error;
    const [pattern, replacement] = names.find(([tried]) => tried.test(field)) ?? [];
    if (pattern === undefined || replacement === undefined) throw error;
    const { code, reason, details } = error;
    throw fieldError(code, field.replace(pattern, replacement), reason, { details, cause: error });
  }
}
