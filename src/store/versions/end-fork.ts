import type { ConversationRef } from '../../domain/ids.ts';
import { PASS_LIMITS } from '../../domain/pass.ts';
import type { ForkEndResult } from '../../domain/ports/version-store.ts';
import type { Version } from '../../domain/version.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';
import { shownTexts, versionArgs } from '../version-args.ts';

interface EndRequest {
  readonly conversation: ConversationRef;
  readonly operation: string;
  readonly version: Version;
}

type Reply = ['incomplete', number] | [Exclude<ForkEndResult['status'], 'incomplete'>];

export function endFork(keyspace: Keyspace): ScriptDefinition<EndRequest, ForkEndResult> {
  return {
    file: 'end-fork',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ operation, version }) => [
      operation,
      ...shownTexts(version),
      ...versionArgs(version, PASS_LIMITS.keepVersions),
    ],
    decode: (reply) => {
      const answer = reply as Reply;
      return answer[0] === 'incomplete' ? { status: 'incomplete', head: answer[1] } : { status: answer[0] };
    },
  };
}
