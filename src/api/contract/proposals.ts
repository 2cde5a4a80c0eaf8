import { z } from 'zod';
import type { VersionChange } from '../../compaction/diff.ts';
import { boundedRecord } from '../../domain/bounded-schemas.ts';
import { idSchema, type NamedConversation } from '../../domain/ids.ts';
import { MAX_MESSAGE_BYTES } from '../../domain/message.ts';
import { REASONS, type Reason } from '../../domain/pass.ts';
import { type ConversationName, waitSchema } from './names.ts';
import { CONVERSATION, listOf, MAX_WAIT_MS, type Operations } from './operation.ts';
import { changesSchema } from './versions.ts';

/** Methods of the client with which a person decides on compactions. */
export interface ProposalMethods {
  /** Returns the proposal that waits for review, if any. */
  proposal(conversation: ConversationName): Promise<ProposalView | undefined>;
  /** Approves a proposed compaction, with optional edits of its summaries. With `waitMs`, waits for the outcome. */
  approve(conversation: ConversationName, proposal: string, input?: ApprovalInput): Promise<DecisionView>;
  /** Rejects a proposed compaction. The same content is not proposed again until the context has grown by 15 %. */
  reject(conversation: ConversationName, proposal: string, input?: RejectionInput): Promise<DecisionView>;
}

const editSchema = z
  .string()
  .refine((text) => text.trim() !== '', 'expected a text that is not blank')
  .refine((text) => text.isWellFormed(), 'expected well-formed text: half of a surrogate pair cannot be sent')
  .refine((text) => Buffer.byteLength(text) <= MAX_MESSAGE_BYTES, `expected at most ${MAX_MESSAGE_BYTES} bytes`);

const decisionInput = z.strictObject({
  /** Id that makes the call repeatable. A repeated call changes nothing and returns the outcome of the decision. */
  operation: idSchema.optional(),
  /** How long to wait until a worker has acted on the decision, in ms. 0: return once the decision is stored. */
  waitMs: waitSchema.optional(),
});

/** More summaries than one compaction writes. */
const MAX_EDITS = 1_000;

export const approvalSchema = decisionInput.extend({
  /** Replacement texts for summaries, by the message range of the summary: `{"5-9": "…"}`. */
  edits: boundedRecord(z.string(), editSchema, MAX_EDITS).optional(),
});

export const rejectionSchema = decisionInput.extend({
  /** Reason for the decision, for people. */
  reason: z.string().min(1).max(2_000).optional(),
});

export type ApprovalInput = z.input<typeof approvalSchema>;
export type RejectionInput = z.input<typeof rejectionSchema>;

/**
 * A compaction that waits for a person's approval, with the context that it would produce. Sizes are tokens, times are
 * ms since epoch.
 */
export interface ProposalView extends NamedConversation {
  /** Id of the proposal, to pass to `approve` or `reject`. */
  readonly proposal: string;
  /** Reasons why the compaction was requested, including those added while the proposal waits. */
  readonly reasons: readonly Reason[];
  /** How the compaction reduces the context: summarize, evict, … */
  readonly strategy: string;
  /** Number of the live version, which the proposal would replace. */
  readonly over: number;
  /** Position (seq) of the last log entry that the proposal covers. */
  readonly head: number;
  /** Tokens of the current context. */
  readonly tokensBefore: number;
  /** Tokens of the context after an approval. */
  readonly tokensAfter: number;
  /** Number of messages that the proposal would remove from the context. The log keeps them. */
  readonly archived: number;
  /** Codes that explain how the compaction reached its result, for people and dashboards. */
  readonly explained: readonly string[];
  /** Summaries that the proposal would put into the context. */
  readonly summaries: readonly {
    /** First and last seq of the messages that the summary replaces: `from-to`. */
    readonly range: string;
    /** Tokens of this summary. */
    readonly tokens: number;
    /** Model that wrote this summary. */
    readonly model: string;
    /** Text of this summary. */
    readonly text: string;
  }[];
  /** Changes of the context that the proposal would make. */
  readonly changes: readonly VersionChange[];
  /** Time at which the proposal was made, in ms since epoch by the clock of Redis. */
  readonly proposedAt: number;
  /** Time at which the proposal expires without a decision, in ms since epoch by the clock of Redis. */
  readonly expiresAt: number;
  /** True if a person has decided and no worker has carried out the decision yet. */
  readonly isDecided: boolean;
}

/** State and outcome of a decision about a proposal. */
export interface DecisionView {
  /** Id of the decision. A repeated `approve` or `reject` with this id returns the current outcome. */
  readonly operation: string;
  /** `pending`: the decision is stored, and a compaction worker has not yet acted on it. */
  readonly state: 'pending' | 'approved' | 'rejected';
  /** Number of the version that the approval created, once that version is live. */
  readonly version?: number;
}

const proposalSchema = z
  .looseObject({
    conversation: idSchema,
    proposal: idSchema,
    reasons: listOf(z.enum(REASONS)),
    strategy: z.string(),
    over: z.number(),
    head: z.number(),
    tokensBefore: z.number(),
    tokensAfter: z.number(),
    archived: z.number(),
    explained: listOf(z.string()),
    summaries: listOf(z.looseObject({ range: z.string(), tokens: z.number(), model: z.string(), text: z.string() })),
    changes: changesSchema,
    proposedAt: z.number(),
    expiresAt: z.number(),
    isDecided: z.boolean(),
  })
  .meta({ id: 'Proposal' });

const proposalsSchema = z
  .looseObject({ proposals: listOf(proposalSchema).max(1) })
  .meta({ id: 'Proposals', description: 'A conversation has at most one proposal.' });

const decisionSchema = z
  .looseObject({
    operation: idSchema,
    state: z.enum(['pending', 'approved', 'rejected']),
    version: z.number().optional(),
  })
  .meta({ id: 'Decision' });

const waitMs = z.number().int().min(0).max(MAX_WAIT_MS).optional().describe('How long to wait for a worker, in ms.');

export const proposalOperations = {
  proposal: {
    method: 'get',
    path: `${CONVERSATION}/proposals`,
    scope: 'read',
    summary: 'List the compaction that waits for a decision, if there is one.',
    answer: proposalsSchema,
  },
  approve: {
    method: 'post',
    path: `${CONVERSATION}/proposals/{proposal}/approve`,
    scope: 'answer',
    summary: 'Approve a proposed compaction, with optional edits of its summaries.',
    repeatedBy: 'operation',
    keyName: 'approveProposal',
    body: approvalSchema.extend({ waitMs }).default({}),
    waits: true,
    answer: decisionSchema,
  },
  reject: {
    method: 'post',
    path: `${CONVERSATION}/proposals/{proposal}/reject`,
    scope: 'answer',
    summary: 'Reject a proposed compaction.',
    repeatedBy: 'operation',
    keyName: 'rejectProposal',
    body: rejectionSchema.extend({ waitMs }).default({}),
    waits: true,
    answer: decisionSchema,
  },
} satisfies Operations;
