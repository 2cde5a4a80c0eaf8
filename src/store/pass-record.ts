import { z } from 'zod';
import { type PassPlan, passPlanSchema } from '../domain/compaction/plan.ts';
import { REASONS, type Reason } from '../domain/compaction/thresholds.ts';
import type { ConversationRef } from '../domain/ids.ts';
import type { ClaimedPass } from '../domain/ports/pass-store.ts';
import type { Proposal, Verdict } from '../domain/proposal.ts';
import { summarySchema } from '../domain/version.ts';
import { decodeConversation } from './conversation-record.ts';
import type { Keyspace } from './keys.ts';
import { RecordFields } from './records.ts';
import { checkVersionRecord } from './version-record.ts';

/** What scripts that hand a pass out reply: the fields of the pass and of its conversation. */
export type ClaimedReply = ['claimed', string[], string[]];

/**
 * Fields of `pass:<id>`; the key is there while a pass is requested or in progress.
 *
 * passId reasons (separated by commas) refused (upper bound of the size for which `overflow` is among them) calibration (by which whoever
 * asked counts) wake requestedAt · owner lease attempts · parked parkedBy parkedUntil (the job
 * that may claim until then, and the owner that left; that owner alone after a stop) · resumed (1: claimed by the job it was parked under) · plan (JSON) · sweeps (times that the sweeper pushed its entry out
 * since the last claim)
 *
 * Under review: proposal (JSON) proposalId proposedOver (live version) proposedAt expiresAt, parked under no job; with a decision
 * its operation, and the verdict (JSON)
 */
export function decodeClaimedPass(keyspace: Keyspace, conversation: ConversationRef, reply: ClaimedReply): ClaimedPass {
  const pass = RecordFields.ofList(keyspace.key(conversation, 'pass'), reply[1]);
  const state = decodeConversation(RecordFields.ofList(keyspace.key(conversation, 'c'), reply[2]));
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
        ...(pass.has('verdict') && { verdict: pass.json('verdict', verdictSchema) as Verdict }), // exact optional fields
      },
    }),
  };
}

/** None of a plan's ranges is longer than the log. */
function readPlan(pass: RecordFields, head: number): PassPlan {
  const plan = pass.json('plan', passPlanSchema);
  const isSound = [...plan.sequences, ...plan.evict].every(({ from, to }) => from <= to && to <= head);
  return isSound && plan.head <= head ? plan : pass.refuse('plan', `it is not a plan for ${head} messages`);
}

const verdictSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('approve'), edits: z.record(z.string(), z.string()) }),
  z.object({ kind: z.literal('reject'), reason: z.string().optional() }),
]);

const shellSchema = z.object({
  id: z.string(),
  version: z.unknown(),
  summaries: z.record(z.string(), summarySchema),
});

export function decodeProposal(pass: RecordFields): Proposal {
  const shell = pass.json('proposal', shellSchema);
  const version = checkVersionRecord({ key: pass.key, field: 'proposal' }, shell.version);
  return { ...shell, version };
}

export function decodeReasons(pass: RecordFields): Reason[] {
  const given = (pass.text('reasons') ?? '').split(',').filter((reason) => reason !== '');
  return given.map((reason) => pass.check('reasons', reason, REASONS));
}
