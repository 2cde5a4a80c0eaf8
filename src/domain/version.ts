import { z } from 'zod';
import { boundedList, MAX_GROWN_ENTRIES } from './bounded-schemas.ts';
import { TurnfoldError } from './errors.ts';
import { addWeights, type Message, NO_WEIGHT, type Weight } from './message.ts';
import { rawItemsSchema } from './raw-items.ts';

const weightSchema = z.object({
  /** Tokens, counted by turnfold. */
  tokens: z.number().nonnegative(),
  /** UTF-8 bytes. */
  bytes: z.number().nonnegative(),
});
const rangeSchema = z.object({ from: z.number().int().min(1), to: z.number().int().min(1) });

/** A range of sequence numbers, both ends included. */
export type SeqRange = Readonly<z.infer<typeof rangeSchema>>;

/** A range of messages and its size in the context, which may be smaller than in the log. */
const stretchSchema = rangeSchema.extend({ weight: weightSchema });

const keptRangeSchema = z.tuple([z.number().int().min(0), z.number().int().min(0)]);

/** A kept part of a text: its start, and the position after its end, in UTF-16 units. */
export type KeptRange = Readonly<z.infer<typeof keptRangeSchema>>;

const keptRangesSchema = boundedList(keptRangeSchema, MAX_GROWN_ENTRIES).refine(
  areAscending,
  'expected ranges in ascending order that do not overlap',
);

/** Checks that each range has a length and starts at or after the end of the range before it. */
export function areAscending(ranges: readonly KeptRange[]): boolean {
  return ranges.every(([start, end], index) => start < end && start >= (ranges[index - 1]?.[1] ?? 0));
}

