import type { Backoff } from '../domain/conversation.ts';
import type { PassOutcome, Reason } from '../domain/pass.ts';
import type { IdleTtl } from '../domain/policy.ts';
import { checkNumber, type Version } from '../domain/version.ts';
import { encodeBackoff } from './conversation-record.ts';
import type { PassLease, PassLost } from './pass-record.ts';
import { decodeReply, encodePairs, type ScriptDefinition } from './script.ts';
import { encodeTexts, type KeptTexts, versionArgs } from './version-record.ts';

export type PassEndResult =
  | { readonly status: 'ended'; readonly wakeTurn?: string }
  | { readonly status: 'reasons_added' }
  | PassLost;

export interface PassEnd extends IdleTtl {
  readonly outcome: PassOutcome;
  /**
   * Reasons that the caller has read. If a request has added other reasons, nothing is written: `reasons_added`.
   * Absent: no check.
   */
  readonly seenReasons?: readonly Reason[];
  readonly backoff: Backoff;
  /** Queue job that wakes the waiting turn. The store records and returns this job if a turn waited for the pass. */
  readonly wakeTurn: string;
}

export const endPassScript: ScriptDefinition<[lease: PassLease, end: PassEnd], PassEndResult> = {
  file: 'end-pass',
  args: endArgs,
  decode: (reply) => decodeReply<PassEndResult>(reply, { ended: readEnded }),
};

function endArgs([{ passId, owner }, end]: readonly [lease: PassLease, end: PassEnd]) {
  return {
    passId,
    owner,
    outcome: end.outcome.kind,
    backoff: encodeBackoff(end.backoff),
    wake: end.wakeTurn,
    seen: end.seenReasons?.join(',') ?? '*',
    ttl: end.conversationTtl,
  };
}

function readEnded(wakeTurn: string) {
  return wakeTurn === '' ? {} : { wakeTurn };
}

export type VersionCommitResult = PassEndResult | { readonly status: 'version_changed'; readonly version: number };

export interface VersionCommit extends PassEnd, KeptTexts {
  /**
   * Version on which the new version is based. If that base is no longer live, nothing is written: `version_changed`.
   */
  readonly expectedVersion: number;
  readonly version: Version;
  /** Number of older versions to keep besides restore points. */
  readonly keepVersions: number;
}

export const commitVersionScript: ScriptDefinition<[lease: PassLease, commit: VersionCommit], VersionCommitResult> = {
  file: 'commit-version',
  args: ([lease, commit]) => {
    checkNumber(commit);
    return {
      ...endArgs([lease, commit]),
      expected: commit.expectedVersion,
      rest: [...encodePairs(encodeTexts(commit)), ...versionArgs(commit.version, commit.keepVersions)],
    };
  },
  decode: (reply) =>
    decodeReply<VersionCommitResult>(reply, {
      ended: readEnded,
      version_changed: (version: number) => ({ version }),
    }),
};
