import { z } from 'zod';
import type { VersionChange } from '../../compaction/diff.ts';
import { boundedRecord } from '../../domain/bounded-schemas.ts';
import { idSchema } from '../../domain/ids.ts';
import { REASONS, type Reason } from '../../domain/pass.ts';
import { MAX_POLICY_SETTINGS } from '../../domain/policy-input.ts';
import { type SeqRange, type Version, versionSchema } from '../../domain/version.ts';
import { type ConversationName, versionNumberSchema } from './names.ts';
import { CONVERSATION, type Operations, TURN, unboundedList } from './operation.ts';

export interface VersionMethods {
  /**
   * Requests a compaction now, even below every threshold. A context that has at most the policy's `maxTokens` (half of
   * usable) stays as it is: the pass then ends with the outcome `none`. Returns the id of the pass.
   */
  compact(conversation: ConversationName): Promise<string>;
  /** Plans a compaction under a policy. Calls no model and changes nothing. */
  plan(conversation: ConversationName, input?: DryRunInput): Promise<DryPlan>;
  /** Lists kept versions, oldest first. */
  versions(conversation: ConversationName): Promise<Version[]>;
  /** Lists changes between the contexts of two kept versions. Version 0 is the whole log. */
  diff(conversation: ConversationName, before: number, after: number): Promise<VersionChange[]>;
  /** Makes a kept version the live context again. Newer messages are kept or dropped. */
  restore(conversation: ConversationName, input: RestoreInput): Promise<Version>;
  /** Restores the context that was live before a settled turn. */
  rollBackTurn(conversation: ConversationName, turn: string, input?: RollbackInput): Promise<Version>;
}

export const dryRunSchema = z.strictObject({
  policy: boundedRecord(z.string(), z.unknown(), MAX_POLICY_SETTINGS).default({}),
});

export interface DryRunInput {
  /** Policy as in docs/reference/policy.md. Absent settings are those that a worker recorded, or their defaults. */
  readonly policy?: Readonly<Record<string, unknown>>;
}

/** Ranges and positions refer to the log. */
export interface DryPlan {
  /** `trim` only masks and drops. `infeasible`: no context fits the budget. */
  readonly kind: 'none' | 'trim' | 'summarize' | 'evict' | 'infeasible';
  /** Thresholds that the context reaches. */
  readonly reasons: readonly Reason[];
  readonly tokens: number;
  /** An estimate. Each summary counts with its largest size. */
  readonly tokensAfter: number;
  /** Number of messages in the context. */
  readonly messages: number;
  /** Ranges that would become summaries. */
  readonly summarize: readonly SeqRange[];
  /** Ranges that would leave the context. */
  readonly evict: readonly SeqRange[];
  /** Ranges whose messages would be masked or clipped. */
  readonly mask: readonly SeqRange[];
  /** Positions that no soft compaction removes. A summary has the position of its first message. */
  readonly protected: readonly number[];
}

export const rollbackSchema = z.strictObject({
  /** Id that makes the call repeatable. A repeated call changes nothing. */
  operation: idSchema.optional(),
  /** A restored context with this many tokens or more is refused with `over_hard_limit`. System prompt and tools count. */
  hardTokens: z.number().positive().optional(),
});

export const restoreSchema = rollbackSchema.extend({
  /** Number of a kept version. 0 is the whole log. */
  version: z.number().int().min(0),
  /** `keep`: newer messages stay in the context. `drop`: they leave it, except for pinned ones. */
  newer: z.enum(['keep', 'drop']),
  /** The call fails with `conflict` if another version is live. */
  expectedVersion: z.number().int().min(0).optional(),
});

export type RestoreInput = z.input<typeof restoreSchema>;
export type RollbackInput = z.input<typeof rollbackSchema>;

const rangeSchema = z.looseObject({ from: z.number(), to: z.number() });

