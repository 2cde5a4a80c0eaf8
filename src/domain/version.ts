import { z } from 'zod';
import { boundedList, MAX_GROWN_ENTRIES } from './bounded-schemas.ts';
import { fieldError } from './errors.ts';
import { addWeights, type Message, NO_WEIGHT, type Weight } from './message.ts';
import { rawItemsSchema } from './raw-items.ts';

const weightSchema = z.object({
  tokens: z.number().nonnegative(),
  /** UTF-8 bytes. */
  bytes: z.number().nonnegative(),
});
const rangeSchema = z.object({ from: z.number().int().min(1), to: z.number().int().min(1) });

/** Range of log positions, both ends included. */
export type SeqRange = Readonly<z.infer<typeof rangeSchema>>;

/** Range of the log with its size in the context, which may be smaller than its size in the log. */
const stretchSchema = rangeSchema.extend({ weight: weightSchema });

const keptRangeSchema = z.tuple([z.number().int().min(0), z.number().int().min(0)]);

/** Start of a kept text, and the position after its end, in UTF-16 units. */
export type KeptRange = Readonly<z.infer<typeof keptRangeSchema>>;

const keptRangesSchema = boundedList(keptRangeSchema, MAX_GROWN_ENTRIES).refine(
  areAscending,
  'expected ranges in ascending order that do not overlap',
);

export function areAscending(ranges: readonly KeptRange[]): boolean {
  return ranges.every(([start, end], index) => start < end && start >= (ranges[index - 1]?.[1] ?? 0));
}

/** How one range of the log appears in a version, and its size there. */
export const segmentSchema = z.discriminatedUnion('kind', [
  stretchSchema.extend({ kind: z.literal('raw') }),
  stretchSchema.extend({
    kind: z.literal('summary'),
    /** Version that introduced the summary. Later versions keep the summary unchanged. */
    version: z.number().int().min(1),
    /** Key of the stored summary text. */
    summaryKey: z.string(),
    /** 1 for a summary of messages, one more for each level of summaries that it merges. */
    depth: z.number().int().min(1),
  }),
  /** A placeholder replaces each tool result, unless the result is shorter. A range with a note is one result. */
  stretchSchema.extend({
    kind: z.literal('masked'),
    /** Absent if the placeholder names only the message. */
    note: z.string().max(1_000).optional(),
  }),
  /** One message, cut to its first and last characters. The log has the full text. */
  stretchSchema.extend({ kind: z.literal('clipped'), keepChars: z.number().int().min(0) }),
  stretchSchema.extend({
    kind: z.literal('excerpt'),
    /** Start and end of each part of the text that stays, in UTF-16 units. */
    kept: keptRangesSchema,
  }),
  stretchSchema.extend({ kind: z.literal('evicted') }),
]);

export type Segment = z.infer<typeof segmentSchema>;
export type SummarySegment = Extract<Segment, { kind: 'summary' }>;
export type MaskedSegment = Extract<Segment, { kind: 'masked' }>;
export type ClippedSegment = Extract<Segment, { kind: 'clipped' }>;
export type ExcerptSegment = Extract<Segment, { kind: 'excerpt' }>;
export type ItemSegment = Extract<Segment, { kind: 'summary' | 'masked' | 'clipped' | 'excerpt' }>;

export const versionSchema = z.object({
  /** Version 0 is the whole log. */
  number: z.number().int().min(0),
  /** Version that this version changed. Null for version 0. */
  parent: z.number().int().min(0).nullable(),
  cause: z.enum(['start', 'pass', 'restore', 'rollback', 'fork']),
  reasons: boundedList(z.string(), MAX_GROWN_ENTRIES),
  strategy: z.enum(['none', 'trim', 'summarize', 'evict']),
  /** The segments cover 1…base without gaps. Later log entries are in the context unchanged. */
  base: z.number().int().min(0),
  /** Segments in the order of the log. */
  segments: boundedList(segmentSchema, MAX_GROWN_ENTRIES),
  /** Weight of all items of the context. */
  weight: weightSchema,
  /**
   * User message that rendering puts first if the context starts with another role. Older records count it in `weight`.
   */
  placeholder: weightSchema.optional(),
  /** Size of the log up to `base`. The size of all later entries is the difference to the whole log. */
  baseTotal: weightSchema,
  policyHash: z.string(),
  systemHash: z.string(),
  toolsHash: z.string(),
  pinsHash: z.string(),
  /** Size of a whole request when the version was made. */
  measuredAt: z.object({
    /** Seq of the last log entry when the version was made. */
    head: z.number().int(),
    tokens: z.number(),
    /** UTF-8 bytes of the request. */
    bytes: z.number(),
  }),
  tokensBefore: z.number(),
  /** Tokens of the context after the change, with the same log as `tokensBefore`. */
  tokensAfter: z.number(),
  /** Messages that this version removed from the context. */
  archived: z.number().int(),
  explained: boundedList(z.string(), MAX_GROWN_ENTRIES),
  /** Compaction had to clip or remove messages inside `retentionWindow`. */
  floorRelaxed: z.boolean(),
  /** In ms since epoch. */
  at: z.number(),
  /** Ms from the request for compaction until the version was built, without a review. */
  durationMs: z.number(),
  /** Null if no model wrote the summaries. */
  model: z.string().nullable(),
});

