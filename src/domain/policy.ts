import { z } from 'zod';
import { boundedList } from './bounded-schemas.ts';
import { evictionStrategySchema } from './eviction-strategy.ts';
import { modelOptionsSchema } from './model-options.ts';

const CACHE_TTLS = ['5m', '1h'] as const;
export type CacheTtl = (typeof CACHE_TTLS)[number];

const share = z.number().gt(0).lte(1);
const count = z.number().int().min(0);

/** Half of a surrogate pair has no UTF-8 form, and could not be sent unchanged. */
const pin = z
  .string()
  .refine((text) => text.trim() !== '', 'must contain more than blanks')
  .refine(
    (text) => text.isWellFormed(),
    'contains half of a surrogate pair, which cannot be sent. Use whole characters',
  );

/** The API key stays in the environment, because policies are stored and shown. */
const policyModelSchema = modelOptionsSchema.extend({
  /** `provider/model`. */
  model: z.string().min(1),
  /** Address of a gateway or a compatible server. Default: the server of the provider. */
  baseUrl: z
    .url({ protocol: /^https?$/, error: 'expected an address that begins with http:// or https://' })
    .optional(),
  /** Environment variable that holds the API key. */
  apiKeyVariable: z
    .string()
    .regex(/^[A-Z][A-Z0-9_]{0,99}$/, 'expected the name of an environment variable')
    .optional(),
});

export type PolicyModel = z.infer<typeof policyModelSchema>;

const summarizerSchema = z.union([
  /** turnfold's own code, without a model. */
  z.literal('structural'),
  /** The provider of the agent's model compacts everything older than the retention window. */
  z.literal('native'),
  z.strictObject({
    /** Ids of configured models, `provider/model`, or objects. Tried in order. If all fail, code writes the summary. */
    models: boundedList(z.union([z.string().min(1), policyModelSchema]), 100).min(1),
    prompt: z.string().min(1).optional(),
    /** Maximum tokens of a summary, without the copied words of users. */
    maxTokens: z.number().int().min(16).optional(),
    /**
     * Ms to wait for a sign of the model. A model that keeps sending also gets the time that its output limit needs.
     */
    callTimeout: z.number().int().min(1_000).max(3_600_000).optional(),
  }),
]);

const budgetSharesSchema = z
  .strictObject({
    /** Share of the budget for words of users that are older than the latest messages. */
    users: z.number().min(0).max(1),
    /** Share of the budget for summaries. */
    summaries: z.number().min(0).max(1),
  })
  .refine(({ users, summaries }) => users + summaries <= 1, 'users + summaries must be at most 1');

