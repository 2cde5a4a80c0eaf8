import { isWholeCount } from './calibration.ts';
import { FRAMING_TOKENS, scaleTokens } from './limits.ts';
import type { Weight } from './message.ts';

/** What a provider reported about the last request, and which part of the log that covers. */
export interface SizeAnchor {
  /** the answer's seq: everything up to it is in `tokens` */
  readonly seq: number;
  /** input with cached tokens included + what of the output is sent again */
  readonly tokens: number;
  /** the log's total up to `seq` */
  readonly total: Weight;
  /** void when the live version is another */
  readonly version: number;
  /** hash of model, system prompt and tools; void when the request's is another */
  readonly setup?: string;
  /** `tokens` was held against our own count before it was recorded; absent: by a worker that recorded what it was told */
  readonly isWhole?: true;
}

/** All that a context's size depends on. Kept in the conversation, so that knowing it costs one read. */
export interface SizeRecord {
  /** the version that was sent */
  readonly version: number;
  /** the live version's segments */
  readonly weight: Weight;
  /** the log's total up to the version's base */
  readonly baseTotal: Weight;
  /** the log's total up to its head */
  readonly headTotal: Weight;
  /** what a provider counted last, where it did */
  readonly anchor?: SizeAnchor;
}

/** What a request holds besides messages, and how far counting is off for its model. */
export interface RequestOverhead extends Weight {
  /** system, pins of the policy and tool schemas, in tokens */
  readonly tokens: number;
  /** of these, the pins */
  readonly pinTokens?: number;
  readonly bytes: number;
  /** provider's figure ÷ ours, clamped; 1 while nothing is known */
  readonly calibration: number;
  /** hash of what else a provider's count depends on: model, system prompt and tools */
  readonly setup?: string;
}

export const NO_OVERHEAD: RequestOverhead = { tokens: 0, bytes: 0, calibration: 1 };

/** Size of the next request: tokens (the mean) and bytes. The same function for backoff, compaction worker and sender. */
export function contextSize(record: SizeRecord, overhead: RequestOverhead): Weight {
  const { anchor, headTotal } = record;
  const bytes = record.weight.bytes + headTotal.bytes - record.baseTotal.bytes + overhead.bytes;
  if (anchor !== undefined && isValid(anchor, record, overhead)) {
    const since = headTotal.tokens - anchor.total.tokens;
    return { tokens: Math.round(anchor.tokens + since * overhead.calibration), bytes };
  }
  return { tokens: Math.round(countUpTo(headTotal, record, overhead) * overhead.calibration), bytes };
}

/** Our own count of a request whose log ends at this total. */
function countUpTo(total: Weight, { weight, baseTotal }: SizeRecord, overhead: RequestOverhead): number {
  return weight.tokens + total.tokens - baseTotal.tokens + overhead.tokens + FRAMING_TOKENS;
}

/** How many pictures an unchecked one covers is not known: where it is low for their sake our own count stands until the next. */
function isValid(anchor: SizeAnchor, record: SizeRecord, overhead: RequestOverhead): boolean {
  if (anchor.version !== record.version || !isOfSetup(anchor, overhead)) return false;
  return anchor.isWhole === true || isWholeCount(anchor.tokens, countUpTo(anchor.total, record, overhead));
}

/** One without a setup was kept before there were any; who does not know its own takes what it finds. */
function isOfSetup({ setup }: SizeAnchor, overhead: RequestOverhead): boolean {
  return setup === undefined || overhead.setup === undefined || setup === overhead.setup;
}

/** What guarantees rest on: never less than what the provider will count. */
export function upperBoundTokens(tokens: number, factor: number): number {
  return Math.ceil(scaleTokens(tokens, factor));
}
