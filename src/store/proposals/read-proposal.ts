import type { Redis } from 'ioredis';
import type { ProposalStore } from '../../domain/ports/proposal-store.ts';
import type { Proposal } from '../../domain/proposal.ts';
import { callRedis } from '../connection.ts';
import type { Keyspace } from '../keys.ts';
import { decodeReasons } from '../passes/pass-record.ts';

/** One command reads all of it as it stood at one moment. */
export function bindReadProposal(redis: Redis, keyspace: Keyspace): ProposalStore['readProposal'] {
  return async (conversation) => {
    const fields = ['proposal', 'passId', 'reasons', 'proposedAt', 'expiresAt', 'decision'];
    const [proposal, passId, reasons, proposedAt, expiresAt, decision] = await callRedis(() =>
      redis.hmget(keyspace.key(conversation, 'pass'), ...fields),
    );
    if (proposal === null || proposal === undefined) return undefined;
    return {
      proposal: JSON.parse(proposal) as Proposal,
      passId: passId ?? '',
      reasons: decodeReasons(reasons ?? ''),
      proposedAt: Number(proposedAt),
      expiresAt: Number(expiresAt),
      isDecided: typeof decision === 'string',
    };
  };
}
