import type { Dialect } from '../dialect.ts';
import { isObject } from '../json.ts';
import { authorizeOpenAi } from '../openai/authorize.ts';
import { writeOpenAiError, writeOpenAiRefusal, writeOpenAiRetryAfter } from '../openai/errors.ts';
import { checkEncoding, checkTools } from '../openai/shared-checks.ts';
import { type Check, findRefusal } from '../refusal.ts';
import { checkBody, checkMessages, checkSize } from './form-checks.ts';
import { checkCalls, checkOrder, checkPairs, checkReasoning, checkTemplate } from './order-checks.ts';
import { renderChat } from './render.ts';

const CHECKS: readonly Check[] = [
  checkEncoding,
  checkBody,
  checkMessages,
  (body) =>
    checkTools(body, (tool, path) => ({
      definition: isObject(tool['function']) ? tool['function'] : {},
      path: `${path}.function`,
    })),
  checkOrder,
  checkPairs,
  checkCalls,
  checkTemplate,
  checkReasoning,
  checkSize,
];

export const chatDialect: Dialect = {
  format: 'openai-chat',
  callPrefix: 'call_',
  requestIdHeader: 'x-request-id',
  authorize: authorizeOpenAi,
  refuse: (body, context) => findRefusal(CHECKS, body, context),
  render: renderChat,
  writeRefusal: writeOpenAiRefusal,
  writeError: writeOpenAiError('openai-chat'),
  writeStreamError: ({ body }) => [{ data: body }],
  writeRetryAfter: writeOpenAiRetryAfter,
};
