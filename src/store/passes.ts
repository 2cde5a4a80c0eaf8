import type { Redis } from 'ioredis';
import { hasHardReason } from '../domain/compaction/thresholds.ts';
import { PASS_LIMITS } from '../domain/pass.ts';
import type { PassEnd, PassEndResult, PassLease, PassLost, PassStore } from '../domain/ports/pass-store.ts';
import { checkNumber } from '../domain/version.ts';
import { decodeForking, encodeBackoff, type ForkingReply } from './conversation-record.ts';
import type { Keyspace } from './keys.ts';
import { type ClaimedReply, decodeClaimedPass, decodeReasons } from './pass-record.ts';
import { proposeVersionScript, refuseApprovalScript } from './proposals.ts';
import { RecordFields } from './records.ts';
import { type Argument, decodeStatus, encodePairs, type ScriptOf, scriptBinder } from './script.ts';
import { encodeTexts, versionArgs } from './version-record.ts';

/** Opens the store of compaction passes in Redis. Each operation is one script. */
export function openPassStore(redis: Redis, keyspace: Keyspace): PassStore {
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

type RequestReply = ['requested' | 'joined', string, number] | ForkingReply | ['not_found' | 'gone'];

export const requestPassScript: ScriptOf<PassStore['requestPass']> = {
  file: 'request-pass',
  args: ([{ passId, wake, reasons, refusedTokens, calibration }]) => [
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

type ClaimReply = ['empty' | 'gone'] | ['leased', string] | ['failed', string, number] | ClaimedReply;

const claimPassScript: ScriptOf<PassStore['claimPass']> = {
  file: 'claim-pass',
  args: ([, owner, job, wakeTurn]) => [owner, job, wakeTurn, PASS_LIMITS.leaseMs, PASS_LIMITS.maxAttempts],
  decode: (reply, [conversation, , , wakeTurn], keyspace) => {
    const answer = reply as ClaimReply;
    switch (answer[0]) {
      case 'claimed':
        return { status: 'claimed', pass: decodeClaimedPass(keyspace, conversation, answer) };
      case 'failed':
        return { status: 'failed', passId: answer[1], ...(answer[2] === 1 && { wakeTurn }) };
      case 'leased':
        return { status: 'leased', untilMs: Number(answer[1]) }; // the script returns no other value
      case 'empty':
      case 'gone':
        return { status: answer[0] };
    }
  },
};

const takeOverPassScript: ScriptOf<PassStore['takeOverPass']> = {
  file: 'take-over-pass',
  args: ([, owner, passId]) => [owner, passId, PASS_LIMITS.leaseMs],
  decode: (reply, [conversation], keyspace) => {
    const answer = reply as ['empty' | 'gone'] | ClaimedReply;
    if (answer[0] !== 'claimed') return { status: answer[0] };
    return { status: 'claimed', pass: decodeClaimedPass(keyspace, conversation, answer) };
  },
};

const heartbeatPassScript: ScriptOf<PassStore['heartbeatPass']> = {
  file: 'heartbeat-pass',
  args: ([{ passId, owner }]) => [passId, owner, PASS_LIMITS.leaseMs],
  decode: decodeStatus,
};

const readReasonsScript: ScriptOf<PassStore['readReasons']> = {
  file: 'read-reasons',
  args: ([{ passId, owner }]) => [passId, owner],
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

const recordPlanScript: ScriptOf<PassStore['recordPlan']> = {
  file: 'record-plan',
  args: ([{ passId, owner }, plan]) => [passId, owner, JSON.stringify(plan)],
  decode: decodeStatus,
};

const parkPassScript: ScriptOf<PassStore['parkPass']> = {
  file: 'park-pass',
  args: ([{ passId, owner }, job, parkMs]) => [passId, owner, job, parkMs],
  decode: decodeStatus,
};

const releasePassScript: ScriptOf<PassStore['releasePass']> = {
  file: 'release-pass',
  args: ([{ passId, owner }]) => [passId, owner],
  decode: decodeStatus,
};

type EndReply = ['ended', string] | ['reasons_added' | PassLost['status']];

const endPassScript: ScriptOf<PassStore['endPass']> = {
  file: 'end-pass',
  args: ([lease, end]) => endArgs(lease, end),
  decode: (reply) => decodeEnd(reply as EndReply),
};

/** First arguments of every script with which the owner of a pass ends it. */
function endArgs(
  { passId, owner }: PassLease,
  { outcome, backoff, wakeTurn, seenReasons, conversationTtl }: PassEnd,
): Argument[] {
  const seen = seenReasons?.join(',') ?? '*';
  return [passId, owner, outcome.kind, encodeBackoff(backoff), wakeTurn, seen, conversationTtl ?? ''];
}

function decodeEnd(answer: EndReply): PassEndResult {
  if (answer[0] !== 'ended') return { status: answer[0] };
  return { status: 'ended', ...(answer[1] !== '' && { wakeTurn: answer[1] }) };
}

const commitVersionScript: ScriptOf<PassStore['commitVersion']> = {
  file: 'commit-version',
  args: ([lease, commit]) => {
    checkNumber(commit);
    return [
      ...endArgs(lease, commit),
      commit.expectedVersion,
      ...encodePairs(encodeTexts(commit)),
      ...versionArgs(commit.version, commit.keepVersions),
    ];
  },
  decode: (reply) => {
    const answer = reply as EndReply | ['version_changed', number];
    if (answer[0] === 'version_changed') return { status: 'version_changed', version: answer[1] };
    return decodeEnd(answer);
  },
};
