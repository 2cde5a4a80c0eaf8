import type { Dialect } from '../dialect.ts';
import { type Check, findRefusal } from '../refusal.ts';
import { authorizeAnthropic } from './authorize.ts';
import { checkCacheMarks, checkCompactions, checkSize } from './cache-checks.ts';
import { writeAnthropicError, writeAnthropicRefusal } from './errors.ts';
import { checkBlocks, checkBody, checkRoles, checkTexts, checkToolDefinitions } from './form-checks.ts';
import { renderAnthropic } from './render.ts';
import { checkSignatures, checkThinkingConfig, checkThinkingFirst, checkThinkingWhole } from './thinking-checks.ts';
import { checkDefined, checkIds, checkPairs, checkRoleOfTools, checkServerTools } from './tool-checks.ts';

const CHECKS: readonly Check[] = [
  checkBody,
  checkRoles,
  checkCompactions,
  checkBlocks,
  checkCacheMarks,
  checkTexts,
  checkToolDefinitions,
  checkIds,
  checkRoleOfTools,
  checkPairs,
  checkDefined,
  checkServerTools,
  checkThinkingConfig,
  checkThinkingFirst,
  checkThinkingWhole,
  checkSignatures,
  checkSize,
];

export const anthropicDialect: Dialect = {
  format: 'anthropic',
  callPrefix: 'toolu_',
  requestIdHeader: 'request-id',
  authorize: authorizeAnthropic,
  refuse: (body, context) => findRefusal(CHECKS, body, context),
  render: renderAnthropic,
  writeRefusal: writeAnthropicRefusal,
  writeError: writeAnthropicError,
  writeStreamError: ({ body }) => [{ event: 'error', data: body }],
  writeRetryAfter: (ms) => ({ 'retry-after': String(Math.ceil(ms / 1000)) }),
};
