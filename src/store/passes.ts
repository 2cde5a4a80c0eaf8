import type { Redis } from 'ioredis';
import type { Acknowledged } from '../domain/durability.ts';
import type { ConversationRef } from '../domain/ids.ts';
import { hasHardReason, PASS_LIMITS, type Reason } from '../domain/pass.ts';
import type { PassPlan } from '../domain/pass-plan.ts';
import { decodeForking, type Forking, type ForkingReply } from './conversation-record.ts';
import type { Keyspace } from './keys.ts';
import { commitVersionScript, endPassScript } from './pass-ends.ts';
import {
  type ClaimedPass,
  type ClaimedReply,
  decodeClaimedPass,
  decodeReasons,
  type PassLease,
  type PassLost,
} from './pass-record.ts';
import { proposeVersionScript, refuseApprovalScript } from './proposals.ts';
import { RecordFields } from './records.ts';
import { decodeStatus, type ScriptDefinition, scriptBinder } from './script.ts';

export function openPassStore(redis: Redis, keyspace: Keyspace) {
  const bind = scriptBinder(redis, keyspace);
  return {
    requestPass: bind(requestPassScript),
    claimPass: bind(claimPassScript),
    takeOverPass: bind(takeOverPassScript),
    heartbeatPass: bind(heartbeatPassScript),
    readReasons: bind(readReasonsScript),
    recordPlan: bind(recordPlanScript),
    releasePass: bind(releasePassScript),
    parkPass: bind(parkPassScript),
    endPass: bind(endPassScript),
    commitVersion: bind(commitVersionScript),
    proposeVersion: bind(proposeVersionScript),
    refuseApproval: bind(refuseApprovalScript),
  };
}

export type PassIntake = Pick<PassStore, 'requestPass'>;

export type PassStore = ReturnType<typeof openPassStore>;

type RequestReply = ['requested' | 'joined', string, number] | ForkingReply | ['not_found' | 'gone'];

export type PassRequestResult =
  | { readonly status: 'requested' | 'joined'; readonly passId: string; readonly needsWake: boolean }
  | { readonly status: 'not_found' | 'gone' }
  | Forking;

/**
 * Request for a pass. With a hard reason a turn must wait for the pass. So the request removes an undecided proposal,
 * and the pass needs no approval.
 */
export interface PassRequest {
  readonly conversation: ConversationRef;
  readonly reasons: readonly Reason[];
  /** For the reason `overflow`: upper bound of the refused request. Later requests can only lower this value. */
  readonly refusedTokens?: number | undefined;
  /** Correction factor for token counts, if the requester counted. Later requests can only raise the value. */
  readonly calibration?: number | undefined;
  /** Id of the pass to create. Unused if a pass is already in progress. */
  readonly passId: string;
  readonly wake: string;
}

export const requestPassScript: ScriptDefinition<[request: PassRequest], Acknowledged<PassRequestResult>> = {
  file: 'request-pass',
  args: ([{ passId, wake, reasons, refusedTokens, calibration }]) => ({
    passId,
    wake,
    refused: refusedTokens,
    calibration,
    isHard: hasHardReason(reasons),
    rest: reasons,
  }),
  decode: (reply) => {
    const answer = reply as RequestReply;
    if (answer[0] === 'forking') return decodeForking(answer);
    if (answer.length === 1) return { status: answer[0] };
    return { status: answer[0], passId: answer[1], needsWake: answer[2] === 1 };
  },
};

type ClaimReply = ['empty' | 'gone'] | ['leased', string] | ['failed', string, number] | ClaimedReply;

export type PassClaimResult =
  | { readonly status: 'claimed'; readonly pass: ClaimedPass }
  | { readonly status: 'empty' | 'gone' }
  /** Another worker owns the pass, or it waits for summarization jobs of another queue job. */
  | { readonly status: 'leased'; readonly untilMs: number }
  /** The pass has used up its attempts. `wakeTurn` is used as in `endPass`. */
  | { readonly status: 'failed'; readonly passId: string; readonly wakeTurn?: string };

