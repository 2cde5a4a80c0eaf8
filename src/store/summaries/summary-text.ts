import type { SummaryRecord } from '../../domain/ports/summary-store.ts';

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

/** Undefined where nothing is known: no text, or a claim. */
export function decodeRecord(text: string | null | undefined): SummaryRecord | undefined {
  if (text === null || text === undefined || text.startsWith(CLAIM_PREFIX)) return undefined;
  return JSON.parse(text) as SummaryRecord;
}
