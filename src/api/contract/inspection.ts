import { z } from 'zod';
import type { CategorySize } from '../../compaction/inspection/breakdown.ts';
import type { Cost } from '../../compaction/inspection/cost.ts';
import { CATEGORIES, ENTRY_STATES } from '../../compaction/inspection/names.ts';
import type { OutlineEntry } from '../../compaction/inspection/outline.ts';
import type { CompactionReport } from '../../compaction/inspection/report.ts';
import { idSchema } from '../../domain/ids.ts';
import { LEAVE_CAUSES } from '../../domain/message.ts';
import {
  type NamedThreshold,
  type PlanningPolicy,
  planningPolicySchema,
  THRESHOLDS,
} from '../../domain/request-facts.ts';
import { type ConversationName, versionNumberSchema } from './names.ts';
import { CONVERSATION, limitOf, type Operations, unboundedList } from './operation.ts';

const seq = z.number().describe('Position in the log, from 1.');

const outlineEntrySchema = z
  .looseObject({
    seq,
    role: z.enum(['system', 'user', 'assistant', 'tool', 'summary']),
    tokens: z.number(),
    bytes: z.number(),
    turn: idSchema.optional().describe('Turn that wrote the message.'),
    at: z.number().describe('Time of the write, in ms since epoch.'),
    start: z.string().describe('First 160 characters of the text, on one line.'),
    calls: unboundedList(z.string()).optional().describe('Names of the called tools.'),
    isError: z.literal(true).optional().describe('Present for the result of a failed tool call.'),
    stopped: z.literal(true).optional().describe('Present if the turn was canceled while the model wrote the message.'),
    thinking: z.literal(true).optional().describe('Present if the message holds thinking of the model.'),
    pinned: z.literal(true).optional().describe('Present if compaction never removes the message.'),
    state: z.enum(ENTRY_STATES).describe('How the context of the version shows the message.'),
    by: z.number().optional().describe('Oldest kept version that shows the message in this way. Absent for `live`.'),
    left: z.enum(LEAVE_CAUSES).optional().describe('Why the message left the context when its turn was settled.'),
  })
  .meta({ id: 'OutlineEntry' });

export const outlineSchema = z
  .looseObject({
    version: z.number().describe('Number of the version that decides the states.'),
    head: z.number().describe('Position (seq) of the last log entry.'),
    entries: unboundedList(outlineEntrySchema),
    next: z.number().optional().describe('Send as `after` for the next page. Absent on the last page.'),
  })
  .meta({ id: 'Outline', description: 'One page of the log without its texts, and what became of each message.' });

export type OutlineEntryAnswer = z.infer<typeof outlineEntrySchema>;
export type OutlineAnswer = z.infer<typeof outlineSchema>;

const costSchema = z.looseObject({
  microdollars: z.number().optional().describe('Price in millionths of a US dollar. Absent if no price is known.'),
  inputTokens: z.number(),
  cachedTokens: z.number().describe('Part of inputTokens that providers read from their caches.'),
  outputTokens: z.number(),
});

export const breakdownSchema = z
  .looseObject({
    version: z.number(),
    head: z.number(),
    window: z.looseObject({
      maxTokens: z.number().optional().describe('Context window of the model. Absent before a worker recorded it.'),
      reservedTokens: z.number().optional().describe('Part of the window that is reserved for the answer.'),
      usedTokens: z
        .number()
        .describe('Tokens of a request, counted by turnfold: the sum of all categories and framing.'),
      providerTokens: z
        .number()
        .optional()
        .describe(
          'Tokens of the last request and answer, counted by the provider, and of all later messages, counted by turnfold.',
        ),
      freeTokens: z.number().optional().describe('Window without reserved and used tokens, at least 0.'),
    }),
    thresholds: unboundedList(
      z.looseObject({
        name: z.enum(THRESHOLDS).describe('Setting of the policy that the threshold follows from.'),
        tokens: z.number(),
      }),
    ),
    policy: planningPolicySchema
      .loose()
      .optional()
      .describe(
        'Settings of the policy at the last model call that change a plan and differ from their defaults. Absent before a worker recorded them.',
      ),
    categories: unboundedList(
      z.looseObject({
        name: z.enum(CATEGORIES),
        tokens: z.number(),
        count: z.number(),
        largest: unboundedList(
          z.looseObject({
            seq: seq.optional(),
            name: z.string().optional().describe('Name of a tool.'),
            tokens: z.number(),
            start: z.string().describe('First 160 characters of the text, on one line.'),
          }),
        ).max(5),
      }),
    ),
    cost: costSchema.describe('Usage of all settled turns and summaries of the conversation.'),
  })
  .meta({ id: 'Breakdown', description: 'Sizes of all that fills the context of a version.' });

export type BreakdownAnswer = z.infer<typeof breakdownSchema>;

const identifiersSchema = unboundedList(
  z.looseObject({ text: z.string(), seq: seq.describe('Last position in the range that holds the identifier.') }),
).describe('The identifiers that the agent most likely needs again come first.');

const identifierFatesSchema = z.looseObject({
  kept: identifiersSchema,
  lost: identifiersSchema,
  keptCount: z.number().describe('Number of all kept identifiers. The list has at most 200 of them.'),
  lostCount: z.number().describe('Number of all lost identifiers. The list has at most 200 of them.'),
});

const reportedRangeSchema = z.looseObject({
  from: seq,
  to: seq,
  identifiers: identifierFatesSchema
    .optional()
    .describe('With `find`: the found words of the range that the context still shows, and those that it lost.'),
});

