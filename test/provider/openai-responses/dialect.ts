import type { Dialect } from '../dialect.ts';
import { authorizeOpenAi } from '../openai/authorize.ts';
import { writeOpenAiError, writeOpenAiRefusal, writeOpenAiRetryAfter } from '../openai/errors.ts';
import { checkEncoding, checkTools } from '../openai/shared-checks.ts';
import { type Check, findRefusal } from '../refusal.ts';
import { checkBody, checkEnds, checkItems, checkSize } from './form-checks.ts';
import { checkEncrypted, checkPairs, checkReasoning } from './pair-checks.ts';
import { renderCompaction, renderResponse } from './render.ts';
import { streamFailure } from './stream.ts';

const ITEM_CHECKS: readonly Check[] = [
  checkEncoding,
  checkBody,
  checkItems,
  (body) => checkTools(body, (tool, path) => ({ definition: tool, path })),
  checkPairs,
  checkReasoning,
  checkEncrypted,
];

export const responsesDialect: Dialect = {
  format: 'openai-responses',
  callPrefix: 'call_',
  requestIdHeader: 'x-request-id',
  authorize: authorizeOpenAi,
  refuse: (body, context) => findRefusal([...ITEM_CHECKS, checkEnds, checkSize], body, context),
  refusesInStream: ({ code }) => code === 'context_length_exceeded',
  render: renderResponse,
  writeRefusal: writeOpenAiRefusal,
  writeError: writeOpenAiError('openai-responses'),
  writeStreamError: ({ body }) => streamFailure(body),
  writeRetryAfter: writeOpenAiRetryAfter,
};

/** The endpoint `/responses/compact`. It accepts the same items, but the last item may have any role. */
export const compactionDialect: Dialect = {
  ...responsesDialect,
  refuse: (body, context) => findRefusal([...ITEM_CHECKS, checkSize], body, context),
  render: renderCompaction,
};
