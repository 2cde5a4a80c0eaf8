import { z } from 'zod';
import { TurnfoldError } from './errors.ts';
import { type Message, NO_WEIGHT, type Weight } from './message.ts';
import { rawItemsSchema } from './raw-items.ts';

const weightSchema = z.object({
  /** Tokens by our own count. */
  tokens: z.number().nonnegative(),
  /** UTF-8 bytes. */
  bytes: z.number().nonnegative(),
});
const rangeSchema = z.object({ from: z.number().int().min(1), to: z.number().int().min(1) });

/** An inclusive range of seqs. */
export type SeqRange = Readonly<z.infer<typeof rangeSchema>>;

/** Weight: as the context shows the stretch. */
const stretchSchema = rangeSchema.extend({ weight: weightSchema });

/** One stretch of a version: how the seqs `from…to` appear in the context, and their weight there. */
export const segmentSchema = z.discriminatedUnion('kind', [
  stretchSchema.extend({ kind: z.literal('raw') }),
  stretchSchema.extend({
    kind: z.literal('summary'),
    /** Version that introduced the summary. Later versions take the summary over unchanged. */
    version: z.number().int().min(1),
    /** Key of the stored summary. */
    summaryKey: z.string(),
    /** Depth of the summary: 1 for a summary of messages, one more for each level of merged summaries. */
    depth: z.number().int().min(1),
  }),
  /** A stretch whose tool results are masked if they are larger than a mask. The rest is as in the log. */
  stretchSchema.extend({ kind: z.literal('masked') }),
  /** One message that keeps the first and last of its characters. The log has the full text. */
  stretchSchema.extend({ kind: z.literal('clipped'), keepChars: z.number().int().min(0) }),
  /** One message of which some parts stay. The log has the full text. */
  stretchSchema.extend({
    kind: z.literal('excerpt'),
    /** Parts of its text that stay: start and end in UTF-16 units. */
    kept: z.array(z.tuple([z.number().int().min(0), z.number().int().min(0)])),
  }),
  stretchSchema.extend({ kind: z.literal('evicted') }),
]);

export type Segment = z.infer<typeof segmentSchema>;
export type SummarySegment = Extract<Segment, { kind: 'summary' }>;
export type ClippedSegment = Extract<Segment, { kind: 'clipped' }>;
export type ExcerptSegment = Extract<Segment, { kind: 'excerpt' }>;
/** Segment of an item that differs from the log. */
export type ItemSegment = Extract<Segment, { kind: 'summary' | 'masked' | 'clipped' | 'excerpt' }>;

export const versionSchema = z.object({
  /** Number of the version. 0 is the whole log. */
  number: z.number().int().min(0),
  /** Version from which this one was made. Null for the first. */
  parent: z.number().int().min(0).nullable(),
  cause: z.enum(['start', 'pass', 'restore', 'rollback', 'fork']),
  reasons: z.array(z.string()),
  strategy: z.enum(['none', 'trim', 'summarize', 'evict']),
  /** Last seq that the segments cover. They cover 1…base without a gap. Later entries are in the context unchanged. */
  base: z.number().int().min(0),
  /** Treatment of each stretch of the log, in order. */
  segments: z.array(segmentSchema),
  weight: weightSchema,
  /** Weight of the log up to `base`. The weight of everything later is one subtraction. */
  baseTotal: weightSchema,
  policyHash: z.string(),
  systemHash: z.string(),
  toolsHash: z.string(),
  pinsHash: z.string(),
  /** Size of the whole request when the version was made. */
  measuredAt: z.object({
    /** Seq of the last log entry at that time. */
    head: z.number().int(),
    tokens: z.number(),
    /** Bytes of the request. */
    bytes: z.number(),
  }),
  tokensBefore: z.number(),
  /** Tokens of the context after the pass, at the same head. */
  tokensAfter: z.number(),
  /** Messages that this version removed from the context. */
  archived: z.number().int(),
  explained: z.array(z.string()),
  /** True if messages of the retention window were clipped or removed. */
  floorRelaxed: z.boolean(),
  /** Time of the commit in ms since epoch. */
  at: z.number(),
  /** Milliseconds from the request to the commit. */
  durationMs: z.number(),
  /** Model that wrote its summaries. Null if none did. */
  model: z.string().nullable(),
});

export type Version = z.infer<typeof versionSchema>;

/** Version 0, which shows the whole log. It is never stored. */
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

/** Text and origin of a summary. Stored by its key as long as a kept version names that key. */
export const summarySchema = z.object({
  text: z.string().min(1),
  /** Seqs that the summary stands for. */
  covers: rangeSchema,
  /** Keys of the summaries that were merged into this one. */
  sources: z.array(z.string()),
  /** Depth of the summary: 1 if it was made from log messages alone. */
  depth: z.number().int().min(1),
  /** Id of the summarizer that wrote it, e.g. `structural`. */
  model: z.string(),
  /** Items of the provider that wrote it. They replace the text at the start of a request to that model. */
  raw: rawItemsSchema.optional(),
});

export type Summary = z.infer<typeof summarySchema>;

/**
 * One item of a context: a log message (`from` equals `to`) or a summary of the seqs `from…to`. Plans are made over
 * items.
 */
export interface ContextItem extends Weight {
  readonly from: number;
  readonly to: number;
  readonly message: Message;
  /** Segment of the version, if the item differs from the log: a summary, a masked result, a clipped message. */
  readonly segment?: ItemSegment;
  /** True for a summary that the present pass wrote. It is never evicted by that pass (I17). */
  readonly isFresh?: boolean;
  /** Message of the log behind a clipped item, so that the item can be clipped further. */
  readonly logged?: Message;
}

/** Lists the keys of the summaries that a version shows, in their order. */
export function shownKeys({ segments }: Pick<Version, 'segments'>): string[] {
  return segments.flatMap((segment) => (segment.kind === 'summary' ? [segment.summaryKey] : []));
}

/**
 * Checks that a version can be shown at a head. The head must be at or after its base, and in the log.
 * @throws invalid_input
 */
export function checkHead(
  head: number,
  { head: last, version }: { readonly head: number; readonly version: Version },
): void {
  if (Number.isInteger(head) && head >= version.base && head <= last) return;
  throw new TurnfoldError(
    'invalid_input',
    `head: version ${version.number} can be shown at ${version.base}…${last}, not at ${head}`,
    { field: 'head', details: { head, version: version.number, base: version.base, last } },
  );
}

/**
 * Checks that version numbers have no gaps. The predecessor of a version is then always known.
 * @throws conflict
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
  throw new TurnfoldError('conflict', `${field}: ${version.number} does not follow version ${expectedVersion}`, {
    field,
    details: { expectedVersion, number: version.number },
  });
}
