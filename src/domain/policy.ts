import { z } from 'zod';

const share = z.number().gt(0).lte(1);
const count = z.number().int().min(0);

/** What cannot be written as UTF-8 could not be sent letter by letter. */
const pin = z
  .string()
  .refine((text) => text.trim() !== '', 'expected a text that says something')
  .refine((text) => text.isWellFormed(), 'expected whole characters: half of a surrogate pair cannot be sent');

/** How much of the removable part a cut takes. `min` is the shorter, `max` the longer of its members. */
export type EvictionStrategy =
  | {
      /** share of the removable tokens that goes, oldest first */
      readonly evict: number;
    }
  | {
      /** messages that stay at least */
      readonly retain: number;
    }
  | {
      /** the one that evicts least */
      readonly min: readonly EvictionStrategy[];
    }
  | {
      /** the one that evicts most */
      readonly max: readonly EvictionStrategy[];
    };

/** An anchor of YAML can hold itself; a strategy that does would be read for ever. */
const MAX_STRATEGY_DEPTH = 4;
const strategyError = `expected one of evict, retain, min, max, nested at most ${MAX_STRATEGY_DEPTH} deep`;

function strategySchema(depth: number): z.ZodType<EvictionStrategy> {
  const evict = z.strictObject({ evict: share });
  const retain = z.strictObject({ retain: count });
  if (depth === 0) return z.union([evict, retain], strategyError);
  const members = z.array(strategySchema(depth - 1)).min(1);
  return z.union([evict, retain, z.strictObject({ min: members }), z.strictObject({ max: members })], strategyError);
}

const evictionStrategySchema = strategySchema(MAX_STRATEGY_DEPTH);

const summarizerSchema = z.union([
  /** without a model */
  z.literal('structural'),
  /** the compaction of the agent's own provider, over everything older than the retention window */
  z.literal('native'),
  z.strictObject({
    /** ids of models that the workers know, or `provider/model`; tried in order, the structural summarizer last */
    models: z.array(z.string().min(1)).min(1),
    /** what a record has to take care of besides, in words to the model */
    prompt: z.string().min(1).optional(),
    /** most tokens that a summary may have; with `scope: prefix`, the users' own words have 64 whatever it is */
    maxTokens: z.number().int().min(16).optional(),
  }),
]);

/** What a user may set. Nothing here has a default: a merge must see which fields were set. */
export const policyInputSchema = z.strictObject({
  /** what a pass brings the context down to, in tokens */
  maxTokens: z.number().int().min(1).optional().describe('what a pass brings the context down to, in tokens'),
  /** a pass is wanted from this many tokens */
  tokenThreshold: z.number().int().min(1).optional().describe('a pass is wanted from this many tokens'),
  /** a pass is wanted from this share of the usable window */
  thresholdRatio: share.optional().describe('a pass is wanted from this share of the usable window'),
  /** a turn waits for its pass from this share of the usable window */
  hardRatio: share.optional().describe('a turn waits for its pass from this share of the usable window'),
  /** a pass is wanted after this many turns since the last one */
  turnThreshold: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe('a pass is wanted after this many turns since the last one'),
  /** a pass is wanted after this many messages since the last one */
  messageThreshold: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe('a pass is wanted after this many messages since the last one'),
  /** a pass is wanted after each turn */
  onTurnEnd: z.boolean().optional().describe('a pass is wanted after each turn'),
  /** the last so many messages are not compacted */
  retentionWindow: count.optional().describe('the last so many messages are not compacted'),
  /** what a summary stands for: one for each sequence between user messages, which stay; or one for everything older than the retention window, which takes the users’ texts over */
  scope: z
    .enum(['sequences', 'prefix'])
    .optional()
    .describe(
      'what a summary stands for: one for each sequence between user messages, which stay; or one for everything older than the retention window, which takes the users’ texts over',
    ),
  /** texts that every request holds letter by letter, behind the system prompt; compaction never touches them */
  pins: z
    .array(pin)
    .optional()
    .describe(
      'texts that every request holds letter by letter, behind the system prompt; compaction never touches them',
    ),
  /** how much an eviction takes: evict, a share of the removable tokens; retain, what leaves so many messages */
  strategy: evictionStrategySchema
    .optional()
    .describe(
      'how much an eviction takes: evict, a share of the removable tokens; retain, what leaves so many messages',
    ),
  /** the first user message of the log stays */
  keepFirstUser: z.boolean().optional().describe('the first user message of the log stays'),
  /** old tool results are masked before anything is summarized */
  maskToolResults: z.boolean().optional().describe('old tool results are masked before anything is summarized'),
  /** who writes summaries */
  summarizer: summarizerSchema.optional().describe('who writes summaries'),
  /** a shorter sequence is not summarized */
  minSequenceMessages: z.number().int().min(1).optional().describe('a shorter sequence is not summarized'),
  /** a smaller sequence is not summarized */
  minSequenceTokens: count.optional().describe('a smaller sequence is not summarized'),
  /** a soft pass that gains less than this share of the tokens before it commits nothing */
  minGain: z
    .number()
    .min(0)
    .lt(1)
    .optional()
    .describe('a soft pass that gains less than this share of the tokens before it commits nothing'),
  /** manual: no soft pass; review: a soft pass proposes its version and commits it once somebody approves */
  mode: z
    .enum(['auto', 'manual', 'review'])
    .optional()
    .describe('manual: no soft pass; review: a soft pass proposes its version and commits it once somebody approves'),
  /** ms for which a proposal waits */
  reviewTtl: z.number().int().min(1000).optional().describe('ms for which a proposal waits'),
  /** false: no pass at all */
  enabled: z.boolean().optional().describe('false: no pass at all'),
  // The minimum is what a sweep tells apart. None below 7 d would keep turn ids known for as long as elsewhere: that is weighed by
  // who sets it.
  /** ms for which a conversation may rest (no turn and no pass open, nothing settled, appended, committed, restored or copied) before it is erased, as by `erase`; absent: for ever. A change counts from the next thing that happens in it. Its turn ids are forgotten with it: one that is enqueued once more then runs once more, where else its result is answered for 7 d */
  conversationTtl: z
    .number()
    .int()
    .min(1000)
    .optional()
    .describe(
      'ms for which a conversation may rest (no turn and no pass open, nothing settled, appended, committed, restored or copied) before it is erased, as by `erase`; absent: for ever. A change counts from the next thing that happens in it. Its turn ids are forgotten with it: one that is enqueued once more then runs once more, where else its result is answered for 7 d',
    ),
});

