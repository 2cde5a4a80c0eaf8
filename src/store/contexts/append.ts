import type { AppendRequest, AppendResult } from '../../domain/ports/context-store.ts';
import { encodeOpenCall } from '../conversation-record.ts';
import { type Keyspace, STORE_SCHEMA } from '../keys.ts';
import { encodeMessages } from '../log-entry.ts';
import { OPERATION_MS, type ScriptDefinition } from '../script.ts';
import { decodeForking, type ForkingReply } from '../versions/fork-lease.ts';

type Reply =
  | ['appended' | 'known', number, number]
  | ['other_agent', string]
  | ['busy']
  | ForkingReply
  | ['conflict', number];

export function appendLog(keyspace: Keyspace): ScriptDefinition<AppendRequest, AppendResult> {
  return {
    file: 'append-log',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ operation, agent, expectedHead, opens, closes, messages }) => [
      operation,
      agent,
      STORE_SCHEMA,
      expectedHead,
      OPERATION_MS,
      opens.length,
      ...opens.map(encodeOpenCall),
      closes.length,
      ...closes,
      ...encodeMessages(messages),
    ],
    decode: (reply) => {
      const answer = reply as Reply;
      switch (answer[0]) {
        case 'other_agent':
          return { status: 'other_agent', agent: answer[1] };
        case 'busy':
          return { status: 'busy' };
        case 'forking':
          return decodeForking(answer);
        case 'conflict':
          return { status: 'conflict', head: answer[1] };
        case 'appended':
        case 'known':
          return { status: answer[0], from: answer[1], to: answer[2] };
      }
    },
  };
}
