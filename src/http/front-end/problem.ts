import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { ERROR_CODES, type ErrorCode, isTurnfoldError, TurnfoldError } from '../../domain/errors.ts';

/** Statuses of codes that differ from the usual status of their group. */
const STATUSES: Partial<Record<ErrorCode, ContentfulStatusCode>> = {
  invalid_input: 400,
  not_found: 404,
  gone: 410,
  version_gone: 410,
  message_too_large: 413,
  orphan_result: 422,
  duplicate_call: 422,
  invalid_policy: 422,
  mailbox_full: 429,
};

/** Status of an error by the party that must act. */
const GROUPS = { caller: 409, worker: 409, turn: 409, service: 503 } as const;

function statusOf(code: ErrorCode): ContentfulStatusCode {
  return STATUSES[code] ?? GROUPS[ERROR_CODES[code]];
}

/** Answers a request that failed with `application/problem+json`. The answer hides the cause of an error without a code. */
export function answerProblem(error: unknown, context: Context): Response {
  if (!isTurnfoldError(error)) {
    return writeProblem(context, 500, { title: 'internal_error', detail: 'The server failed. Try again' });
  }
  const { code, message, field, details } = error;
  return writeProblem(context, statusOf(code), { title: code, code, detail: message, field, details });
}

/** Error for a JSON body that cannot be read. */
export function invalidBody(): TurnfoldError {
  return new TurnfoldError('invalid_input', 'body: expected JSON', { field: 'body' });
}

function writeProblem(context: Context, status: ContentfulStatusCode, problem: object): Response {
  return context.json({ type: 'about:blank', status, ...problem }, status, {
    'content-type': 'application/problem+json',
  });
}
