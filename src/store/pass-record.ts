import { z } from 'zod';
import { boundedRecord, MAX_GROWN_ENTRIES } from '../domain/bounded-schemas.ts';
import type { ConversationState } from '../domain/conversation.ts';
import type { ConversationRef } from '../domain/ids.ts';
import { GROWN_JSON_BOUNDS } from '../domain/json-text.ts';
import { REASONS, type Reason } from '../domain/pass.ts';
import { type PassPlan, passPlanSchema } from '../domain/pass-plan.ts';
import type { Proposal, Verdict } from '../domain/proposal.ts';
import { type SeqRange, summarySchema } from '../domain/version.ts';
import { decodeConversation } from './conversation-record.ts';
import type { Keyspace } from './keys.ts';
import { RecordFields } from './records.ts';
import { checkVersionRecord } from './version-record.ts';

/** The worker no longer owns its pass, and must not write any more. */
export type PassLost =
  /** Another worker claimed the pass, or the conversation was erased and created again. */
  | { readonly status: 'fenced' }
  /** A restored version ended the pass, or a turn took it over. */
  | { readonly status: 'superseded' }
  | { readonly status: 'gone' }
  /** The conversation does not exist and was not erased: the database was emptied, restored or replaced. */
  | { readonly status: 'unclaimed' };

/** Result of a write that only the owner of the pass may do. */
export type PassWrite<Status extends string> = { readonly status: Status } | PassLost;

/** Proof that a worker owns a pass. Every write of the pass must carry this proof (I4). */
export interface PassLease {
  readonly conversation: ConversationRef;
  readonly passId: string;
  readonly owner: string;
}

export interface ClaimedPass {
  readonly lease: PassLease;
  readonly reasons: readonly Reason[];
  /** Number of claims of the pass. The first stored plan restarts the count at 1. */
  readonly attempt: number;
  readonly requestedAt: number;
  readonly conversation: ConversationState;
  /** True if this job started the summarization jobs of the pass, and now continues with their results. */
  readonly isResumed: boolean;
  readonly plan?: PassPlan;
  /** A proposal with a person's verdict. Absent verdict: the time for a decision has passed. */
  readonly review?: { readonly proposal: Proposal; readonly verdict?: Verdict };
}

/**
 * Fields of `pass:<id>`. The key exists while a compaction pass is requested or in progress. Times in ms since epoch.
 *
 * The request:
 * - passId, requestedAt
 * - reasons      reasons to compact, separated by commas
 * - refused      upper bound in tokens of the context that a provider refused as too long, if `overflow` is a reason
 * - calibration  largest calibration factor that a request gave
 * - wake         id of the wake (queue job) that was requested last
 *
 * Its owner:
 * - owner, lease, attempts
 * - parked       parent job that waits for its child jobs, or a constant while a person reviews the proposal
 * - parkedBy     owner that gave the pass back, for its child jobs or at a stop
 * - parkedUntil  until this time only the job in `parked` may claim the pass
 * - resumed      1 once that parent job has claimed the pass again
 * - plan         the compaction plan as JSON
 * - sweeps       number of sweeps since the last claim
 *
 * Its review:
 * - proposal     the proposed version as JSON
 * - proposalId, proposedAt, expiresAt
 * - proposedOver number of the version that was live when the proposal was made
 * - decision     id of the operation that decided
 * - verdict      the decision as JSON
 */
export function decodeClaimedPass(
  keyspace: Keyspace,
  conversation: ConversationRef,
  fields: string[],
  record: string[],
): ClaimedPass {
  const pass = RecordFields.ofList(keyspace.key(conversation, 'pass'), fields);
  const state = decodeConversation(RecordFields.ofList(keyspace.key(conversation, 'c'), record));
  return {
    lease: { conversation, passId: pass.needText('passId'), owner: pass.needText('owner') },
    reasons: decodeReasons(pass),
    attempt: pass.needCount('attempts'),
    requestedAt: pass.needCount('requestedAt'),
    conversation: state,
    isResumed: pass.text('resumed') === '1',
    ...(pass.has('plan') && { plan: readPlan(pass, state.head) }),
    ...(pass.has('proposal') && {
      review: {
        proposal: decodeProposal(pass),
        ...(pass.has('verdict') && { verdict: pass.json('verdict', verdictSchema) as Verdict }), // the type allows absent fields, but not undefined ones
      },
    }),
  };
}

function readPlan(pass: RecordFields, head: number): PassPlan {
  const plan = pass.json('plan', passPlanSchema, GROWN_JSON_BOUNDS);
  const ranges: readonly SeqRange[] = [...plan.sequences, ...plan.evict, ...(plan.shorten ?? [])];
  const isSound = ranges.every(({ from, to }) => from <= to && to <= head);
  return isSound && plan.head <= head
    ? plan
    : pass.refuse('plan', `the value is not a valid plan for a log of ${head} messages`);
}

const verdictSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('approve'), edits: boundedRecord(z.string(), z.string(), MAX_GROWN_ENTRIES) }),
  z.object({ kind: z.literal('reject'), reason: z.string().optional() }),
]);

const shellSchema = z.object({
  id: z.string(),
  version: z.unknown(),
  summaries: boundedRecord(z.string(), summarySchema, MAX_GROWN_ENTRIES),
});

export function decodeProposal(pass: RecordFields): Proposal {
  const shell = pass.json('proposal', shellSchema, GROWN_JSON_BOUNDS);
  const version = checkVersionRecord({ key: pass.key, field: 'proposal' }, shell.version);
  return { ...shell, version };
}

export function decodeReasons(pass: RecordFields): Reason[] {
  const given = (pass.text('reasons') ?? '').split(',').filter((reason) => reason !== '');
  return given.map((reason) => pass.check('reasons', reason, REASONS));
}
