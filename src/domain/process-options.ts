import { z } from 'zod';
import { isPrefix, PREFIX_FORM } from './namespace.ts';

export interface WholeRange {
  readonly least: number;
  readonly most: number;
}

export const PROCESS_RANGES = {
  shards: { least: 1, most: 4_096 },
  queueShards: { least: 1, most: 64 },
  concurrency: { least: 1, most: 1_000 },
  port: { least: 0, most: 65_535 },
  shutdownMs: { least: 1, most: 600_000 },
  stuckMs: { least: 1_000, most: 3_600_000 },
  missingAgentMs: { least: 0, most: 86_400_000 },
  providerWaitMs: { least: 0, most: 2_592_000_000 },
  blockedMs: { least: 0, most: 3_600_000 },
} as const satisfies Readonly<Record<string, WholeRange>>;

export const PROCESS_DEFAULTS = {
  shards: 256,
  queueShards: 1,
  concurrency: { turn: 50, compaction: 10, summarization: 10 },
  shutdownMs: 10_000,
  stuckMs: 60_000,
  missingAgentMs: 600_000,
  providerWaitMs: 86_400_000,
  blockedMs: 60_000,
} as const;

export function describeWholeRange({ least, most }: WholeRange): string {
  return `must be a whole number from ${least} to ${most}`;
}

export function wholeNumber(range: WholeRange): z.ZodNumber {
  const error = describeWholeRange(range);
  return z.number({ error }).int({ error }).min(range.least, { error }).max(range.most, { error });
}

export const prefixSchema = z.string({ error: PREFIX_FORM }).refine(isPrefix, { error: PREFIX_FORM });

/** Schema of a function. The parsed value is the same function, not a copy. */
export const functionSchema = z.custom<(...args: never[]) => unknown>(
  (value) => typeof value === 'function',
  'expected a function',
);
