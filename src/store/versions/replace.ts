import type { VersionReplacement, VersionReplacementResult } from '../../domain/ports/version-store.ts';
import { checkNumber } from '../../domain/version.ts';
import { encodeBackoff } from '../conversation-record.ts';
import type { Keyspace } from '../keys.ts';
import { OPERATION_MS, type ScriptDefinition } from '../script.ts';
import { shownTexts, versionArgs } from '../version-args.ts';
import { decodeForking, type ForkingReply } from './fork-lease.ts';

type Reply =
  | ['replaced' | 'known', number, string]
  | ['changed', number, number]
  | ForkingReply
  | ['busy' | 'text_gone' | 'not_found' | 'gone'];

export function replaceVersion(keyspace: Keyspace): ScriptDefinition<VersionReplacement, VersionReplacementResult> {
  return {
    file: 'replace-version',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: (replacement) => {
      checkNumber(replacement);
      const { operation, expectedVersion, expectedHead, version, backoff, keepsNewer, wakeTurn, keepVersions } =
        replacement;
      return [
        operation,
        OPERATION_MS,
        expectedVersion,
        expectedHead,
        keepsNewer ? 1 : 0,
        encodeBackoff(backoff),
        wakeTurn,
        ...shownTexts(version),
        ...versionArgs(version, keepVersions),
      ];
    },
    decode: (reply) => {
      const answer = reply as Reply;
      switch (answer[0]) {
        case 'replaced':
        case 'known':
          return { status: answer[0], version: answer[1], ...(answer[2] !== '' && { wakeTurn: answer[2] }) };
        case 'changed':
          return { status: 'changed', version: answer[1], head: answer[2] };
        case 'forking':
          return decodeForking(answer);
        default:
          return { status: answer[0] };
      }
    },
  };
}
