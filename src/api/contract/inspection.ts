import { z } from 'zod';
import type { CategorySize } from '../../compaction/inspection/breakdown.ts';
import type { Cost } from '../../compaction/inspection/cost.ts';
import type { OutlineEntry } from '../../compaction/inspection/outline.ts';
import type { CompactionReport } from '../../compaction/inspection/report.ts';
import type { NamedThreshold, PlanningPolicy } from '../../domain/request-facts.ts';
import { breakdownSchema, outlineSchema, reportSchema } from './inspection-answers.ts';
import { type ConversationName, versionNumberSchema } from './names.ts';
import { CONVERSATION, limitOf, type Operations } from './operation.ts';

/** Methods of the client that explain a context. */
export interface InspectionMethods {
  /**
   * Returns one page of the log without its texts. Each message has its size, its first characters and its state: live,
   * archived, masked, clipped or summarized. The entry also names the version that gave the message its state.
   */
  outline(conversation: ConversationName, input?: OutlineInput): Promise<Outline>;
  /** Returns what fills the context: its size by category with the largest pieces, the window, and all thresholds. */
  breakdown(conversation: ConversationName, input?: BreakdownInput): Promise<Breakdown>;
  /**
   * Compares a kept version with the context of its parent. The report has each new summary with the identifiers that it
   * kept and lost, and the ranges that left or were shortened.
   */
  report(conversation: ConversationName, version: number, input?: ReportInput): Promise<CompactionReport>;
}

const version = versionNumberSchema.optional().describe('Number of a kept version. Absent: the live one.');

/** Maximum number of entries on a page. An entry takes about 300 bytes. */
const MAX_OUTLINE = 2_000;

export const outlineInputSchema = z.strictObject({
  /** Position (seq) of the entry before the first one to return (0). */
  after: z.number().int().min(0).default(0).describe('Position (seq) behind which the page starts.'),
  /** Maximum number of entries (100, at most 2,000). */
  limit: limitOf(MAX_OUTLINE),
  /** Number of the kept version whose context decides the states. Absent: the live version. */
  version,
});

export type OutlineInput = z.input<typeof outlineInputSchema>;

/** One page of the log without its texts, and what became of each message. */
export interface Outline {
  /** Number of the version that decides the states. */
  readonly version: number;
  /** Position (seq) of the last log entry. */
  readonly head: number;
  /** Messages of the page, oldest first. */
  readonly entries: readonly OutlineEntry[];
  /** Pass this as `after` for the next page. Absent on the last page. */
  readonly next?: number;
}

export const breakdownInputSchema = z.strictObject({
  /** Number of a kept version, shown as of its commit. Absent: the live version, with all later messages. */
  version,
});

export type BreakdownInput = z.input<typeof breakdownInputSchema>;

/** Sizes of the parts of a context, in tokens. */
export interface Breakdown {
  /** Number of the version. 0 is the whole log. */
  readonly version: number;
  /** Position (seq) of the last log entry in the context. */
  readonly head: number;
  /** The context window of the model, and what fills it. */
  readonly window: {
    /** Context window of the model. Absent before the first model call of a worker. */
    readonly maxTokens?: number;
    /** Part of the window that is reserved for the answer. */
    readonly reservedTokens?: number;
    /** Size of a request, counted by turnfold: all categories and the framing. */
    readonly usedTokens: number;
    /** The provider's count of the last request and its answer, and turnfold's count of all later messages. */
    readonly providerTokens?: number;
    /** Free tokens of the window, without the request and the reserve. Prefers the provider's count of the request. */
    readonly freeTokens?: number;
  };
  /** Thresholds of the agent's policy at its last model call, the smallest first. */
  readonly thresholds: readonly NamedThreshold[];
  /** Settings of that policy that change a plan and differ from their defaults. Absent before the first model call. */
  readonly policy?: PlanningPolicy;
  /** Size of a request by the origin of its parts. Every category is present. */
  readonly categories: readonly CategorySize[];
  /** Usage of all settled turns and summaries of the conversation. */
  readonly cost: Cost;
}

export const reportInputSchema = z.strictObject({
  /**
   * Only words that contain this text, in any case of its letters. Ranges that left or were shortened are searched, too.
   * Absent: identifiers of the new summaries and their sources.
   */
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
    summary: 'List messages without their texts, in pages, and what became of each in the context.',
    query: outlineInputSchema,
    answer: outlineSchema,
  },
  breakdown: {
    holdsContext: true,
    method: 'get',
    path: `${CONVERSATION}/breakdown`,
    scope: 'read',
    summary: 'Show what fills the context: window, thresholds, tokens by category, and the cost so far.',
    query: breakdownInputSchema,
    answer: breakdownSchema,
  },
  report: {
    holdsContext: true,
    method: 'get',
    path: `${CONVERSATION}/versions/{version}/report`,
    scope: 'read',
    summary: 'Show what a kept version did: its summaries, and the identifiers that they kept and lost.',
    query: reportInputSchema,
    answer: reportSchema,
  },
} satisfies Operations;
