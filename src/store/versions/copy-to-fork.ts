import type { ConversationRef } from '../../domain/ids.ts';
import { FORK_LEASE_MS, type ForkBatch, type ForkLost } from '../../domain/ports/version-store.ts';
import { encodeOpenCall } from '../conversation-record.ts';
import type { Keyspace } from '../keys.ts';
import { encodeLogEntry } from '../log-entry.ts';
import { encodePairs, type ScriptDefinition } from '../script.ts';
import { encodeTexts } from './read-texts.ts';

interface CopyRequest {
  readonly conversation: ConversationRef;
  readonly operation: string;
  readonly batch: ForkBatch;
}

type Copied = { readonly status: 'copied'; readonly head: number } | ForkLost;
type Reply = ['copied', number] | [ForkLost['status']];

export function copyToFork(keyspace: Keyspace): ScriptDefinition<CopyRequest, Copied> {
  return {
    file: 'copy-to-fork',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ operation, batch: { expectedHead, texts, opens, closes, entries } }) => [
      operation,
      FORK_LEASE_MS,
      expectedHead,
      ...encodePairs(encodeTexts(texts)),
      entries.length,
      ...entries.flatMap((entry) => [entry.message.role === 'user' ? 1 : 0, encodeLogEntry(entry)]),
      opens.length,
      ...opens.map(encodeOpenCall),
      closes.length,
      ...closes,
    ],
    decode: (reply) => {
      const answer = reply as Reply;
      return answer[0] === 'copied' ? { status: 'copied', head: answer[1] } : { status: answer[0] };
    },
  };
}
