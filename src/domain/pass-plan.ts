import { z } from 'zod';
import { boundedList, MAX_GROWN_ENTRIES } from './bounded-schemas.ts';
import { REASONS } from './pass.ts';

const tokens = z.number().int().nonnegative();

/** How a token budget is divided. Without the fixed part, the parts sum up to at most what the fixed part leaves. */
export const budgetDivisionSchema = z.object({
  /** Tokens that the messages may have together. */
  budget: tokens,
  /** System messages, pins, open rounds, unread results, and the inputs of the running turn. They come off first. */
  fixed: tokens,
  /** Users' words before the tail. */
  users: tokens,
  /** Summaries of the rest before the tail. */
  summaries: tokens,
  /** Newest messages, which stay verbatim. */
  tail: tokens,
});

export type BudgetDivision = Readonly<z.infer<typeof budgetDivisionSchema>>;

/**
 * Proof that no context fits into `max` tokens. It lists the parts that stay after everything removable is gone, each
 * as an upper bound. Their sum is the size of that request. Either the sum exceeds `max`, or the bytes exceed their
 * limit (I14).
 */
export const budgetInfeasibleSchema = z.object({
  /** System prompt, tools, framing and the placeholder of a first user message. */
  fixed: tokens,
  /** Pinned texts of the policy and pinned messages. */
  pinned: tokens,
  /** Open rounds, rounds with a result that the model has not read, the last user message and the inputs of the turn. */
  open: tokens,
  /** Retention window and first user message, if they could not be removed. */
  floor: tokens,
  max: tokens,
  /** Remaining bytes and their limit, if the bytes exceed it. */
  bytes: z.object({ left: tokens, max: tokens }).optional(),
});

export type BudgetInfeasible = z.infer<typeof budgetInfeasibleSchema>;

const rangeSchema = z.object({ from: z.number().int().min(1), to: z.number().int().min(1) });

/**
 * A plan, in the form that is recorded with its pass. It states the ranges to compact, and the version and head that they
 * refer to. Ranges are inclusive.
 */
export const passPlanSchema = z.object({
  kind: z.enum(['none', 'trim', 'summarize', 'evict', 'infeasible']),
  reasons: boundedList(z.enum(REASONS), MAX_GROWN_ENTRIES),
  version: z.number().int().min(0),
  head: z.number().int().min(0),
  /** Mean tokens of the context. */
  tokens: z.number(),
  /** Ranges to summarize. */
  sequences: boundedList(
    rangeSchema.extend({
      tokens: z.number(),
      /** Most tokens of the summary, with the copied words of users. */
      maxTokens: z.number(),
      /** Tokens among `maxTokens` that are for the words of users, if the range has any. */
      userTokens: z.number(),
    }),
    MAX_GROWN_ENTRIES,
  ),
  evict: boundedList(rangeSchema, MAX_GROWN_ENTRIES),
  /** Ranges whose messages are masked or clipped. Absent if there are none. */
  shorten: boundedList(rangeSchema, MAX_GROWN_ENTRIES).optional(),
  explained: boundedList(z.string(), MAX_GROWN_ENTRIES),
  /** How the budget was divided. Absent if no budget is a target, or if no more than drops and masks is needed. */
  division: budgetDivisionSchema.optional(),
  /** Proof that no context fits the budget, for an infeasible plan. */
  infeasible: budgetInfeasibleSchema.optional(),
});

export type PassPlan = z.infer<typeof passPlanSchema>;