/**
 * @param job the worker's queue job. If the pass waits for summarization jobs, only their parent job may claim the pass
 * @param wakeTurn queue job, stored and returned if the pass fails now and a turn waited for it
 */
const claimPassScript: ScriptDefinition<
  [conversation: ConversationRef, owner: string, job: string, wakeTurn: string],
  PassClaimResult
> = {
  file: 'claim-pass',
  args: ([, owner, job, wake]) => ({
    owner,
    job,
    wake,
    leaseMs: PASS_LIMITS.leaseMs,
    maxAttempts: PASS_LIMITS.maxAttempts,
  }),
  decode: (reply, [conversation, , , wakeTurn], keyspace) => {
    const answer = reply as ClaimReply;
    switch (answer[0]) {
      case 'claimed':
        return { status: 'claimed', pass: decodeClaimedPass(keyspace, conversation, answer) };
      case 'failed':
        return { status: 'failed', passId: answer[1], ...(answer[2] === 1 && { wakeTurn }) };
      case 'leased':
        return { status: 'leased', untilMs: Number(answer[1]) };
      case 'empty':
      case 'gone':
        return { status: answer[0] };
    }
  },
};

const takeOverPassScript: ScriptDefinition<
  [conversation: ConversationRef, owner: string, passId: string],
  PassClaimResult
> = {
  file: 'take-over-pass',
  args: ([, owner, passId]) => ({ owner, passId, leaseMs: PASS_LIMITS.leaseMs }),
  decode: (reply, [conversation], keyspace) => {
    const answer = reply as ['empty' | 'gone'] | ClaimedReply;
    if (answer[0] !== 'claimed') return { status: answer[0] };
    return { status: 'claimed', pass: decodeClaimedPass(keyspace, conversation, answer) };
  },
};

const heartbeatPassScript: ScriptDefinition<[lease: PassLease], { readonly status: 'renewed' } | PassLost> = {
  file: 'heartbeat-pass',
  args: ([{ passId, owner }]) => ({ passId, owner, leaseMs: PASS_LIMITS.leaseMs }),
  decode: decodeStatus,
};

export interface PassReasons {
  readonly status: 'current';
  readonly reasons: readonly Reason[];
  /** Smallest value of all requests. `calibration` is the largest value. */
  readonly refusedTokens?: number;
  readonly calibration?: number;
}

const readReasonsScript: ScriptDefinition<[lease: PassLease], PassReasons | PassLost> = {
  file: 'read-reasons',
  args: ([{ passId, owner }]) => ({ passId, owner }),
  decode: (reply, [{ conversation }], keyspace) => {
    const answer = reply as ['current', string, string, string] | [PassLost['status']];
    if (answer[0] !== 'current') return { status: answer[0] };
    const [status, reasons, refused, calibration] = answer;
    const pass = RecordFields.ofValues(keyspace.key(conversation, 'pass'), ['reasons'], [reasons]);
    return {
      status,
      reasons: decodeReasons(pass),
      ...(refused !== '' && { refusedTokens: pass.toNumber('refused', refused) }),
      ...(calibration !== '' && { calibration: pass.toNumber('calibration', calibration) }),
    };
  },
};

const recordPlanScript: ScriptDefinition<
  [lease: PassLease, plan: PassPlan],
  { readonly status: 'recorded' } | PassLost
> = {
  file: 'record-plan',
  args: ([{ passId, owner }, plan]) => ({ passId, owner, plan: JSON.stringify(plan) }),
  decode: decodeStatus,
};

const parkPassScript: ScriptDefinition<
  [lease: PassLease, job: string, parkMs: number],
  { readonly status: 'parked' } | PassLost
> = {
  file: 'park-pass',
  args: ([{ passId, owner }, job, parkMs]) => ({ passId, owner, job, parkMs }),
  decode: decodeStatus,
};

const releasePassScript: ScriptDefinition<[lease: PassLease], { readonly status: 'released' } | PassLost> = {
  file: 'release-pass',
  args: ([{ passId, owner }]) => ({ passId, owner }),
  decode: decodeStatus,
};
