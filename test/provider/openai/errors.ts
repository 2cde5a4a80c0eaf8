import type { ErrorDetail } from '../dialect.ts';
import { type ErrorName, type ErrorReply, writePage } from '../fault.ts';
import type { Refusal } from '../refusal.ts';

interface ErrorForm {
  readonly status: number;
  readonly type: string;
  readonly message: string;
  readonly code?: string | null;
  readonly param?: string | null;
}

type PlainErrorName = Exclude<ErrorName, 'bad_gateway' | 'timeout' | 'too_many_bytes' | 'overflow'>;

const LIMITS = 'Visit https://platform.openai.com/account/rate-limits to learn more.';
const HELP =
  'You can retry your request, or contact us through our help center at help.openai.com if the error persists.';

/** Error messages as the real provider sends them. */
const FORMS: Readonly<Record<PlainErrorName, (detail: ErrorDetail) => ErrorForm>> = {
  rate_limit: ({ model }) => ({
    status: 429,
    type: 'requests',
    code: 'rate_limit_exceeded',
    message: `Rate limit reached for ${model} in organization org-0000 on requests per min (RPM): Limit 500, Used 500, Requested 1. Please try again in 120ms. ${LIMITS}`,
  }),
  token_rate_limit: ({ model }) => ({
    status: 429,
    type: 'tokens',
    code: 'rate_limit_exceeded',
    message: `Rate limit reached for ${model} in organization org-0000 on tokens per min (TPM): Limit 30000, Used 14567, Requested 24754. Please try again in 18.642s. ${LIMITS}`,
  }),
  too_large_for_rate: ({ model }) => ({
    status: 429,
    type: 'tokens',
    code: 'rate_limit_exceeded',
    message: `Request too large for ${model} in organization org-0000 on tokens per min (TPM): Limit 30000, Requested 36278. The input or output tokens must be reduced in order to run successfully. ${LIMITS}`,
  }),
  quota: () => ({
    status: 429,
    type: 'insufficient_quota',
    code: 'insufficient_quota',
    message:
      'You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.',
  }),
  overloaded: () => ({
    status: 503,
    type: 'server_error',
    message: `The server is currently overloaded with other requests. Sorry about that! ${HELP}`,
  }),
  server_error: () => ({
    status: 500,
    type: 'server_error',
    message: `The server had an error while processing your request. Sorry about that! ${HELP}`,
  }),
  conflict: () => ({
    status: 409,
    type: 'invalid_request_error',
    message: 'The resource was updated by another request. Please try again.',
  }),
  unauthorized: () => ({
    status: 401,
    type: 'invalid_request_error',
    code: 'invalid_api_key',
    message:
      'Incorrect API key provided: ***. You can find your API key at https://platform.openai.com/account/api-keys.',
  }),
  forbidden: ({ model }) => ({
    status: 403,
    type: 'invalid_request_error',
    code: 'model_not_found',
    message: `Project \`proj_0000\` does not have access to model \`${model}\``,
  }),
  unknown_model: ({ model }) => ({
    status: 404,
    type: 'invalid_request_error',
    code: 'model_not_found',
    message: `The model \`${model}\` does not exist or you do not have access to it.`,
  }),
  invalid: () => ({
    status: 400,
    type: 'invalid_request_error',
    code: 'invalid_value',
    param: 'messages[1].content[0].type',
    message: "Invalid value: 'foo'. Supported values are: 'text' and 'image_url'.",
  }),
};

const OVERFLOWS = {
  'openai-chat': {
    message:
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. Please reduce the length of the messages.",
    param: 'messages',
  },
  'openai-responses': {
    message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
    param: 'input',
  },
} as const;

export function writeOpenAiError(format: keyof typeof OVERFLOWS) {
  return (name: ErrorName, detail: ErrorDetail): ErrorReply => {
    if (name === 'bad_gateway') return writePage(502, 'Bad Gateway');
    if (name === 'timeout') return writePage(504, 'Gateway Time-out');
    if (name === 'too_many_bytes') return writePage(413, 'Request Entity Too Large');
    const form =
      name === 'overflow'
        ? { status: 400, type: 'invalid_request_error', code: 'context_length_exceeded', ...OVERFLOWS[format] }
        : FORMS[name](detail);
    return reply({ ...form, message: detail.message ?? form.message });
  };
}

export function writeOpenAiRefusal(refusal: Refusal): ErrorReply {
  return refusal.status === 413 ? writePage(413, 'Request Entity Too Large') : reply(refusal);
}

function reply({ status, type, message, code = null, param = null }: ErrorForm): ErrorReply {
  return { status, body: { error: { message, type, param, code } } };
}

/** Returns two headers: one with the exact time in ms, and the common one in seconds. */
export function writeOpenAiRetryAfter(ms: number): Readonly<Record<string, string>> {
  return { 'retry-after-ms': String(ms), 'retry-after': String(Math.ceil(ms / 1000)) };
}
