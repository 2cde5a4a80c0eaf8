import { TurnfoldError } from '../../domain/errors.ts';
import type { PassLease, VersionCommit, VersionCommitResult } from '../../domain/ports/pass-store.ts';
import type { Version } from '../../domain/version.ts';
import type { Keyspace } from '../keys.ts';
import { encodePairs, type ScriptDefinition } from '../script.ts';
import { decodeEnd, type EndReply, endArgs } from './end.ts';

interface CommitRequest {
  readonly lease: PassLease;
  readonly commit: VersionCommit;
}

type Reply = EndReply | ['version_changed', number];

export function commitVersion(keyspace: Keyspace): ScriptDefinition<CommitRequest, VersionCommitResult> {
  return {
    file: 'commit-version',
    keys: ({ lease }) => keyspace.conversation(lease.conversation),
    args: ({ lease, commit }) => {
      const { version, expectedVersion, keepVersions } = commit;
      const { number, weight, base, baseTotal } = version;
      return [
        ...endArgs(lease, commit),
        expectedVersion,
        number,
        JSON.stringify(version),
        weight.tokens,
        weight.bytes,
        base,
        baseTotal.tokens,
        baseTotal.bytes,
        keepVersions,
        ...encodePairs(Object.entries(versionEvent(version))),
        ...encodePairs([...commit.checkpoints].map(([key, checkpoint]) => [key, JSON.stringify(checkpoint)])),
      ];
    },
    decode: (reply) => {
      const answer = reply as Reply;
      if (answer[0] === 'version_changed') return { status: 'version_changed', version: answer[1] };
      return decodeEnd(answer);
    },
  };
}

/**
 * Version numbers have no gaps, so that the one before a version is always known.
 * @throws conflict
 */
export function checkNumber({ expectedVersion, version }: VersionCommit): void {
  if (version.number === expectedVersion + 1) return;
  const field = 'version.number';
  throw new TurnfoldError('conflict', `${field}: ${version.number} does not follow version ${expectedVersion}`, {
    field,
    details: { expectedVersion, number: version.number },
  });
}

/** Fields of the event that tells of a version. */
export function versionEvent(version: Version): Readonly<Record<string, string>> {
  const { number, reasons, strategy, archived, tokensBefore, tokensAfter, durationMs, model } = version;
  return {
    version: String(number),
    reasons: reasons.join(','),
    strategy,
    archived: String(archived),
    before: String(tokensBefore),
    after: String(tokensAfter),
    durationMs: String(durationMs),
    model: model ?? '',
  };
}
