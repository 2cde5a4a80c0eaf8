import { STATUS_CODES } from 'node:http';
import { type ErrorCode, isTurnfoldError } from '../../domain/errors.ts';

/** Codes of errors about the request itself, with their HTTP statuses. */
export const HTTP_CODES = {
  unauthorized: 401,
  /** The key does not allow this route, or a web page of another origin sent the request. */
  forbidden: 403,
  /** The server was started without `--allow-changes`, and the request would change something. */
  read_only: 403,
  no_route: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  body_too_large: 413,
  unsupported_media_type: 415,
  /** A chat has calls that wait for answers, so its next message was refused. `details` has the calls. */
  waiting: 409,
  key_reused: 422,
  /** The server serves as many streams and waiting requests as its limit allows. Try again after `Retry-After`. */
  too_many_readers: 429,
  headers_too_large: 431,
  /** The server does not offer this route: it was started without it, or a package that the route needs is missing. */
  not_offered: 501,
  defect: 500,
  /** The server is stopping. Repeat the request at another server, or after the restart. */
  server_stopping: 503,
} as const;

export type HttpCode = keyof typeof HTTP_CODES;

export interface ProblemContext {
  /** Name of the wrong field, header or parameter. */
  readonly field?: string;
  /** Time in seconds after which the same request may succeed. */
  readonly retryAfter?: number;
  /** Headers of the answer. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Figures and ids that explain the error. */
  readonly details?: Problem['details'];
}

export class HttpProblem extends Error {
  readonly code: HttpCode;
  /** Field, time and headers of the answer. */
  readonly context: ProblemContext;

  constructor(code: HttpCode, message: string, context: ProblemContext = {}) {
    super(message);
    this.name = 'HttpProblem';
    this.code = code;
    this.context = context;
  }
}

/** HTTP status of each error of the client. Every other code is the server's own fault: 500. */
const STATUSES: Partial<Record<ErrorCode, number>> = {
  invalid_input: 422,
  invalid_policy: 422,
  orphan_result: 422,
  duplicate_call: 422,
  invalid_context: 422,
  over_hard_limit: 422,
  not_found: 404,
  unknown_agent: 404,
  turn_conflict: 409,
  operation_conflict: 409,
  agent_conflict: 409,
  conversation_busy: 409,
  conflict: 409,
  proposal_stale: 409,
  turn_not_failed: 409,
  turn_running: 409,
  conversation_forking: 409,
  fork_abandoned: 409,
  gone: 410,
  version_gone: 410,
  message_too_large: 413,
  mailbox_full: 429,
  accepted_unsure: 503,
  redis_unavailable: 503,
  redis_full: 503,
};

const RETRY_AFTER: Partial<Record<ErrorCode, number>> = {
  conversation_busy: 1,
  conversation_forking: 1,
  mailbox_full: 1,
  accepted_unsure: 1,
  redis_unavailable: 1,
  redis_full: 5,
};

export const PROBLEM_TYPE = 'application/problem+json';

export interface Problem {
  /** URN of the error code. */
  readonly type: string;
  /** Phrase of the HTTP status. */
  readonly title: string;
  /** HTTP status. */
  readonly status: number;
  readonly code: ErrorCode | HttpCode;
  /** Message for people: the fault, and what to do. */
  readonly detail: string;
  /** Path of the wrong field, header or parameter. */
  readonly field?: string;
  /** Figures and ids that explain the error. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** An unexpected error goes to `onDefect`. Its text may contain a secret, so the answer does not have it. */
export function answerProblem(error: unknown, onDefect: (error: unknown) => void): Response {
  const { problem, headers } = explainError(error, onDefect);
  return writeProblem(problem, headers);
}

interface ExplainedError {
  readonly problem: Problem;
  readonly headers: Readonly<Record<string, string>>;
}

export function explainError(error: unknown, onDefect: (error: unknown) => void): ExplainedError {
  if (error instanceof HttpProblem) {
    const { field, retryAfter, headers, details } = error.context;
    const problem = describeProblem(HTTP_CODES[error.code], {
      code: error.code,
      detail: error.message,
      field,
      details,
    });
    return { problem, headers: { ...headers, ...retryHeader(retryAfter) } };
  }
  if (!isTurnfoldError(error)) {
    onDefect(error);
    const detail = 'The server failed. Its log has the details.';
    return { problem: describeProblem(HTTP_CODES.defect, { code: 'defect', detail }), headers: {} };
  }
  const { message: detail, field, details } = error;
  const code = error.code === 'access_denied' ? 'forbidden' : error.code;
  const status = code === 'forbidden' ? HTTP_CODES.forbidden : (STATUSES[code] ?? HTTP_CODES.defect);
  if (status === HTTP_CODES.defect) onDefect(error);
  const problem = describeProblem(status, { code, detail, field, details });
  return { problem, headers: retryHeader(RETRY_AFTER[error.code]) };
}

interface ProblemParts {
  readonly code: Problem['code'];
  readonly detail: string;
  readonly field?: string | undefined;
  readonly details?: Problem['details'] | undefined;
}

export function describeProblem(status: number, { code, detail, field, details }: ProblemParts): Problem {
  return {
    type: `urn:turnfold:error:${code}`,
    title: STATUS_CODES[status] ?? 'Error',
    status,
    code,
    detail,
    ...(field !== undefined && field !== '' && { field }),
    ...(details !== undefined && { details }),
  };
}

/** @param problem may have further members, by RFC 9457 */
export function writeProblem(problem: Problem, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(`${JSON.stringify(problem)}\n`, {
    status: problem.status,
    headers: { 'content-type': PROBLEM_TYPE, ...headers },
  });
}

function retryHeader(seconds: number | undefined): Record<string, string> {
  return seconds === undefined ? {} : { 'retry-after': String(seconds) };
}
