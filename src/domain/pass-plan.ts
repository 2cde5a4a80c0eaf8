import { z } from 'zod';
import { boundedList, MAX_GROWN_ENTRIES } from './bounded-schemas.ts';
import { REASONS } from './pass.ts';

const tokens = z.number().int().nonnegative();

/** In tokens. The parts besides `fixed` sum up to at most `budget` minus `fixed`. */
export const budgetDivisionSchema = z.object({
  budget: tokens,
  /** System messages, pins, open tool rounds, results that no model has read, and the inputs of the running turn. */
  fixed: tokens,
  users: tokens,
  summaries: tokens,
  tail: tokens,
});

export type BudgetDivision = Readonly<z.infer<typeof budgetDivisionSchema>>;

/**
 * Proof that no context fits: upper bounds of what stays when everything removable is gone. Their sum exceeds `max`,
 * or the bytes exceed their limit (I14).
 */
const budgetInfeasibleSchema = z.object({
  /** System prompt, tools, framing and the placeholder of a first user message. */
  fixed: tokens,
  /** Pinned texts of the policy and pinned messages. */
  pinned: tokens,
  /** Open rounds, rounds with an unread result, the last user message and the inputs of the turn. */
  open: tokens,
  /** Retention window and first user message, if they could not be removed. */
  floor: tokens,
  max: tokens,
  /** Present if the bytes exceed their limit. */
  bytes: z.object({ left: tokens, max: tokens }).optional(),
});

export type BudgetInfeasible = z.infer<typeof budgetInfeasibleSchema>;

const rangeSchema = z.object({ from: z.number().int().min(1), to: z.number().int().min(1) });

/** Plan of a pass, recorded with the pass. Ranges are inclusive, and hold for `version` with the log up to `head`. */
export const passPlanSchema = z.object({
  kind: z.enum(['none', 'trim', 'summarize', 'evict', 'infeasible']),
  reasons: boundedList(z.enum(REASONS), MAX_GROWN_ENTRIES),
  version: z.number().int().min(0),
  head: z.number().int().min(0),
  /** Mean tokens of a request with the context. Not the upper bound. */
  tokens: z.number(),
  sequences: boundedList(
    rangeSchema.extend({
      tokens: z.number(),
      /** Maximum tokens of the summary, including the copied words of users. */
      maxTokens: z.number(),
      /** Part of `maxTokens` for the words of users. */
      userTokens: z.number(),
    }),
    MAX_GROWN_ENTRIES,
  ),
  /** Ranges that the plan expects to evict. The settlement chooses ranges again. */
  evict: boundedList(rangeSchema, MAX_GROWN_ENTRIES),
  shorten: boundedList(rangeSchema, MAX_GROWN_ENTRIES).optional(),
  explained: boundedList(z.string(), MAX_GROWN_ENTRIES),
  /** Absent if no budget is a target, or if drops and masks are enough. */
  division: budgetDivisionSchema.optional(),
  infeasible: budgetInfeasibleSchema.optional(),
});

export type PassPlan = z.infer<typeof passPlanSchema>;
