import type { Redis } from 'ioredis';
import type { PassPlan } from '../domain/compaction/plan.ts';
import { hasHardReason } from '../domain/compaction/thresholds.ts';
import type { ConversationRef } from '../domain/ids.ts';
import { PASS_LIMITS } from '../domain/pass.ts';
import type {
  PassClaimResult,
  PassEnd,
  PassEndResult,
  PassLease,
  PassLost,
  PassRequest,
  PassRequestResult,
  PassStore,
  VersionCommit,
  VersionCommitResult,
} from '../domain/ports/pass-store.ts';
import { checkNumber } from '../domain/version.ts';
import { decodeForking, encodeBackoff, type ForkingReply } from './conversation-record.ts';
import type { Keyspace } from './keys.ts';
import { type ClaimedReply, decodeClaimedPass, decodeReasons as readPassReasons } from './pass-record.ts';
import { proposeVersion, refuseApproval } from './proposals.ts';
import { RecordFields } from './records.ts';
import { bindScript, encodePairs, type ScriptDefinition } from './script.ts';
import { encodeTexts, versionArgs } from './version-record.ts';

/** Passes in Redis. Every operation is one script. */
export function openPassStore(redis: Redis, keyspace: Keyspace): PassStore {
  const request = bindScript(redis, requestPassScript(keyspace));
  const claim = bindScript(redis, claimPass(keyspace));
  const takeOver = bindScript(redis, takeOverPassScript(keyspace));
  const heartbeat = bindScript(redis, heartbeatPassScript(keyspace));
  const reasons = bindScript(redis, readReasonsScript(keyspace));
  const record = bindScript(redis, recordPlan(keyspace));
  const park = bindScript(redis, parkPass(keyspace));
  const end = bindScript(redis, endPass(keyspace));
  const commit = bindScript(redis, commitVersion(keyspace));
  const propose = bindScript(redis, proposeVersion(keyspace));
  const refuse = bindScript(redis, refuseApproval(keyspace));
  return {
    requestPass: request,
    claimPass: (conversation, owner, job, wakeTurn) => claim({ conversation, owner, job, wakeTurn }),
    takeOverPass: (conversation, owner, passId) => takeOver({ conversation, owner, passId }),
    heartbeatPass: heartbeat,
    readReasons: reasons,
    recordPlan: (lease, plan) => record({ lease, plan }),
    releasePass: bindScript(redis, releasePass(keyspace)),
    parkPass: (lease, job, parkMs) => park({ lease, job, parkMs }),
    endPass: (lease, passEnd) => end({ lease, end: passEnd }),
    commitVersion: async (lease, versionCommit) => {
      checkNumber(versionCommit);
      return await commit({ lease, commit: versionCommit });
    },
    proposeVersion: (lease, proposal) => propose({ lease, proposal }),
    refuseApproval: (lease, refusal) => refuse({ lease, refusal }),
  };
}

type RequestReply = ['requested' | 'joined', string, number] | ForkingReply | ['not_found' | 'gone'];

export function requestPassScript(keyspace: Keyspace): ScriptDefinition<PassRequest, PassRequestResult> {
  return {
    file: 'request-pass',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ passId, wake, reasons, refusedTokens, calibration }) => [
      passId,
      wake,
      refusedTokens ?? '',
      calibration ?? '',
      hasHardReason(reasons) ? 1 : 0,
      ...reasons,
    ],
    decode: (reply) => {
      const answer = reply as RequestReply;
      if (answer[0] === 'forking') return decodeForking(answer);
      if (answer.length === 1) return { status: answer[0] };
      return { status: answer[0], passId: answer[1], needsWake: answer[2] === 1 };
    },
  };
}

interface ClaimRequest {
  readonly conversation: ConversationRef;
  readonly owner: string;
  readonly job: string;
  readonly wakeTurn: string;
}

type ClaimReply = ['empty' | 'gone'] | ['held', string] | ['failed', string, number] | ClaimedReply;

function claimPass(keyspace: Keyspace): ScriptDefinition<ClaimRequest, PassClaimResult> {
  return {
    file: 'claim-pass',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ owner, job, wakeTurn }) => [owner, job, wakeTurn, PASS_LIMITS.leaseMs, PASS_LIMITS.maxAttempts],
    decode: (reply, { conversation, wakeTurn }) => {
      const answer = reply as ClaimReply;
      switch (answer[0]) {
        case 'claimed':
          return { status: 'claimed', pass: decodeClaimedPass(keyspace, conversation, answer) };
        case 'failed':
          return { status: 'failed', passId: answer[1], ...(answer[2] === 1 && { wakeTurn }) };
        case 'held':
          return { status: 'held', untilMs: Number(answer[1]) }; // checked by the script
        case 'empty':
        case 'gone':
          return { status: answer[0] };
      }
    },
  };
}

type TakeOverReply = ['empty' | 'gone'] | ClaimedReply;

