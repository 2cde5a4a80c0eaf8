import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Acknowledged } from '../domain/durability.ts';
import { decisionEvent, proposalEvent } from '../domain/event-record.ts';
import type { ConversationRef } from '../domain/ids.ts';
import type { Reason } from '../domain/pass.ts';
import type { ApprovalRefusal, Proposal, Verdict } from '../domain/proposal.ts';
import { type Forking, readForking } from './conversation-record.ts';
import type { Keyspace } from './keys.ts';
import { decodeProposal, decodeReasons, type PassLease, type PassLost, type PassWrite } from './pass-record.ts';
import { corruptRecord, RecordFields, readRecordJson } from './records.ts';
import { decodeReply, decodeStatus, type OtherPayload, type ScriptDefinition, scriptBinder } from './script.ts';

export function openProposalStore(redis: Redis, keyspace: Keyspace) {
  const bind = scriptBinder(redis, keyspace);
  return {
    readProposal: bindReadProposal(redis, keyspace),
    decideProposal: bind(decideProposalScript),
    readDecision: bind(readDecisionScript),
  };
}

export type ProposalStore = ReturnType<typeof openProposalStore>;

export type VersionProposalResult =
  | { readonly status: 'proposed' }
  | { readonly status: 'reasons_added' }
  | { readonly status: 'version_changed'; readonly version: number }
  | PassLost;

export interface VersionProposal {
  readonly proposal: Proposal;
  readonly seenReasons: readonly Reason[];
  readonly reviewMs: number;
}

export const proposeVersionScript: ScriptDefinition<
  [lease: PassLease, proposal: VersionProposal],
  VersionProposalResult
> = {
  file: 'propose-version',
  args: ([{ passId, owner }, { proposal, seenReasons, reviewMs }]) => ({
    passId,
    owner,
    seen: seenReasons.join(','),
    expected: proposal.version.number - 1,
    proposalId: proposal.id,
    proposal: JSON.stringify(proposal),
    reviewMs,
    rest: Object.entries(proposalEvent(passId, proposal)).flat(),
  }),
  decode: (reply) => decodeReply<VersionProposalResult>(reply, { version_changed: (version: number) => ({ version }) }),
};

export const refuseApprovalScript: ScriptDefinition<
  [lease: PassLease, refusal: ApprovalRefusal],
  PassWrite<'refused' | 'dropped'>
> = {
  file: 'refuse-approval',
  args: ([{ passId, owner }, refusal]) => ({ passId, owner, refusal: JSON.stringify(refusal), code: refusal.code }),
  decode: decodeStatus,
};

export type DecisionAnswer =
  | { readonly status: 'pending' }
  | { readonly status: 'approved'; readonly version: number }
  | { readonly status: 'rejected' }
  | { readonly status: 'refused'; readonly refusal: ApprovalRefusal }
  /** The pass continued or ended before a worker could carry out the decision. */
  | { readonly status: 'superseded' };

export type DecisionResult =
  | { readonly status: 'decided'; readonly needsWake: boolean }
  | { readonly status: 'concluded'; readonly answer: DecisionAnswer }
  /** The proposal was replaced, decided or expired, or never existed. */
  | { readonly status: 'stale'; readonly why: 'unknown' | 'decided' | 'expired' | 'version_changed' }
  | { readonly status: 'not_found' | 'gone' }
  | OtherPayload
  | Forking;

type Stale = Extract<DecisionResult, { status: 'stale' }>;
export interface Decision {
  readonly conversation: ConversationRef;
  /** Name of the operation, see `nameOperation`. A repeated name writes nothing and gets the first answer (I5). */
  readonly operation: string;
  readonly proposal: string;
  readonly verdict: Verdict;
  /** Queue job to add if the answer has `needsWake`. */
  readonly wake: string;
}

export const decideProposalScript: ScriptDefinition<[decision: Decision], Acknowledged<DecisionResult>> = {
  file: 'decide-proposal',
  args: ([{ operation, proposal, verdict, wake }]) => ({
    operation,
    proposal,
    verdict: JSON.stringify(verdict),
    wake,
    rest: Object.entries(decisionEvent(proposal, verdict)).flat(),
  }),
  decode: (reply, [{ conversation, operation }], keyspace) =>
    decodeReply<DecisionResult>(reply, {
      decided: (needsWake: number) => ({ needsWake: needsWake === 1 }),
      concluded: (text: string) => ({ answer: decodeDecisionAnswer(text, keyspace.decision(conversation, operation)) }),
      stale: (why: Stale['why']) => ({ why }),
      forking: readForking,
    }),
};

/** Reads the outcome of a decision. Undefined if the decision does not exist or is more than a day old. */
const readDecisionScript: ScriptDefinition<
  [conversation: ConversationRef, operation: string],
  DecisionAnswer | undefined
> = {
  file: 'read-decision',
  args: ([, operation]) => ({ operation }),
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

/** Decodes how the pass ended and the live version, or a refusal as JSON. `lua/shared/review.lua` writes this text. */
function decodeDecisionAnswer(text: string, key: string): DecisionAnswer {
  const [kind = '', ...rest] = text.split(' ');
  switch (kind) {
    case 'refused':
      return { status: 'refused', refusal: readRecordJson({ key, field: '' }, rest.join(' '), refusalSchema) };
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

export interface WaitingProposal {
  readonly proposal: Proposal;
  readonly passId: string;
  readonly reasons: readonly Reason[];
  /** Time of the proposal in ms since epoch, by the clock of Redis. */
  readonly proposedAt: number;
  readonly expiresAt: number;
  readonly isDecided: boolean;
}

/** Reads the proposal of a conversation. Undefined if no proposal waits. */
function bindReadProposal(
  redis: Redis,
  keyspace: Keyspace,
): (conversation: ConversationRef) => Promise<WaitingProposal | undefined> {
  return async (conversation) => {
    const key = keyspace.key(conversation, 'pass');
    const pass = await RecordFields.pick(redis, key, FIELDS);
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
