import type { Reason } from '../../domain/compaction/thresholds.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import type { ClaimedPass } from '../../domain/ports/pass-store.ts';
import type { Proposal, Verdict } from '../../domain/proposal.ts';
import { decodeConversation } from '../conversation-record.ts';
import { decodeHash } from '../script.ts';

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
export function decodeClaimedPass(conversation: ConversationRef, reply: ClaimedReply): ClaimedPass {
  const pass = decodeHash(reply[1]);
  const plan = pass.get('plan');
  const proposal = pass.get('proposal');
  const verdict = pass.get('verdict');
  return {
    lease: { conversation, passId: pass.get('passId') ?? '', owner: pass.get('owner') ?? '' },
    reasons: decodeReasons(pass.get('reasons') ?? ''),
    attempt: Number(pass.get('attempts')),
    requestedAt: Number(pass.get('requestedAt')),
    conversation: decodeConversation(decodeHash(reply[2])),
    isResumed: pass.get('resumed') === '1',
    ...(plan !== undefined && { plan }),
    ...(proposal !== undefined && {
      review: {
        proposal: JSON.parse(proposal) as Proposal,
        ...(verdict !== undefined && { verdict: JSON.parse(verdict) as Verdict }),
      },
    }),
  };
}

export function decodeReasons(text: string): Reason[] {
  return text.split(',').filter(Boolean) as Reason[];
}
