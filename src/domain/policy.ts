import { z } from 'zod';

const share = z.number().gt(0).lte(1);
const count = z.number().int().min(0);

/** A text of every request. A lone surrogate has no UTF-8 form and could not be sent unchanged. */
const pin = z
  .string()
  .refine((text) => text.trim() !== '', 'expected a text that says something')
  .refine((text) => text.isWellFormed(), 'expected whole characters: half of a surrogate pair cannot be sent');

/** Extent of an eviction. `min` takes the least that one of its members would evict, `max` the most. */
export type EvictionStrategy =
  | {
      /** Share of the removable tokens that is evicted, oldest first. */
      readonly evict: number;
    }
  | {
      /** Messages that stay at least. */
      readonly retain: number;
    }
  | {
      /** Strategies of which the least eviction is taken. */
      readonly min: readonly EvictionStrategy[];
    }
  | {
      /** Strategies of which the largest eviction is taken. */
      readonly max: readonly EvictionStrategy[];
    };

/** Nesting of strategies. A YAML anchor can contain itself, and such a strategy would be read for ever. */
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
  /** Written by code, without a model. */
  z.literal('structural'),
  /** The compaction of the agent's own provider, over everything older than the retention window. */
  z.literal('native'),
  z.strictObject({
    /**
     * Ids of models that the workers know, or `provider/model`. They are tried in order, the structural summarizer
     * last.
     */
    models: z.array(z.string().min(1)).min(1),
    prompt: z.string().min(1).optional(),
    /** Tokens that a summary may have. With `scope: prefix`, the users' own words have at least 64. */
    maxTokens: z.number().int().min(16).optional(),
  }),
]);

/** Settings of a user. No setting has a default here, because a merge must see which ones were set. */
export const policyInputSchema = z.strictObject({
  /** Size in tokens to which a pass reduces the context. */
  maxTokens: z.number().int().min(1).optional().describe('Size in tokens to which a pass reduces the context.'),
  /** Size in tokens from which a pass is requested. */
  tokenThreshold: z.number().int().min(1).optional().describe('Size in tokens from which a pass is requested.'),
  /** Share of the usable window from which a pass is requested. */
  thresholdRatio: share.optional().describe('Share of the usable window from which a pass is requested.'),
  /** Share of the usable window from which a turn waits for its pass. */
  hardRatio: share.optional().describe('Share of the usable window from which a turn waits for its pass.'),
  /** Turns since the last pass after which a pass is requested. */
  turnThreshold: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe('Turns since the last pass after which a pass is requested.'),
  /** Messages since the last pass after which a pass is requested. */
  messageThreshold: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe('Messages since the last pass after which a pass is requested.'),
  /** Request for a pass after each turn. */
  onTurnEnd: z.boolean().optional().describe('Request for a pass after each turn.'),
  /** Number of latest messages that are not compacted. */
  retentionWindow: count.optional().describe('Number of latest messages that are not compacted.'),
  /**
   * Range of a summary. `sequences`: one sequence between user messages, which stay. `prefix`: everything older than
   * the retention window, with the users’ texts copied into the summary.
   */
  scope: z
    .enum(['sequences', 'prefix'])
    .optional()
    .describe(
      'Range of a summary. `sequences`: one sequence between user messages, which stay. `prefix`: everything older than the retention window, with the users’ texts copied into the summary.',
    ),
  /** Texts that every request contains byte for byte after the system prompt. Compaction never changes them. */
  pins: z
    .array(pin)
    .optional()
    .describe(
      'Texts that every request contains byte for byte after the system prompt. Compaction never changes them.',
    ),
  /**
   * Extent of an eviction. `evict`: share of the removable tokens that goes. `retain`: number of messages that stay.
   * `min` and `max` combine strategies.
   */
  strategy: evictionStrategySchema
    .optional()
    .describe(
      'Extent of an eviction. `evict`: share of the removable tokens that goes. `retain`: number of messages that stay. `min` and `max` combine strategies.',
    ),
  /** Protection of the first user message of the log. */
  keepFirstUser: z.boolean().optional().describe('Protection of the first user message of the log.'),
  /** Masking of old tool results before anything is summarized. */
  maskToolResults: z.boolean().optional().describe('Masking of old tool results before anything is summarized.'),
  /** Author of summaries: `structural` (code), `native` (the agent’s own provider) or a list of models. */
  summarizer: summarizerSchema
    .optional()
    .describe('Author of summaries: `structural` (code), `native` (the agent’s own provider) or a list of models.'),
  /** Messages below which a sequence is not summarized. */
  minSequenceMessages: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe('Messages below which a sequence is not summarized.'),
  /** Tokens below which a sequence is not summarized. */
  minSequenceTokens: count.optional().describe('Tokens below which a sequence is not summarized.'),
  /** Share of the tokens that a soft pass must gain. A pass with a smaller gain commits nothing. */
  minGain: z
    .number()
    .min(0)
    .lt(1)
    .optional()
    .describe('Share of the tokens that a soft pass must gain. A pass with a smaller gain commits nothing.'),
  /**
   * Handling of soft passes. `auto`: they commit. `manual`: they are off. `review`: they propose a version and commit
   * it once a person approves.
   */
  mode: z
    .enum(['auto', 'manual', 'review'])
    .optional()
    .describe(
      'Handling of soft passes. `auto`: they commit. `manual`: they are off. `review`: they propose a version and commit it once a person approves.',
    ),
  /** Milliseconds for which a proposal stays open. */
  reviewTtl: z.number().int().min(1000).optional().describe('Milliseconds for which a proposal stays open.'),
  enabled: z.boolean().optional().describe('Switch for all passes.'),
  // The minimum is the resolution of a sweep. A TTL below 7 d also shortens how long turn ids are known.
  /**
   * Idle TTL in milliseconds: an idle conversation is erased after it, as by `erase`. Absent: never. Open turns, open
   * passes and writes keep a conversation from being idle. A change takes effect with the conversation’s next write.
   * An erase also forgets turn ids, so a repeated id runs again. Without an erase, a repeated id returns its result
   * for 7 d.
   */
  conversationTtl: z
    .number()
    .int()
    .min(1000)
    .optional()
    .describe('Idle TTL in milliseconds: an idle conversation is erased after it, as by `erase`. Absent: never.'),
});