export type PolicyInput = z.infer<typeof policyInputSchema>;

/** A policy with its defaults. What has none stays absent: that trigger is off. */
export type Policy = PolicyInput & typeof POLICY_DEFAULTS;

export const POLICY_DEFAULTS = {
  /** a pass is wanted from this share of the usable window */
  thresholdRatio: 0.85,
  /** a turn waits for its pass from this share of the usable window */
  hardRatio: 0.92,
  /** a pass is wanted after each turn */
  onTurnEnd: false as boolean,
  /** the last so many messages are not compacted */
  retentionWindow: 6,
  /** what a summary stands for: one for each sequence between user messages, which stay; or one for everything older than the retention window, which takes the users’ texts over */
  scope: 'sequences' as NonNullable<PolicyInput['scope']>,
  /** how much an eviction takes: evict, a share of the removable tokens; retain, what leaves so many messages */
  strategy: { min: [{ evict: 0.6 }, { retain: 10 }] } as EvictionStrategy,
  /** texts that every request holds letter by letter, behind the system prompt; compaction never touches them */
  pins: [] as string[],
  /** the first user message of the log stays */
  keepFirstUser: true as boolean,
  /** old tool results are masked before anything is summarized */
  maskToolResults: false as boolean,
  /** who writes summaries */
  summarizer: 'structural' as NonNullable<PolicyInput['summarizer']>,
  /** a shorter sequence is not summarized */
  minSequenceMessages: 2,
  /** a smaller sequence is not summarized */
  minSequenceTokens: 256,
  /** a soft pass that gains less than this share of the tokens before it commits nothing */
  minGain: 0.1,
  /** manual: no soft pass; review: a soft pass proposes its version and commits it once somebody approves */
  mode: 'auto' as NonNullable<PolicyInput['mode']>,
  /** ms for which a proposal waits */
  reviewTtl: 604_800_000,
  /** false: no pass at all */
  enabled: true as boolean,
};

/** A set field wins, an absent one keeps the base's: an agent that sets one field does not silently override the rest. */
export function mergePolicies(base: PolicyInput, ...overrides: readonly PolicyInput[]): PolicyInput {
  return Object.assign({}, base, ...overrides.map(withoutAbsent)) as PolicyInput;
}

export function completePolicy(input: PolicyInput): Policy {
  return { ...POLICY_DEFAULTS, ...withoutAbsent(input) } as Policy;
}

function withoutAbsent(input: PolicyInput): PolicyInput {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
}
