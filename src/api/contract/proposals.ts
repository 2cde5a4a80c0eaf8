import { z } from 'zod';
import type { VersionChange } from '../../compaction/diff.ts';
import { boundedRecord } from '../../domain/bounded-schemas.ts';
import { idSchema, type NamedConversation } from '../../domain/ids.ts';
import { MAX_MESSAGE_BYTES } from '../../domain/message.ts';
import { REASONS, type Reason } from '../../domain/pass.ts';
import { type ConversationName, waitSchema } from './names.ts';
import { CONVERSATION, MAX_WAIT_MS, type Operations, unboundedList } from './operation.ts';
import { changesSchema } from './versions.ts';

export interface ProposalMethods {
  /** Returns the proposal that waits for review, if any. */
  proposal(conversation: ConversationName): Promise<ProposalView | undefined>;
  /** Approves a proposed compaction, with optional edits of its summaries. With `waitMs`, waits for the outcome. */
  approve(conversation: ConversationName, proposal: string, input?: ApprovalInput): Promise<DecisionView>;
  /** Rejects a proposed compaction. It is not proposed again until the context has grown by 15 %. */
  reject(conversation: ConversationName, proposal: string, input?: RejectionInput): Promise<DecisionView>;
}

const editSchema = z
  .string()
  .refine((text) => text.trim() !== '', 'expected a text that is not blank')
  .refine((text) => text.isWellFormed(), 'expected well-formed text: half of a surrogate pair cannot be sent')
  .refine((text) => Buffer.byteLength(text) <= MAX_MESSAGE_BYTES, `expected at most ${MAX_MESSAGE_BYTES} bytes`);

const decisionInput = z.strictObject({
  /** Id that makes the call repeatable. A repeated call returns the outcome of the decision. */
  operation: idSchema.optional(),
  /** How long to wait for a worker, in ms. 0: return once the decision is stored. */
  waitMs: waitSchema.optional(),
});

const MAX_EDITS = 1_000;

export const approvalSchema = decisionInput.extend({
  /** Texts for summaries, by the range of the summary: `{"5-9": "…"}`. */
  edits: boundedRecord(z.string(), editSchema, MAX_EDITS).optional(),
});

export const rejectionSchema = decisionInput.extend({
  /** Reason of the rejection, for people. */
  reason: z.string().min(1).max(2_000).optional(),
});

export type ApprovalInput = z.input<typeof approvalSchema>;
export type RejectionInput = z.input<typeof rejectionSchema>;

/** Sizes are in tokens, times in ms since epoch by the clock of Redis. */
export interface ProposalView extends NamedConversation {
  /** Id of the proposal, to pass to `approve` or `reject`. */
  readonly proposal: string;
  /** Reasons of the compaction, also those added while the proposal waits. */
  readonly reasons: readonly Reason[];
  /** How the compaction reduces the context: summarize, evict, … */
  readonly strategy: string;
  /** Number of the live version. */
  readonly over: number;
  /** Position (seq) of the last log entry that the proposal covers. */
  readonly head: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Number of messages that would leave the context. */
  readonly archived: number;
  /** Codes that explain the result, for people and dashboards. */
  readonly explained: readonly string[];
  /** Summaries that would enter the context. */
  readonly summaries: readonly {
    /** First and last seq of the replaced messages: `from-to`. */
    readonly range: string;
    readonly tokens: number;
    readonly model: string;
    /** Text of the summary. */
    readonly text: string;
  }[];
  /** Changes of the context. */
  readonly changes: readonly VersionChange[];
  /** Time of the proposal. */
  readonly proposedAt: number;
  /** Time at which the proposal expires without a decision. */
  readonly expiresAt: number;
  /** True if a person has decided and no worker has carried out the decision yet. */
  readonly isDecided: boolean;
}

export interface DecisionView {
  /** A repeated `approve` or `reject` with this id returns the current outcome. */
  readonly operation: string;
  /** `pending`: no worker has acted on the decision yet. */
  readonly state: 'pending' | 'approved' | 'rejected';
  /** Version that the approval created, once it is live. */
  readonly version?: number;
}

const proposalSchema = z
  .looseObject({
    conversation: idSchema,
    proposal: idSchema,
    reasons: unboundedList(z.enum(REASONS)),
    strategy: z.string(),
    over: z.number(),
    head: z.number(),
    tokensBefore: z.number(),
    tokensAfter: z.number(),
    archived: z.number(),
    explained: unboundedList(z.string()),
    summaries: unboundedList(
      z.looseObject({ range: z.string(), tokens: z.number(), model: z.string(), text: z.string() }),
    ),
    changes: changesSchema,
    proposedAt: z.number(),
    expiresAt: z.number(),
    isDecided: z.boolean(),
  })
  .meta({ id: 'Proposal' });

const proposalsSchema = z
  .looseObject({ proposals: unboundedList(proposalSchema).max(1) })
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
    command: 'proposal',
    errors: ['not_found'],
    summary: 'List the compaction that waits for a decision, if there is one.',
    answer: proposalsSchema,
  },
  approve: {
    method: 'post',
    path: `${CONVERSATION}/proposals/{proposal}/approve`,
    scope: 'answer',
    command: 'approve',
    errors: ['not_found', 'gone', 'proposal_stale', 'conversation_busy', 'conversation_forking', 'fork_abandoned'],
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
    command: 'reject',
    errors: ['not_found', 'gone', 'proposal_stale', 'conversation_forking', 'fork_abandoned'],
    summary: 'Reject a proposed compaction.',
    repeatedBy: 'operation',
    keyName: 'rejectProposal',
    body: rejectionSchema.extend({ waitMs }).default({}),
    waits: true,
    answer: decisionSchema,
  },
} satisfies Operations;
