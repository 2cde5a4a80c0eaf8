import type { Redis } from 'ioredis';
import type { ProposalStore } from '../../domain/ports/proposal-store.ts';
import type { Keyspace } from '../keys.ts';
import { bindScript } from '../script.ts';
import { decideProposal } from './decide.ts';
import { readDecision } from './read-decision.ts';
import { bindReadProposal } from './read-proposal.ts';

/** Proposals of passes under review, in Redis, as services see them. */
export function openProposalStore(redis: Redis, keyspace: Keyspace): ProposalStore {
  const read = bindScript(redis, readDecision(keyspace));
  return {
    readProposal: bindReadProposal(redis, keyspace),
    decideProposal: bindScript(redis, decideProposal(keyspace)),
    readDecision: (conversation, operation) => read({ conversation, operation }),
  };
}
