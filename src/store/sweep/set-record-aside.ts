import type { ConversationRef } from '../../domain/ids.ts';
import type { QuarantinedRecord, QuarantineRequest, SweepStore } from '../../domain/ports/sweep-store.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';

interface RecordRequest {
  readonly conversation: ConversationRef;
  readonly request: QuarantineRequest;
}

type Reply = ['kept'] | ['set_aside', string, number];

export function quarantineRecord(
  keyspace: Keyspace,
): ScriptDefinition<RecordRequest, Awaited<ReturnType<SweepStore['quarantineRecord']>>> {
  return {
    file: 'set-record-aside',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ request }) => [request.key, request.why, request.wakeTurn],
    decode: (reply, { conversation, request }) => {
      const answer = reply as Reply;
      if (answer[0] === 'kept') return undefined;
      const [, why, needsWake] = answer;
      const setAside: QuarantinedRecord = { shard: keyspace.shardOf(conversation), set: 'key', name: request.key, why };
      return { setAside, needsWake: needsWake === 1 };
    },
  };
}
