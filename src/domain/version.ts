import { z } from 'zod';
import { TurnfoldError } from './errors.ts';
import { NO_WEIGHT } from './message.ts';
import { rawItemsSchema } from './raw-items.ts';

const weightSchema = z.object({
  /** by our own count */ tokens: z.number().nonnegative(),
  /** of UTF-8 */ bytes: z.number().nonnegative(),
});
const rangeSchema = z.object({
  /** first seq */ from: z.number().int().min(1),
  /** last seq */ to: z.number().int().min(1),
});

/** An inclusive range of seqs. */
export interface SeqRange {
  readonly from: number;
  readonly to: number;
}

/**
 * One stretch of a version: how seqs `from…to` appear in the context, and what they weigh there. `text` is the key of the
 * text under `txt:`.
 */
export const segmentSchema = z.discriminatedUnion('kind', [
  rangeSchema.extend({
    kind: z.literal('raw'),
    /** what it weighs in the context */
    weight: weightSchema,
  }),
  rangeSchema.extend({
    kind: z.literal('summary'),
    /** the version that put it there; later ones take it over as it is */
    version: z.number().int().min(1),
    /** what it weighs in the context */
    weight: weightSchema,
    /** key of the summary's text */
    text: z.string(),
    /** 1 for a summary of messages; one more for each summary that it was made of */
    depth: z.number().int().min(1),
  }),
  /** tool results larger than a mask are masked, whatever else stands there is as in the log */
  rangeSchema.extend({
    kind: z.literal('masked'),
    /** what it weighs in the context */
    weight: weightSchema,
  }),
  /** one message of which so many characters stay; its text follows from the log */
  rangeSchema.extend({
    kind: z.literal('clipped'),
    /** what it weighs in the context */ weight: weightSchema,
    /** characters that stay */ keepChars: z.number().int().min(0),
  }),
  rangeSchema.extend({
    kind: z.literal('evicted'),
    /** what it weighs in the context */
    weight: weightSchema,
  }),
]);

export type Segment = z.infer<typeof segmentSchema>;
export type SummarySegment = Extract<Segment, { kind: 'summary' }>;
export type ClippedSegment = Extract<Segment, { kind: 'clipped' }>;
/** How an item of a context stands there, where not as in the log. */
export type ItemSegment = Extract<Segment, { kind: 'summary' | 'masked' | 'clipped' }>;

export const versionSchema = z.object({
  /** its number; 0 is the whole log */
  number: z.number().int().min(0),
  /** the version that this one was made from; null for the first */
  parent: z.number().int().min(0).nullable(),
  /** what made it */
  cause: z.enum(['start', 'pass', 'restore', 'rollback', 'fork']),
  /** why the pass was asked for */
  reasons: z.array(z.string()),
  /** what the pass did */
  strategy: z.enum(['none', 'trim', 'summarize', 'evict']),
  /** segments cover seqs 1…base without a gap; every log entry after base is in the context as it is */
  base: z.number().int().min(0),
  /** what became of each stretch of the log, in order */
  segments: z.array(segmentSchema),
  /** sum of the segments */
  weight: weightSchema,
  /** the log's total up to base, so that what came after it is one subtraction */
  baseTotal: weightSchema,
  /** of the policy that it was made under */
  policyHash: z.string(),
  /** of the system prompt that it was made under */
  systemHash: z.string(),
  /** of the tools that it was made under */
  toolsHash: z.string(),
  /** of the policy's pinned texts */
  pinsHash: z.string(),
  /** context size in tokens before and after the pass, both at the head it was settled at */
  measuredAt: z.object({
    /** the log's end when it was made */ head: z.number().int(),
    /** of the whole request then */ tokens: z.number(),
    /** of the whole request then */ bytes: z.number(),
  }),
  /** size of the context before */
  tokensBefore: z.number(),
  /** size of the context after */
  tokensAfter: z.number(),
  /** messages that this version took out of the context */
  archived: z.number().int(),
  /** why it is as it is, by code */
  explained: z.array(z.string()),
  /** the last messages were clipped or removed, too */
  floorRelaxed: z.boolean(),
  /** ms since epoch */
  at: z.number(),
  /** ms from the request to the commit */
  durationMs: z.number(),
  /** who wrote its summaries; null where nobody did */
  model: z.string().nullable(),
});

export type Version = z.infer<typeof versionSchema>;

/** Version 0: nothing compacted, the whole log is the context. It is never stored. */
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

/** What a summary says and where it comes from. Stored under `txt:` for as long as a kept version shows it. */
export const summarySchema = z.object({
  text: z.string().min(1),
  /** the seqs it stands for */
  covers: rangeSchema,
  /** keys of the summaries that were merged into this one */
  sources: z.array(z.string()),
  /** 1 when derived from log messages alone */
  depth: z.number().int().min(1),
  /** which summarizer wrote it, e.g. `structural` */
  model: z.string(),
  /** where a provider wrote it: its own items, sent in place of the text where they open a request of that model */
  raw: rawItemsSchema.optional(),
});

export type Summary = z.infer<typeof summarySchema>;

/** Keys of the summaries that a version shows, in their order. */
export function shownKeys({ segments }: Pick<Version, 'segments'>): string[] {
  return segments.flatMap((segment) => (segment.kind === 'summary' ? [segment.text] : []));
}

/**
 * A version describes seqs up to its base: it cannot be shown at a head before that, nor behind the log's end.
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
 * Version numbers have no gaps, so that the one before a version is always known.
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