export const policyInputSchema = z.strictObject({
  /** Tokens to which compaction reduces the context. */
  maxTokens: z.number().int().min(1).optional().describe('Number of tokens to which compaction reduces the context.'),
  /** Tokens of the context at which compaction is requested. */
  tokenThreshold: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe('Number of tokens of the context at which compaction is requested.'),
  /** Share of the usable window at which compaction is requested. */
  thresholdRatio: share.optional().describe('Share of the usable window at which compaction is requested.'),
  /** Share of the usable window at which a turn must wait for compaction. */
  hardRatio: share.optional().describe('Share of the usable window at which a turn must wait for compaction.'),
  /** Number of turns since the last compaction after which another compaction is requested. */
  turnThreshold: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe('Number of turns since the last compaction after which the next one is requested.'),
  /** Number of messages since the last compaction after which another compaction is requested. */
  messageThreshold: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe('Number of messages since the last compaction after which the next one is requested.'),
  /** Requests compaction after each turn. */
  onTurnEnd: z.boolean().optional().describe('Requests compaction after each turn.'),
  /** Latest messages that compaction leaves unchanged. */
  retentionWindow: count.optional().describe('Number of latest messages that compaction leaves unchanged.'),
  /** `sequences` summarizes between user messages, which stay, and `prefix` everything before `retentionWindow`. */
  scope: z
    .enum(['sequences', 'prefix'])
    .optional()
    .describe(
      'Messages that one summary replaces. `sequences`: the agent’s messages between two user messages, which stay. `prefix`: everything older than `retentionWindow`, with the users’ texts copied into the summary. Leave it out: the summarizer determines it.',
    ),
  /** Share of the budget for an unchanged start of the context, which the provider reads from its cache. */
  keepPrefix: z
    .number()
    .min(0)
    .max(0.8)
    .optional()
    .describe(
      'Share of the budget for the start of the context, which compaction then leaves unchanged, so that the provider reads it from its cache. A larger share makes requests cheaper, and leaves less for what the agent needs next.',
    ),
  /** Shares of the budget that fixed messages leave. The latest messages get what these shares leave. */
  budgetShares: budgetSharesSchema
    .optional()
    .describe(
      'Shares of the budget that users’ words and summaries may have, of what fixed messages leave. The latest messages have the rest, and what the others do not need.',
    ),
  /** Texts that follow the system prompt in every request. Compaction never changes them. */
  pins: boundedList(pin, 1_000)
    .optional()
    .describe('Texts that follow the system prompt in every request. Compaction never changes them.'),
  strategy: evictionStrategySchema
    .optional()
    .describe(
      'How much to remove without a summary. `evict`: share of the removable tokens. `retain`: number of messages that stay. `min` and `max` choose the smaller or larger removal of several strategies.',
    ),
  /** Keeps the first user message of the conversation in the context. */
  keepFirstUser: z.boolean().optional().describe('Keeps the first user message of the conversation in the context.'),
  /** Replaces old tool results by short placeholders before anything is summarized. */
  maskToolResults: z
    .boolean()
    .optional()
    .describe('Replaces old tool results by short placeholders before anything is summarized.'),
  /** Author of summaries: turnfold’s code (`structural`), the agent’s provider (`native`), or a list of models. */
  summarizer: summarizerSchema
    .optional()
    .describe(
      'Author of summaries. `structural`: turnfold’s code, without a model. `native`: the agent’s own provider. Or a list of models, tried in order.',
    ),
  /** Fewer messages than this between two user messages are not summarized. */
  minSequenceMessages: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe('Fewer messages than this between two user messages are not summarized.'),
  /** Messages between two user messages with fewer tokens than this are not summarized. */
  minSequenceTokens: count
    .optional()
    .describe('Messages between two user messages with fewer tokens than this are not summarized.'),
  /** Share of the context’s tokens that a soft compaction must save. If it would save less, it changes nothing. */
  minGain: z
    .number()
    .min(0)
    .lt(1)
    .optional()
    .describe(
      'Share of the context’s tokens that a soft compaction must save. If it would save less, it changes nothing.',
    ),
  /** Soft compaction commits (`auto`), is off (`manual`), or commits after a person approves (`review`). */
  mode: z
    .enum(['auto', 'manual', 'review'])
    .optional()
    .describe(
      'Handling of soft compaction, for which turns need not wait. `auto`: it commits. `manual`: it is off. `review`: it commits after a person approves its proposal.',
    ),
  /** Milliseconds for which a proposal under `mode: review` waits for a decision. */
  reviewTtl: z
    .number()
    .int()
    .min(1000)
    .optional()
    .describe('Milliseconds for which a proposal under `mode: review` waits for a decision.'),
  /** Keeps the start of a request in the prompt cache. `1h` costs more to write, and pays off beyond five minutes. */
  cacheTtl: z
    .enum(CACHE_TTLS)
    .optional()
    .describe(
      'Time for which a provider keeps the start of a request in its prompt cache, if it offers a choice. `1h` costs more to write, and pays off if turns are more than five minutes apart.',
    ),
  enabled: z.boolean().optional().describe('False switches all compaction off.'),
  // Sweeps look for idle conversations every four seconds, so a shorter TTL has no use. Below 7 d, it also shortens how
  // long turn ids are known.
  /**
   * Ms without activity until a conversation is erased, as by `erase`. Open turns, passes and writes are activity. A
   * change takes effect with the next write. After an erase, a repeated turn id runs again.
   */
  conversationTtl: z
    .number()
    .int()
    .min(1000)
    .optional()
    .describe('Milliseconds without activity after which a conversation is erased, as by `erase`. Absent: never.'),
});

export type PolicyInput = z.infer<typeof policyInputSchema>;

/** Without `maxTokens`, a pass aims at half of the usable window. */
type SettingWithoutDefault = 'maxTokens' | 'tokenThreshold' | 'turnThreshold' | 'messageThreshold' | 'conversationTtl';

type Present<Settings> = { readonly [Name in keyof Settings]-?: NonNullable<Settings[Name]> };

export const POLICY_DEFAULTS: Present<Omit<PolicyInput, SettingWithoutDefault>> = {
  thresholdRatio: 0.85,
  hardRatio: 0.92,
  onTurnEnd: false,
  retentionWindow: 6,
  scope: 'sequences',
  keepPrefix: 0,
  strategy: { min: [{ evict: 0.6 }, { retain: 10 }] },
  budgetShares: { users: 0.2, summaries: 0.6 },
  pins: [],
  keepFirstUser: true,
  maskToolResults: false,
  summarizer: 'structural',
  minSequenceMessages: 2,
  minSequenceTokens: 256,
  minGain: 0.1,
  mode: 'auto',
  reviewTtl: 604_800_000,
  cacheTtl: '5m',
  enabled: true,
};

export type Policy = PolicyInput & typeof POLICY_DEFAULTS;

/** An absent setting of an override keeps the base's value. */
export function mergePolicies(base: PolicyInput, ...overrides: readonly PolicyInput[]): PolicyInput {
  return Object.assign({}, base, ...overrides.map(withoutAbsent)) as PolicyInput;
}

/** A provider compacts only the start of a context, so a policy with its compaction needs no `scope`. */
export function completePolicy(input: PolicyInput): Policy {
  const ofProvider: PolicyInput = input.summarizer === 'native' ? { scope: 'prefix' } : {};
  return { ...POLICY_DEFAULTS, ...ofProvider, ...withoutAbsent(input) } as Policy;
}

function withoutAbsent(input: PolicyInput): PolicyInput {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
}

/** A conversation that stays idle this long is erased. Carried by writes. */
export interface IdleTtl {
  /** In ms. 0: no limit. Absent if the writer has no policy: the last value stays. */
  readonly conversationTtl?: number | undefined;
}

export function idleTtlOf(policy: Policy | undefined): IdleTtl {
  return policy === undefined ? {} : { conversationTtl: policy.conversationTtl ?? 0 };
}