export type Version = z.infer<typeof versionSchema>;

/** Weight of a context as sent, with the placeholder that rendering adds. */
export function weighVersion({ weight, placeholder = NO_WEIGHT }: Pick<Version, 'weight' | 'placeholder'>): Weight {
  return addWeights(weight, placeholder);
}

/** The version before any compaction, which is never stored. */
export const START_VERSION: Version = {
  number: 0,
  parent: null,
  cause: 'start',
  reasons: [],
  strategy: 'none',
  base: 0,
  segments: [],
  weight: NO_WEIGHT,
  baseTotal: NO_WEIGHT,
  policyHash: '',
  systemHash: '',
  toolsHash: '',
  pinsHash: '',
  measuredAt: { head: 0, tokens: 0, bytes: 0 },
  tokensBefore: 0,
  tokensAfter: 0,
  archived: 0,
  explained: [],
  floorRelaxed: false,
  at: 0,
  durationMs: 0,
  model: null,
};

/** A summary is stored as long as a stored version uses its key. */
export const summarySchema = z.object({
  text: z.string().min(1),
  covers: rangeSchema,
  /** Keys of the summaries that were merged into this one. */
  sources: boundedList(z.string(), MAX_GROWN_ENTRIES),
  /** 1 if made only from messages of the log. */
  depth: z.number().int().min(1),
  /** `structural` for turnfold's own code. */
  model: z.string(),
  /** Items that a provider wrote. A request to that provider has them instead of the text, if the summary comes first. */
  raw: rawItemsSchema.optional(),
  /** Token usage, counted by providers. Absent if no model wrote the summary. */
  usage: z
    .object({
      inputTokens: z.number().nonnegative(),
      outputTokens: z.number().nonnegative(),
      cachedTokens: z.number().nonnegative(),
      /** Millionths of a US dollar. 0 if no prices are known. */
      costMicros: z.number().nonnegative(),
    })
    .optional(),
});

export type Summary = z.infer<typeof summarySchema>;

/** A log message (`from` equals `to`) or a summary of `from…to`. */
export interface ContextItem extends Weight {
  readonly from: number;
  readonly to: number;
  readonly message: Message;
  /** Absent if the item is as in the log. */
  readonly segment?: ItemSegment;
  /** True for a summary that the present pass wrote, and therefore never evicts. */
  readonly isFresh?: boolean;
  /** Original message of a shortened item, which may be shortened further. */
  readonly logged?: Message;
}

export function shownKeys({ segments }: Pick<Version, 'segments'>): string[] {
  return segments.flatMap((segment) => (segment.kind === 'summary' ? [segment.summaryKey] : []));
}

/** @throws invalid_input if no version can end at this head */
export function checkHead(
  head: number,
  { head: last, version }: { readonly head: number; readonly version: Version },
): void {
  if (Number.isInteger(head) && head >= version.base && head <= last) return;
  throw fieldError(
    'invalid_input',
    'head',
    `must be a log position from ${version.base} to ${last} for context version ${version.number}, got ${head}`,
    { details: { head, version: version.number, base: version.base, last } },
  );
}

/** Numbers have no gaps, so that each version's predecessor is known. @throws conflict if one is missing */
export function checkNumber({
  expectedVersion,
  version,
}: {
  readonly expectedVersion: number;
  readonly version: Pick<Version, 'number'>;
}): void {
  if (version.number === expectedVersion + 1) return;
  const field = 'version.number';
  throw fieldError(
    'conflict',
    field,
    `version ${version.number} is not the next one after the current version ${expectedVersion}`,
    { details: { expectedVersion, number: version.number } },
  );
}
