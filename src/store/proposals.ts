import type { Redis } from 'ioredis';
import { z } from 'zod';
import { decisionEvent, proposalEvent } from '../domain/event-record.ts';
import type { PassLost, PassStore } from '../domain/ports/pass-store.ts';
import type { DecisionAnswer, DecisionResult, ProposalStore } from '../domain/ports/proposal-store.ts';
import type { ApprovalRefusal } from '../domain/proposal.ts';
import { decodeForking, type ForkingReply } from './conversation-record.ts';
import type { Keyspace } from './keys.ts';
import { decodeProposal, decodeReasons } from './pass-record.ts';
import { callStore, corruptRecord, RecordFields, readJson } from './records.ts';
import { decodeStatus, type ScriptOf, scriptBinder } from './script.ts';

/** Opens the operations of services on compaction proposals, which a person approves or rejects. */
export function openProposalStore(redis: Redis, keyspace: Keyspace): ProposalStore {
  const bind = scriptBinder(redis, keyspace);
  return {
    readProposal: bindReadProposal(redis, keyspace),
    decideProposal: bind(decideProposalScript),
    readDecision: bind(readDecisionScript),
  };
}

export const proposeVersionScript: ScriptOf<PassStore['proposeVersion']> = {
  file: 'propose-version',
  args: ([{ passId, owner }, { proposal, seenReasons, reviewMs }]) => [
    passId,
    owner,
    seenReasons.join(','),
    proposal.version.number - 1,
    proposal.id,
    JSON.stringify(proposal),
    reviewMs,
    ...Object.entries(proposalEvent(passId, proposal)).flat(),
  ],
  decode: (reply) => {
    const answer = reply as ['proposed' | 'reasons_added' | PassLost['status']] | ['version_changed', number];
    if (answer[0] === 'version_changed') return { status: 'version_changed', version: answer[1] };
    return { status: answer[0] };
  },
};

export const refuseApprovalScript: ScriptOf<PassStore['refuseApproval']> = {
  file: 'refuse-approval',
  args: ([{ passId, owner }, refusal]) => [passId, owner, JSON.stringify(refusal), refusal.code],
  decode: decodeStatus,
};

type Stale = Extract<DecisionResult, { status: 'stale' }>;
type DecideReply =
  | ['decided', number]
  | ['concluded', string]
  | ['stale', Stale['why']]
  | ForkingReply
  | ['not_found' | 'gone' | 'other_payload'];

export const decideProposalScript: ScriptOf<ProposalStore['decideProposal']> = {
  file: 'decide-proposal',
  args: ([{ operation, proposal, verdict, wake }]) => [
    operation,
    proposal,
    JSON.stringify(verdict),
    wake,
    ...Object.entries(decisionEvent(proposal, verdict)).flat(),
  ],
  decode: (reply, [{ conversation, operation }], keyspace) => {
    const answer = reply as DecideReply;
    switch (answer[0]) {
      case 'decided':
        return { status: 'decided', needsWake: answer[1] === 1 };
      case 'concluded': {
        const key = keyspace.decision(conversation, operation);
        return { status: 'concluded', answer: decodeDecisionAnswer(answer[1], key) };
      }
      case 'stale':
        return { status: 'stale', why: answer[1] };
      case 'forking':
        return decodeForking(answer);
      default:
        return { status: answer[0] };
    }
  },
};

const readDecisionScript: ScriptOf<ProposalStore['readDecision']> = {
  file: 'read-decision',
  args: ([, operation]) => [operation],
  decode: (reply, [conversation, operation], keyspace) => {
    if (reply === '') return undefined;
    if (reply === 'pending') return { status: 'pending' };
    return decodeDecisionAnswer(String(reply), keyspace.decision(conversation, operation));
  },
};

const refusalSchema: z.ZodType<ApprovalRefusal> = z.object({
  code: z.enum(['invalid_input', 'proposal_stale', 'conversation_busy']),
  field: z.string(),
  message: z.string(),
});

/**
 * Decodes the outcome of a decision on a proposal: how the pass ended and the live version, or a refusal as JSON. See
 * `lua/shared/review.lua`.
 * @param key name of the key, for errors
 */
function decodeDecisionAnswer(text: string, key: string): DecisionAnswer {
  const [kind = '', ...rest] = text.split(' ');
  switch (kind) {
    case 'refused':
      return { status: 'refused', refusal: readJson({ key, field: '' }, rest.join(' '), refusalSchema) };
    case 'approved': {
      const version = Number(rest[0]);
      if (!Number.isSafeInteger(version))
        throw corruptRecord(key, '', 'the value must contain the number of a version');
      return { status: 'approved', version };
    }
    case 'rejected':
      return { status: 'rejected' };
    default:
      return { status: 'superseded' };
  }
}

const FIELDS = ['proposal', 'passId', 'reasons', 'proposedAt', 'expiresAt', 'decision'];

/** Reads all fields by one command, so that they belong to the same moment. */
function bindReadProposal(redis: Redis, keyspace: Keyspace): ProposalStore['readProposal'] {
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
