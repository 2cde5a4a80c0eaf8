import type { Backoff } from '../domain/conversation.ts';
import type { PassOutcome, Reason } from '../domain/pass.ts';
import type { IdleTtl } from '../domain/policy.ts';
import { checkNumber, type Version } from '../domain/version.ts';
import { encodeBackoff } from './conversation-record.ts';
import type { PassLease, PassLost } from './pass-record.ts';
import { type Argument, encodePairs, type ScriptDefinition } from './script.ts';
import { encodeTexts, type KeptTexts, versionArgs } from './version-record.ts';

type EndReply = ['ended', string] | ['reasons_added' | PassLost['status']];

export type PassEndResult =
  /** If `wakeTurn` is present, the worker adds that job to the queue. */
  { readonly status: 'ended'; readonly wakeTurn?: string } | { readonly status: 'reasons_added' } | PassLost;

/** Ends a compaction pass without a new version. */
export interface PassEnd extends IdleTtl {
  readonly outcome: PassOutcome;
  /**
   * Reasons that the worker has considered. If a request has added others since, nothing is written and the answer is
   * `reasons_added`. Absent: no check.
   */
  readonly seenReasons?: readonly Reason[];
  readonly backoff: Backoff;
  /**
   * Id of a queue job that wakes the turn. If a turn waited for this compaction pass, the job's id is stored and
   * returned, and the worker adds the job.
   */
  readonly wakeTurn: string;
}

export const endPassScript: ScriptDefinition<[lease: PassLease, end: PassEnd], PassEndResult> = {
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

export type VersionCommitResult = PassEndResult | { readonly status: 'version_changed'; readonly version: number };

/** Ends a compaction pass with a new version. */
export interface VersionCommit extends PassEnd, KeptTexts {
  /**
   * Version on which the new one is based. If it is no longer the current one, nothing is written and the answer is
   * `version_changed`.
   */
  readonly expectedVersion: number;
  readonly version: Version;
  /** Number of older versions to keep, in addition to restore points. */
  readonly keepVersions: number;
}

export const commitVersionScript: ScriptDefinition<[lease: PassLease, commit: VersionCommit], VersionCommitResult> = {
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
