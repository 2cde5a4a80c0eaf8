import { z } from 'zod';
import type { SummaryRecord } from '../../domain/ports/summary-store.ts';
import { summarySchema } from '../../domain/version.ts';
import { readJson } from '../record-fields.ts';

/** What claims and records begin with, so that a script tells them apart without reading JSON. */
export const CLAIM_PREFIX = '{"status":"claimed"';
export const ACCEPTED_PREFIX = '{"status":"accepted"';

/** A claim as it lies under `sum:`; one owner's is always the same text. */
export function encodeClaim(owner: string): string {
  return JSON.stringify({ status: 'claimed', owner });
}

/** A record as it lies under `sum:`, its status first. */
export function encodeRecord(record: SummaryRecord): string {
  const { status, ...rest } = record;
  return JSON.stringify({ status, ...rest });
}

const weightSchema = z.object({ tokens: z.number().nonnegative(), bytes: z.number().nonnegative() });
const recordSchema: z.ZodType<SummaryRecord> = z.discriminatedUnion('status', [
  z.object({ status: z.literal('accepted'), summary: summarySchema, weight: weightSchema }),
  z.object({ status: z.literal('refused'), why: z.string() }),
]);

/**
 * Undefined where nothing is known: no text, or a claim.
 * @param key where it lies
 */
export function decodeRecord(text: string | null | undefined, key: string): SummaryRecord | undefined {
  if (text === null || text === undefined || text.startsWith(CLAIM_PREFIX)) return undefined;
  return readJson({ key, field: '' }, text, recordSchema);
}