export const compactionSchema = z
  .looseObject({
    pass: idSchema.optional().describe('Id of the requested compaction. Absent for a dry run.'),
    plan: z
      .looseObject({
        kind: z.string().describe('none, trim, summarize, evict or infeasible'),
        reasons: unboundedList(z.enum(REASONS)),
        tokens: z.number().describe('Tokens of the context before the compaction.'),
        messages: z.number(),
        summarize: unboundedList(rangeSchema).describe('Ranges of the log that would become summaries.'),
        evict: unboundedList(rangeSchema).describe('Ranges of the log that would leave the context.'),
        mask: unboundedList(rangeSchema).describe('Ranges of the log whose messages would be masked or clipped.'),
        protected: unboundedList(z.number()).describe(
          'Positions (seqs) that no soft compaction removes. A summary has the position of its first message.',
        ),
        tokensAfter: z.number().describe('Estimated tokens of the context after the compaction.'),
      })
      .optional()
      .describe('Present for a dry run.'),
  })
  .meta({ id: 'Compaction' });

export type CompactionAnswer = z.infer<typeof compactionSchema>;

const namedVersionSchema = versionSchema.meta({ id: 'Version' });

const versionsSchema = z.looseObject({ versions: unboundedList(namedVersionSchema) }).meta({ id: 'Versions' });

export const changesSchema = unboundedList(
  z.looseObject({ from: z.number(), to: z.number(), before: z.string(), after: z.string() }),
);

const diffSchema = z.looseObject({ changes: changesSchema }).meta({ id: 'Diff' });

const { version: _version, ...restoreFields } = restoreSchema.shape;

const policySchema = dryRunSchema.shape.policy
  .unwrap()
  .describe(
    'Policy of a dry run, as in docs/reference/policy.md. Absent settings are those of the agent, if a worker has recorded them, or else have their defaults.',
  );

export const versionOperations = {
  compact: {
    holdsContext: true,
    method: 'post',
    path: `${CONVERSATION}/compact`,
    scope: 'admin',
    command: 'redrive',
    errors: ['not_found', 'invalid_policy', 'conversation_forking', 'fork_abandoned'],
    summary: 'Request a compaction now, or show with `dryRun` what a compaction would do.',
    body: z
      .strictObject({
        dryRun: z.boolean().default(false).describe('true: change nothing, and answer with the plan.'),
        policy: policySchema.optional(),
      })
      .default({ dryRun: false }),
    onlyReads: ({ dryRun }: { readonly dryRun: boolean }) => dryRun,
    status: 202,
    answer: compactionSchema,
    member: 'pass',
  },
  versions: {
    method: 'get',
    path: `${CONVERSATION}/versions`,
    scope: 'read',
    command: 'versions',
    errors: ['not_found'],
    summary: 'List the kept versions of the context, oldest first.',
    answer: versionsSchema,
    member: 'versions',
  },
  diff: {
    holdsContext: true,
    method: 'get',
    path: `${CONVERSATION}/diff`,
    scope: 'read',
    command: 'diff',
    errors: ['not_found', 'version_gone'],
    summary: 'List what changed between the contexts of two kept versions.',
    args: ['conversation', 'before', 'after'],
    exampleQuery: { before: 0, after: 1 },
    query: z.strictObject({
      before: versionNumberSchema.describe('Number of a kept version. 0 is the whole log.'),
      after: versionNumberSchema.describe('Number of another kept version.'),
    }),
    answer: diffSchema,
    member: 'changes',
  },
  restore: {
    method: 'post',
    path: `${CONVERSATION}/versions/{version}/restore`,
    scope: 'admin',
    command: 'restore',
    errors: [
      'not_found',
      'conflict',
      'conversation_busy',
      'conversation_forking',
      'fork_abandoned',
      'version_gone',
      'over_hard_limit',
    ],
    summary: 'Make a kept version the live context again. `expectedVersion` guards against a concurrent change.',
    repeatedBy: 'operation',
    keyName: 'restoreVersion',
    args: ['conversation'],
    body: z.strictObject(restoreFields),
    answer: namedVersionSchema,
  },
  rollBackTurn: {
    method: 'post',
    path: `${TURN}/rollback`,
    scope: 'admin',
    command: 'rollback',
    errors: ['not_found', 'conflict', 'turn_running', 'conversation_busy', 'version_gone', 'over_hard_limit'],
    summary: 'Restore the context that was live before a settled turn. The log keeps everything.',
    repeatedBy: 'operation',
    body: rollbackSchema.default({}),
    answer: namedVersionSchema,
  },
} satisfies Operations;
