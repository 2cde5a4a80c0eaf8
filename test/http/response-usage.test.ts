import { expect, test } from 'vitest';
import { writeUsage } from '../../src/api/http/responses/response-object.ts';

test.each([
  [{ inputTokens: 10, outputTokens: 2, cachedTokens: 4 }, 4],
  [{ inputTokens: 10, outputTokens: 2 }, 0],
])('the usage of a response reports the cached tokens of its turn: %j', (usage, cached) => {
  expect(writeUsage(usage)).toMatchObject({
    input_tokens: 10,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: 2,
    total_tokens: 12,
  });
});
