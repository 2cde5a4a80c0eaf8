import type { Redis } from 'ioredis';
import type { Acknowledged } from '../domain/durability.ts';
import type { ConversationRef } from '../domain/ids.ts';
import { hasHardReason, PASS_LIMITS, type Reason } from '../domain/pass.ts';
import type { PassPlan } from '../domain/pass-plan.ts';
import { type Forking, readForking } from './conversation-record.ts';
import type { Keyspace } from './keys.ts';
import { commitVersionScript, endPassScript } from './pass-ends.ts';
import {
  type ClaimedPass,
  decodeClaimedPass,
  decodeReasons,
  type PassLease,
  type PassLost,
  type PassWrite,
} from './pass-record.ts';
import { proposeVersionScript, refuseApprovalScript } from './proposals.ts';
import { RecordFields } from './records.ts';
import { decodeReply, decodeStatus, type ScriptDefinition, scriptBinder } from './script.ts';

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
  /** Correction factor for token counts, if the requester counts tokens. Later requests can only raise the value. */
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
  decode: (reply) =>
    decodeReply<PassRequestResult>(reply, { requested: readRequested, joined: readRequested, forking: readForking }),
};

function readRequested(passId: string, needsWake: number) {
  return { passId, needsWake: needsWake === 1 };
}

export type PassClaimResult =
  | { readonly status: 'claimed'; readonly pass: ClaimedPass }
  | { readonly status: 'empty' | 'gone' }
  /** Another worker owns the pass, or the pass waits for summarization jobs of another queue job. */
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
  decode: (reply, [conversation, , , wakeTurn], keyspace) =>
    decodeReply<PassClaimResult>(reply, {
      claimed: (pass: string[], record: string[]) => ({
        pass: decodeClaimedPass(keyspace, conversation, pass, record),
      }),
      failed: (passId: string, isAwaited: number) => ({ passId, ...(isAwaited === 1 && { wakeTurn }) }),
      leased: (until: string) => ({ untilMs: Number(until) }),
    }),
};

type TakeOverResult = Extract<PassClaimResult, { readonly status: 'claimed' } | { readonly status: 'empty' | 'gone' }>;

const takeOverPassScript: ScriptDefinition<
  [conversation: ConversationRef, owner: string, passId: string],
  TakeOverResult
> = {
  file: 'take-over-pass',
  args: ([, owner, passId]) => ({ owner, passId, leaseMs: PASS_LIMITS.leaseMs }),
  decode: (reply, [conversation], keyspace) =>
    decodeReply<TakeOverResult>(reply, {
      claimed: (pass: string[], record: string[]) => ({
        pass: decodeClaimedPass(keyspace, conversation, pass, record),
      }),
    }),
};

const heartbeatPassScript: ScriptDefinition<[lease: PassLease], PassWrite<'renewed'>> = {
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
  decode: (reply, [{ conversation }], keyspace) =>
    decodeReply<PassReasons | PassLost>(reply, {
      current: (reasons: string, refused: string, calibration: string) => {
        const pass = RecordFields.ofValues(keyspace.key(conversation, 'pass'), ['reasons'], [reasons]);
        return {
          reasons: decodeReasons(pass),
          ...(refused !== '' && { refusedTokens: pass.toNumber('refused', refused) }),
          ...(calibration !== '' && { calibration: pass.toNumber('calibration', calibration) }),
        };
      },
    }),
};

const recordPlanScript: ScriptDefinition<[lease: PassLease, plan: PassPlan], PassWrite<'recorded'>> = {
  file: 'record-plan',
  args: ([{ passId, owner }, plan]) => ({ passId, owner, plan: JSON.stringify(plan) }),
  decode: decodeStatus,
};

const parkPassScript: ScriptDefinition<[lease: PassLease, job: string, parkMs: number], PassWrite<'parked'>> = {
  file: 'park-pass',
  args: ([{ passId, owner }, job, parkMs]) => ({ passId, owner, job, parkMs }),
  decode: decodeStatus,
};

const releasePassScript: ScriptDefinition<[lease: PassLease], PassWrite<'released'>> = {
  file: 'release-pass',
  args: ([{ passId, owner }]) => ({ passId, owner }),
  decode: decodeStatus,
};
