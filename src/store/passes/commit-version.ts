import type { PassLease, VersionCommit, VersionCommitResult } from '../../domain/ports/pass-store.ts';
import type { Keyspace } from '../keys.ts';
import { encodePairs, type ScriptDefinition } from '../script.ts';
import { versionArgs } from '../version-args.ts';
import { encodeTexts } from '../versions/read-texts.ts';
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
    args: ({ lease, commit }) => [
      ...endArgs(lease, commit),
      commit.expectedVersion,
      ...encodePairs(encodeTexts(commit)),
      ...versionArgs(commit.version, commit.keepVersions),
    ],
    decode: (reply) => {
      const answer = reply as Reply;
      if (answer[0] === 'version_changed') return { status: 'version_changed', version: answer[1] };
      return decodeEnd(answer);
    },
  };
}