export const reportSchema = z
  .looseObject({
    version: z.number(),
    parent: z.number().nullable(),
    cause: z.enum(['start', 'pass', 'restore', 'rollback', 'fork']),
    reasons: unboundedList(z.string()),
    at: z.number().describe('Time of the commit, in ms since epoch.'),
    durationMs: z.number().optional().describe('Time from the request for the compaction to its commit.'),
    before: z.looseObject({ messages: z.number(), tokens: z.number() }),
    after: z.looseObject({ messages: z.number(), tokens: z.number() }),
    cost: costSchema.optional().describe('Usage of the model calls that wrote new summaries. Absent if no model did.'),
    parts: unboundedList(
      z.looseObject({
        from: seq,
        to: seq,
        strategy: z.string().describe('Id of the summarizer that wrote the text, e.g. `structural`.'),
        tokens: z.number().describe('Tokens of the summary in the context.'),
        sourceTokens: z.number().describe('Tokens of the replaced messages in the log.'),
        text: z.string(),
        identifiers: identifierFatesSchema,
      }),
    ).describe('Summaries that are new in this version.'),
    evicted: unboundedList(reportedRangeSchema).describe(
      'Ranges that left the context with this version, without a summary.',
    ),
    shortened: unboundedList(reportedRangeSchema).describe('Ranges that this version masked or clipped.'),
  })
  .meta({ id: 'VersionReport', description: 'Differences of a version from the context of its parent.' });

export type ReportAnswer = z.infer<typeof reportSchema>;

export interface InspectionMethods {
  /** Returns one page of the log without its texts: size, first characters and state of each message. */
  outline(conversation: ConversationName, input?: OutlineInput): Promise<Outline>;
  /** Returns what fills the context: sizes by category, the window, and all thresholds. */
  breakdown(conversation: ConversationName, input?: BreakdownInput): Promise<Breakdown>;
  /** Compares a kept version with the context of its parent: new summaries, and ranges that left or were shortened. */
  report(conversation: ConversationName, version: number, input?: ReportInput): Promise<CompactionReport>;
}

const version = versionNumberSchema.optional().describe('Number of a kept version. Absent: the live one.');

/** Entries of one page. An entry takes about 300 bytes. */
const MAX_OUTLINE = 2_000;

export const outlineInputSchema = z.strictObject({
  /** Position (seq) before the first entry (0). */
  after: z.number().int().min(0).default(0).describe('Position (seq) behind which the page starts.'),
  /** Maximum number of entries (100, at most 2,000). */
  limit: limitOf(MAX_OUTLINE),
  /** Version whose context decides the states. Absent: the live one. */
  version,
});

export type OutlineInput = z.input<typeof outlineInputSchema>;

export interface Outline {
  readonly version: number;
  /** Position (seq) of the last log entry. */
  readonly head: number;
  /** Oldest first. */
  readonly entries: readonly OutlineEntry[];
  /** Pass this as `after` for the next page. Absent on the last page. */
  readonly next?: number;
}

export const breakdownInputSchema = z.strictObject({
  /** Version to show, in its state at its commit. Absent: the live version, with all later messages. */
  version,
});

export type BreakdownInput = z.input<typeof breakdownInputSchema>;

export interface Breakdown {
  readonly version: number;
  /** Position (seq) of the last log entry in the context. */
  readonly head: number;
  /** Context window of the model. */
  readonly window: {
    /** Absent before the first model call of a worker. */
    readonly maxTokens?: number;
    /** Part of the window that is reserved for the answer. */
    readonly reservedTokens?: number;
    /** Counted by turnfold: all categories and the framing. */
    readonly usedTokens: number;
    /** The provider's count of the last request and answer, and turnfold's count of all later messages. */
    readonly providerTokens?: number;
    /** Window without the request and the reserve. Prefers the provider's count of the request. */
    readonly freeTokens?: number;
  };
  /** Thresholds at the agent's last model call, the smallest first. */
  readonly thresholds: readonly NamedThreshold[];
  /** Settings that change a plan and differ from their defaults. Absent before the first model call. */
  readonly policy?: PlanningPolicy;
  /** Sizes of the context's parts by their origin. Every category is present. */
  readonly categories: readonly CategorySize[];
  /** Usage of all settled turns and summaries. */
  readonly cost: Cost;
}

export const reportInputSchema = z.strictObject({
  /** Only words that contain this text, in any case. Ranges that left or were shortened are searched, too. */
  find: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('Only words that contain this text. Ranges that left or were shortened are then searched, too.'),
});

export type ReportInput = z.input<typeof reportInputSchema>;

export const inspectionOperations = {
  outline: {
    holdsContext: true,
    method: 'get',
    path: `${CONVERSATION}/outline`,
    scope: 'read',
    command: { none: 'for the page of `turnfold inspect`' },
    errors: ['not_found', 'version_gone'],
    summary: 'List messages without their texts, in pages, and what became of each in the context.',
    query: outlineInputSchema,
    exampleQuery: { limit: 2 },
    answer: outlineSchema,
  },
  breakdown: {
    holdsContext: true,
    method: 'get',
    path: `${CONVERSATION}/breakdown`,
    scope: 'read',
    command: { none: 'for the page of `turnfold inspect`' },
    errors: ['not_found', 'version_gone'],
    summary: 'Show what fills the context: window, thresholds, tokens by category, and the cost so far.',
    query: breakdownInputSchema,
    answer: breakdownSchema,
  },
  report: {
    holdsContext: true,
    method: 'get',
    path: `${CONVERSATION}/versions/{version}/report`,
    scope: 'read',
    command: { none: 'for the page of `turnfold inspect`' },
    errors: ['not_found', 'version_gone'],
    summary: 'Show what a kept version did: its summaries, and the identifiers that they kept and lost.',
    query: reportInputSchema,
    answer: reportSchema,
  },
} satisfies Operations;
