import { newId } from '../answer.ts';
import type { ErrorDetail } from '../dialect.ts';
import { type ErrorName, type ErrorReply, writePage } from '../fault.ts';
import type { JsonObject } from '../json.ts';
import type { Refusal } from '../refusal.ts';

interface ErrorForm {
  readonly status: number;
  readonly type: string;
  readonly message: string;
  readonly details?: JsonObject;
}

const RATE_ADVICE =
  'For details, refer to: https://docs.anthropic.com/en/api/rate-limits. You can see the response headers for current usage. Please reduce the prompt length or the maximum tokens requested, or try again later. You may also contact sales at https://www.anthropic.com/contact-sales to discuss your options for a rate limit increase.';

/** Error messages as the real provider sends them, if known. */
const FORMS: Readonly<Record<Exclude<ErrorName, 'bad_gateway'>, (detail: ErrorDetail) => ErrorForm>> = {
  rate_limit: () => ({
    status: 429,
    type: 'rate_limit_error',
    message: "This request would exceed your account's rate limit. Please try again later.",
  }),
  token_rate_limit: () => ({
    status: 429,
    type: 'rate_limit_error',
    message: `This request would exceed the rate limit for your organization (00000000-0000-4000-8000-000000000000) of 20,000 input tokens per minute. ${RATE_ADVICE}`,
  }),
  too_large_for_rate: () => ({
    status: 429,
    type: 'rate_limit_error',
    message: `The request has too many tokens: it would exceed the rate limit for your organization of 20,000 input tokens per minute. ${RATE_ADVICE}`,
  }),
  quota: () => ({
    status: 400,
    type: 'invalid_request_error',
    message:
      'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
  }),
  overloaded: () => ({ status: 529, type: 'overloaded_error', message: 'Overloaded' }),
  server_error: () => ({ status: 500, type: 'api_error', message: 'Internal server error' }),
  timeout: () => ({ status: 504, type: 'timeout_error', message: 'Request timed out' }),
  conflict: () => ({
    status: 409,
    type: 'conflict_error',
    message: 'The request conflicts with the current state of a resource.',
  }),
  overflow: () => ({
    status: 400,
    type: 'invalid_request_error',
    message: 'prompt is too long: 208310 tokens > 200000 maximum',
  }),
  too_many_bytes: () => ({ status: 413, type: 'request_too_large', message: 'Request exceeds the maximum size' }),
  unauthorized: () => ({ status: 401, type: 'authentication_error', message: 'invalid x-api-key' }),
  forbidden: () => ({
    status: 403,
    type: 'permission_error',
    message: 'Your API key does not have permission to use the specified resource.',
  }),
  unknown_model: ({ model }) => ({ status: 404, type: 'not_found_error', message: `model: ${model}` }),
  invalid: () => ({
    status: 400,
    type: 'invalid_request_error',
    message: 'messages.0.content.0.text.parsed_output: Extra inputs are not permitted',
  }),
};

export function writeAnthropicError(name: ErrorName, detail: ErrorDetail): ErrorReply {
  if (name === 'bad_gateway') return writePage(502, 'Bad Gateway');
  const form = FORMS[name](detail);
  return reply({ ...form, message: detail.message ?? form.message });
}

export function writeAnthropicRefusal({ status, type, message, details }: Refusal): ErrorReply {
  return reply({ status, type, message, ...(details === undefined ? {} : { details }) });
}

function reply({ status, type, message, details }: ErrorForm): ErrorReply {
  const error = { type, message, ...(details === undefined ? {} : { details }) };
  return { status, body: { type: 'error', error, request_id: newId('req_') } };
}
