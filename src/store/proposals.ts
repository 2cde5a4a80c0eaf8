import type { Redis } from 'ioredis';
import { z } from 'zod';
import { decisionEvent, proposalEvent } from '../domain/event-record.ts';
import type { ConversationRef } from '../domain/ids.ts';
import type { PassLease, PassLost, VersionProposal, VersionProposalResult } from '../domain/ports/pass-store.ts';
import type { Decision, DecisionAnswer, DecisionResult, ProposalStore } from '../domain/ports/proposal-store.ts';
import type { ApprovalRefusal } from '../domain/proposal.ts';
import { decodeForking, type ForkingReply } from './conversation-record.ts';
import type { Keyspace } from './keys.ts';
import { decodeProposal, decodeReasons } from './pass-record.ts';
import { callStore, corruptRecord, RecordFields, readJson } from './records.ts';
import { bindScript, type ScriptDefinition } from './script.ts';

/** Proposals of passes under review, for services. */
export function openProposalStore(redis: Redis, keyspace: Keyspace): ProposalStore {
  const read = bindScript(redis, readDecision(keyspace));
  return {
    readProposal: bindReadProposal(redis, keyspace),
    decideProposal: bindScript(redis, decideProposal(keyspace)),
    readDecision: (conversation, operation) => read({ conversation, operation }),
  };
}

interface ProposeRequest {
  readonly lease: PassLease;
  readonly proposal: VersionProposal;
}

type ProposeReply = ['proposed' | 'reasons_added' | PassLost['status']] | ['version_changed', number];

export function proposeVersion(keyspace: Keyspace): ScriptDefinition<ProposeRequest, VersionProposalResult> {
  return {
    file: 'propose-version',
    keys: ({ lease }) => keyspace.conversation(lease.conversation),
    args: ({ lease, proposal: { proposal, seenReasons, reviewMs } }) => [
      lease.passId,
      lease.owner,
      seenReasons.join(','),
      proposal.version.number - 1,
      proposal.id,
      JSON.stringify(proposal),
      reviewMs,
      ...Object.entries(proposalEvent(lease.passId, proposal)).flat(),
    ],
    decode: (reply) => {
      const answer = reply as ProposeReply;
      if (answer[0] === 'version_changed') return { status: 'version_changed', version: answer[1] };
      return { status: answer[0] };
    },
  };
}

interface RefusalRequest {
  readonly lease: PassLease;
  readonly refusal: ApprovalRefusal;
}

type Refused = { readonly status: 'refused' | 'dropped' } | PassLost;

export function refuseApproval(keyspace: Keyspace): ScriptDefinition<RefusalRequest, Refused> {
  return {
    file: 'refuse-approval',
    keys: ({ lease }) => keyspace.conversation(lease.conversation),
    args: ({ lease, refusal }) => [lease.passId, lease.owner, JSON.stringify(refusal), refusal.code],
    decode: (reply) => ({ status: reply as Refused['status'] }),
  };
}

type Stale = Extract<DecisionResult, { status: 'stale' }>;
type DecideReply =
  | ['decided', number]
  | ['concluded', string]
  | ['stale', Stale['why']]
  | ForkingReply
  | ['not_found' | 'gone'];

export function decideProposal(keyspace: Keyspace): ScriptDefinition<Decision, DecisionResult> {
  return {
    file: 'decide-proposal',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ operation, proposal, verdict, wake }) => [
      operation,
      proposal,
      JSON.stringify(verdict),
      wake,
      ...Object.entries(decisionEvent(proposal, verdict)).flat(),
    ],
    decode: (reply, { conversation, operation }) => {
      const answer = reply as DecideReply;
      switch (answer[0]) {
        case 'decided':
          return { status: 'decided', needsWake: answer[1] === 1 };
        case 'concluded':
          return {
            status: 'concluded',
            answer: decodeDecisionAnswer(answer[1], keyspace.decision(conversation, operation)),
          };
        case 'stale':
          return { status: 'stale', why: answer[1] };
        case 'forking':
          return decodeForking(answer);
        default:
          return { status: answer[0] };
      }
    },
  };
}

interface DecisionName {
  readonly conversation: ConversationRef;
  readonly operation: string;
}

function readDecision(keyspace: Keyspace): ScriptDefinition<DecisionName, DecisionAnswer | undefined> {
  return {
    file: 'read-decision',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ operation }) => [operation],
    decode: (reply, { conversation, operation }) => {
      if (reply === '') return undefined;
      if (reply === 'pending') return { status: 'pending' };
      return decodeDecisionAnswer(String(reply), keyspace.decision(conversation, operation));
    },
  };
}

const refusalSchema: z.ZodType<ApprovalRefusal> = z.object({
  code: z.enum(['invalid_input', 'proposal_stale', 'conversation_busy']),
  field: z.string(),
  message: z.string(),
});

/**
 * Decodes the outcome of a decision: the end of the pass with the live version, or the refusal as JSON. See
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
      if (!Number.isSafeInteger(version)) throw corruptRecord(key, '', 'it must name a version');
      return { status: 'approved', version };
    }
    case 'rejected':
      return { status: 'rejected' };
    default:
      return { status: 'superseded' };
  }
}

const FIELDS = ['proposal', 'passId', 'reasons', 'proposedAt', 'expiresAt', 'decision'];

/** One command, so that all fields are of one moment. */
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
