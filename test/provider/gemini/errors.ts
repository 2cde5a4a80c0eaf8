import type { ErrorDetail } from '../dialect.ts';
import { type ErrorName, type ErrorReply, writePage } from '../fault.ts';
import type { JsonObject } from '../json.ts';
import type { Refusal } from '../refusal.ts';

interface ErrorForm {
  readonly status: number;
  readonly name: string;
  readonly message: string;
  readonly details?: readonly JsonObject[];
}

const QUOTA =
  'You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.';

/** Error messages as the real provider sends them. */
const FORMS: Readonly<Record<Exclude<ErrorName, 'bad_gateway'>, (model: string) => ErrorForm>> = {
  rate_limit: () => ({ status: 429, name: 'RESOURCE_EXHAUSTED', message: QUOTA }),
  token_rate_limit: () => ({ status: 429, name: 'RESOURCE_EXHAUSTED', message: QUOTA }),
  too_large_for_rate: () => ({ status: 429, name: 'RESOURCE_EXHAUSTED', message: QUOTA }),
  quota: () => ({ status: 429, name: 'RESOURCE_EXHAUSTED', message: QUOTA }),
  overloaded: () => ({
    status: 503,
    name: 'UNAVAILABLE',
    message: 'The model is overloaded. Please try again later.',
  }),
  server_error: () => ({ status: 500, name: 'INTERNAL', message: 'An internal error has occurred. Please retry.' }),
  timeout: () => ({
    status: 504,
    name: 'DEADLINE_EXCEEDED',
    message: 'Deadline expired before operation could complete.',
  }),
  conflict: () => ({ status: 409, name: 'ABORTED', message: 'The operation was aborted.' }),
  overflow: () => ({
    status: 400,
    name: 'INVALID_ARGUMENT',
    message: 'The input token count (1199900) exceeds the maximum number of tokens allowed (1048576).',
  }),
  too_many_bytes: () => ({
    status: 400,
    name: 'INVALID_ARGUMENT',
    message: 'Request payload size exceeds the limit: 20971520 bytes.',
  }),
  unauthorized: () => ({
    status: 400,
    name: 'INVALID_ARGUMENT',
    message: 'API key not valid. Please pass a valid API key.',
    details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }],
  }),
  forbidden: () => ({
    status: 403,
    name: 'PERMISSION_DENIED',
    message: 'Generative Language API has not been used in project 0000 before or it is disabled.',
  }),
  unknown_model: (model) => ({
    status: 404,
    name: 'NOT_FOUND',
    message: `models/${model} is not found for API version v1beta, or is not supported for generateContent.`,
  }),
  invalid: () => ({
    status: 400,
    name: 'INVALID_ARGUMENT',
    message:
      'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
  }),
};

export function writeGeminiError(name: ErrorName, { model, message, retryAfterMs }: ErrorDetail): ErrorReply {
  if (name === 'bad_gateway') return writePage(502, 'Bad Gateway');
  const form = FORMS[name](model);
  const seconds = retryAfterMs === undefined ? undefined : `${retryAfterMs / 1_000}s`;
  return reply({
    ...form,
    message: message ?? (seconds === undefined ? form.message : `${form.message}\nPlease retry in ${seconds}.`),
    ...(seconds !== undefined && {
      details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: seconds }],
    }),
  });
}

export function writeGeminiRefusal({ status, type, message }: Refusal): ErrorReply {
  return reply({ status, name: type, message });
}

function reply({ status, name, message, details }: ErrorForm): ErrorReply {
  return { status, body: { error: { code: status, message, status: name, ...(details && { details }) } } };
}
