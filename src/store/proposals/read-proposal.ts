import type { Redis } from 'ioredis';
import type { ProposalStore } from '../../domain/ports/proposal-store.ts';
import { callStore } from '../corrupt-record.ts';
import type { Keyspace } from '../keys.ts';
import { decodeProposal, decodeReasons } from '../passes/pass-record.ts';
import { RecordFields } from '../record-fields.ts';

const FIELDS = ['proposal', 'passId', 'reasons', 'proposedAt', 'expiresAt', 'decision'];

/** One command reads all of it as it stood at one moment. */
export function bindReadProposal(redis: Redis, keyspace: Keyspace): ProposalStore['readProposal'] {
  return async (conversation) => {
    const key = keyspace.key(conversation, 'pass');
    const pass = RecordFields.ofValues(key, FIELDS, await callStore(() => redis.hmget(key, ...FIELDS)));
    if (!pass.has('proposal')) return undefined;
    return {
      proposal: decodeProposal(pass),
      passId: pass.needText('passId'),
      reasons: decodeReasons(pass),
      proposedAt: pass.needCount('proposedAt'),
      expiresAt: pass.needCount('expiresAt'),
      isDecided: pass.has('decision'),
    };
  };
}