/** The input is the lease that the script grants. */
function takeOverPassScript(keyspace: Keyspace): ScriptDefinition<PassLease, PassClaimResult> {
  return {
    file: 'take-over-pass',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ owner, passId }) => [owner, passId, PASS_LIMITS.leaseMs],
    decode: (reply, { conversation }) => {
      const answer = reply as TakeOverReply;
      if (answer[0] !== 'claimed') return { status: answer[0] };
      return { status: 'claimed', pass: decodeClaimedPass(keyspace, conversation, answer) };
    },
  };
}

function heartbeatPassScript(keyspace: Keyspace): ScriptDefinition<PassLease, { readonly status: 'held' } | PassLost> {
  return {
    file: 'heartbeat-pass',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ passId, owner }) => [passId, owner, PASS_LIMITS.leaseMs],
    decode: (reply) => ({ status: reply as 'held' | PassLost['status'] }),
  };
}

type ReadReasonsReply = ['held', string, string, string] | [PassLost['status']];

function readReasonsScript(
  keyspace: Keyspace,
): ScriptDefinition<PassLease, Awaited<ReturnType<PassStore['readReasons']>>> {
  return {
    file: 'read-reasons',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ passId, owner }) => [passId, owner],
    decode: (reply, { conversation }) => {
      const answer = reply as ReadReasonsReply;
      if (answer[0] !== 'held') return { status: answer[0] };
      const [status, reasons, refused, calibration] = answer;
      const pass = RecordFields.ofValues(keyspace.key(conversation, 'pass'), ['reasons'], [reasons]);
      return {
        status,
        reasons: readPassReasons(pass),
        ...(refused !== '' && { refusedTokens: pass.toNumber('refused', refused) }),
        ...(calibration !== '' && { calibration: pass.toNumber('calibration', calibration) }),
      };
    },
  };
}

interface PlanRecord {
  readonly lease: PassLease;
  readonly plan: PassPlan;
}

function recordPlan(keyspace: Keyspace): ScriptDefinition<PlanRecord, { readonly status: 'recorded' } | PassLost> {
  return {
    file: 'record-plan',
    keys: ({ lease }) => keyspace.conversation(lease.conversation),
    args: ({ lease, plan }) => [lease.passId, lease.owner, JSON.stringify(plan)],
    decode: (reply) => ({ status: reply as 'recorded' | PassLost['status'] }),
  };
}

interface Parking {
  readonly lease: PassLease;
  readonly job: string;
  readonly parkMs: number;
}

function parkPass(keyspace: Keyspace): ScriptDefinition<Parking, { readonly status: 'parked' } | PassLost> {
  return {
    file: 'park-pass',
    keys: ({ lease }) => keyspace.conversation(lease.conversation),
    args: ({ lease, job, parkMs }) => [lease.passId, lease.owner, job, parkMs],
    decode: (reply) => ({ status: reply as 'parked' | PassLost['status'] }),
  };
}

type ReleaseResult = { readonly status: 'released' } | PassLost;

function releasePass(keyspace: Keyspace): ScriptDefinition<PassLease, ReleaseResult> {
  return {
    file: 'release-pass',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ passId, owner }) => [passId, owner],
    decode: (reply) => ({ status: reply as ReleaseResult['status'] }),
  };
}

interface EndRequest {
  readonly lease: PassLease;
  readonly end: PassEnd;
}

export type EndReply = ['ended', string] | ['reasons_added' | PassLost['status']];

function endPass(keyspace: Keyspace): ScriptDefinition<EndRequest, PassEndResult> {
  return {
    file: 'end-pass',
    keys: ({ lease }) => keyspace.conversation(lease.conversation),
    args: ({ lease, end }) => endArgs(lease, end),
    decode: (reply) => decodeEnd(reply as EndReply),
  };
}

/** First arguments of every script that ends a pass for its owner. */
function endArgs(
  { passId, owner }: PassLease,
  { outcome, backoff, wakeTurn, seenReasons, conversationTtl }: PassEnd,
): (string | number)[] {
  const seen = seenReasons?.join(',') ?? '*';
  return [passId, owner, outcome.kind, encodeBackoff(backoff), wakeTurn, seen, conversationTtl ?? ''];
}

function decodeEnd(answer: EndReply): PassEndResult {
  if (answer[0] !== 'ended') return { status: answer[0] };
  return { status: 'ended', ...(answer[1] !== '' && { wakeTurn: answer[1] }) };
}

interface CommitRequest {
  readonly lease: PassLease;
  readonly commit: VersionCommit;
}

type CommitVersionReply = EndReply | ['version_changed', number];

function commitVersion(keyspace: Keyspace): ScriptDefinition<CommitRequest, VersionCommitResult> {
  return {
    file: 'commit-version',
    keys: ({ lease }) => keyspace.conversation(lease.conversation),
    args: ({ lease, commit }) => [
      ...endArgs(lease, commit),
      commit.expectedVersion,
      ...encodePairs(encodeTexts(commit)),
      ...versionArgs(commit.version, commit.keepVersions),
    ],
    decode: (reply) => {
      const answer = reply as CommitVersionReply;
      if (answer[0] === 'version_changed') return { status: 'version_changed', version: answer[1] };
      return decodeEnd(answer);
    },
  };
}
