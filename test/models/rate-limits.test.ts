import { expect, test } from 'vitest';
import { readNextCallAt } from '../../src/providers/rate-limits.ts';

const NOW = Date.UTC(2026, 10, 21);

type Case = [name: string, waitMs: number | undefined, headers: Readonly<Record<string, string>>];

/** A proxy that counts in another unit. */
const ENDLESS = '999h';

test.each<Case>([
  ['no headers', undefined, {}],
  ['calls left', undefined, { 'x-ratelimit-remaining-requests': '3', 'x-ratelimit-reset-requests': '20s' }],
  ['no calls left', 20_000, { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '20s' }],
  [
    'no calls of 60 left, which come back one by one',
    1_000,
    {
      'x-ratelimit-limit-requests': '60',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '1m0s',
    },
  ],
  [
    'a date',
    5_000,
    {
      'anthropic-ratelimit-requests-remaining': '0',
      'anthropic-ratelimit-requests-reset': new Date(NOW + 5_000).toISOString(),
    },
  ],
  ['no tokens left', undefined, { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '20s' }],
  ['a reset in the past', undefined, { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '0s' }],
  ['no reset', undefined, { 'x-ratelimit-remaining-requests': '0' }],
  ['texts', undefined, { 'x-ratelimit-remaining-requests': 'none', 'x-ratelimit-reset-requests': 'soon' }],
  ['a long time', 3_600_000, { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': ENDLESS }],
])('response headers with %s allow the next call after %s ms', (_name, waitMs, headers) => {
  const next = readNextCallAt(new Headers(headers), NOW);
  expect(next === undefined ? undefined : next - NOW).toBe(waitMs);
});