export type PolicyInput = z.infer<typeof policyInputSchema>;

/** Settings without a default. An absent one switches its trigger off. */
type SettingWithoutDefault = 'maxTokens' | 'tokenThreshold' | 'turnThreshold' | 'messageThreshold' | 'conversationTtl';

type Present<Settings> = { readonly [Name in keyof Settings]-?: NonNullable<Settings[Name]> };

export const POLICY_DEFAULTS: Present<Omit<PolicyInput, SettingWithoutDefault>> = {
  thresholdRatio: 0.85,
  hardRatio: 0.92,
  onTurnEnd: false,
  retentionWindow: 6,
  scope: 'sequences',
  strategy: { min: [{ evict: 0.6 }, { retain: 10 }] },
  pins: [],
  keepFirstUser: true,
  maskToolResults: false,
  summarizer: 'structural',
  minSequenceMessages: 2,
  minSequenceTokens: 256,
  minGain: 0.1,
  mode: 'auto',
  reviewTtl: 604_800_000,
  enabled: true,
};

/** A policy with its defaults. */
export type Policy = PolicyInput & typeof POLICY_DEFAULTS;

/** Merges policies. A set field overrides the base, an absent field keeps the base's value. */
export function mergePolicies(base: PolicyInput, ...overrides: readonly PolicyInput[]): PolicyInput {
  return Object.assign({}, base, ...overrides.map(withoutAbsent)) as PolicyInput;
}

export function completePolicy(input: PolicyInput): Policy {
  return { ...POLICY_DEFAULTS, ...withoutAbsent(input) } as Policy;
}

function withoutAbsent(input: PolicyInput): PolicyInput {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
}

/** Idle TTL carried by a write. A conversation that stays idle this long is erased. */
export interface IdleTtl {
  /** Milliseconds by the policy. 0 means no limit. Absent if the writer has no policy: the last value stays. */
  readonly conversationTtl?: number | undefined;
}

export function idleTtlOf(policy: Policy | undefined): IdleTtl {
  return policy === undefined ? {} : { conversationTtl: policy.conversationTtl ?? 0 };
}