/** How one range of messages appears in a context version, and its size there. */
export const segmentSchema = z.discriminatedUnion('kind', [
  stretchSchema.extend({ kind: z.literal('raw') }),
  stretchSchema.extend({
    kind: z.literal('summary'),
    /** Context version that introduced the summary. Later versions keep the summary unchanged. */
    version: z.number().int().min(1),
    /** Key of the stored summary text. */
    summaryKey: z.string(),
    /** Depth of the summary: 1 for a summary of messages, one more for each level of summaries that it merges. */
    depth: z.number().int().min(1),
  }),
  /**
   * Tool results of this range are replaced by a short placeholder, unless the result is shorter. Other messages are as
   * in the log. With a note, the range is one result, and the placeholder holds the note.
   */
  stretchSchema.extend({
    kind: z.literal('masked'),
    /** Text of the placeholder. Absent if the placeholder names only the message. */
    note: z.string().max(1_000).optional(),
  }),
  /** One message that is shortened to its first and last characters. The log has the full text. */
  stretchSchema.extend({ kind: z.literal('clipped'), keepChars: z.number().int().min(0) }),
  /** One message of which some parts of the text stay. The log has the full text. */
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
/** Segment of a context item that differs from the log. */
export type ItemSegment = Extract<Segment, { kind: 'summary' | 'masked' | 'clipped' | 'excerpt' }>;

export const versionSchema = z.object({
  /** Number of the version. Version 0 is the whole log. */
  number: z.number().int().min(0),
  /** Number of the version that this one was made from. Null for the first. */
  parent: z.number().int().min(0).nullable(),
  cause: z.enum(['start', 'pass', 'restore', 'rollback', 'fork']),
  reasons: boundedList(z.string(), MAX_GROWN_ENTRIES),
  strategy: z.enum(['none', 'trim', 'summarize', 'evict']),
  /**
   * Last sequence number that the segments cover. They cover 1…base without gaps. Later log entries are in the context
   * unchanged.
   */
  base: z.number().int().min(0),
  /** How each range of the log appears in the context, in order. */
  segments: boundedList(segmentSchema, MAX_GROWN_ENTRIES),
  /** Size of the segments, which is the sum of the items of the context. */
  weight: weightSchema,
  /**
   * Size of the user message that rendering puts before a context that starts with another role. Absent if rendering adds
   * none. Older records count it in `weight`.
   */
  placeholder: weightSchema.optional(),
  /** Size of the log up to `base`. Subtracting it from the whole log's size gives the size of all later entries. */
  baseTotal: weightSchema,
  policyHash: z.string(),
  systemHash: z.string(),
  toolsHash: z.string(),
  pinsHash: z.string(),
  /** Size of a whole request at the time when the version was made. */
  measuredAt: z.object({
    /** Sequence number of the last log entry when the version was made. */
    head: z.number().int(),
    tokens: z.number(),
    /** UTF-8 bytes of the request. */
    bytes: z.number(),
  }),
  tokensBefore: z.number(),
  /** Tokens of the context after compaction, with the same log. */
  tokensAfter: z.number(),
  /** Number of messages that this version removed from the context. */
  archived: z.number().int(),
  explained: boundedList(z.string(), MAX_GROWN_ENTRIES),
  /** True if compaction had to clip or remove messages inside `retentionWindow`. */
  floorRelaxed: z.boolean(),
  /** Time of the commit in ms since epoch. */
  at: z.number(),
  /** Milliseconds from the request for compaction to the commit. */
  durationMs: z.number(),
  /** Model that wrote the summaries. Null if no model did. */
  model: z.string().nullable(),
});

export type Version = z.infer<typeof versionSchema>;

/** Returns the size of a version as it is sent, with the placeholder that rendering adds. */
export function weighVersion({ weight, placeholder = NO_WEIGHT }: Pick<Version, 'weight' | 'placeholder'>): Weight {
  return addWeights(weight, placeholder);
}

/** Version 0, which contains the whole log. It is never stored. */
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

/** Text and origin of a summary. The summary is stored by its key for as long as a stored version uses that key. */
export const summarySchema = z.object({
  text: z.string().min(1),
  /** Range of messages that the summary replaces. */
  covers: rangeSchema,
  /** Keys of the older summaries that were merged into this one. */
  sources: boundedList(z.string(), MAX_GROWN_ENTRIES),
  /** Depth of the summary: 1 if it was made only from messages of the log. */
  depth: z.number().int().min(1),
  /** Id of the summarizer that wrote the summary, e.g. `structural` for turnfold's own code. */
  model: z.string(),
  /**
   * Original items of the provider that wrote the summary. They replace its text at the start of a request to that
   * model.
   */
  raw: rawItemsSchema.optional(),
  /** Usage of the model calls for it, as providers counted it. Absent if no model wrote it. */
  usage: z
    .object({
      inputTokens: z.number().nonnegative(),
      outputTokens: z.number().nonnegative(),
      cachedTokens: z.number().nonnegative(),
      /** Price in millionths of a US dollar. 0 if no prices are known. */
      costMicros: z.number().nonnegative(),
    })
    .optional(),
});

export type Summary = z.infer<typeof summarySchema>;

/**
 * One item of a context: a log message (`from` equals `to`) or a summary of the messages `from…to`. Compaction plans
 * are lists of items.
 */
export interface ContextItem extends Weight {
  readonly from: number;
  readonly to: number;
  readonly message: Message;
  /**
   * How the item differs from the log: a summary, a masked tool result or a clipped message. Absent if it does not
   * differ.
   */
  readonly segment?: ItemSegment;
  /** True for a summary that the present compaction pass wrote. The pass never evicts it. */
  readonly isFresh?: boolean;
  /** Original message of a shortened item, so that the item can be shortened further. */
  readonly logged?: Message;
}

/** Lists the keys of the summaries that appear in a context version, in order. */
export function shownKeys({ segments }: Pick<Version, 'segments'>): string[] {
  return segments.flatMap((segment) => (segment.kind === 'summary' ? [segment.summaryKey] : []));
}

/**
 * Checks that a version can be combined with the log up to `head`. `head` must be an existing log entry that the
 * version's segments do not extend beyond.
 * @throws invalid_input if the log has no such entry, or the version covers later entries
 */
export function checkHead(
  head: number,
  { head: last, version }: { readonly head: number; readonly version: Version },
): void {
  if (Number.isInteger(head) && head >= version.base && head <= last) return;
  throw new TurnfoldError(
    'invalid_input',
    `head: must be a log position from ${version.base} to ${last} for context version ${version.number}, got ${head}`,
    { field: 'head', details: { head, version: version.number, base: version.base, last } },
  );
}

/**
 * Checks that version numbers have no gaps, so that the predecessor of each version is known.
 * @throws conflict if a version number is missing
 */
export function checkNumber({
  expectedVersion,
  version,
}: {
  readonly expectedVersion: number;
  readonly version: Pick<Version, 'number'>;
}): void {
  if (version.number === expectedVersion + 1) return;
  const field = 'version.number';
  throw new TurnfoldError(
    'conflict',
    `${field}: version ${version.number} is not the next one after the current version ${expectedVersion}`,
    {
      field,
      details: { expectedVersion, number: version.number },
    },
  );
}
