import type { PassRequest, PassRequestResult } from '../../domain/ports/pass-store.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';

type Reply = ['requested' | 'joined', string, number] | ['not_found' | 'forking' | 'gone'];

export function requestPass(keyspace: Keyspace): ScriptDefinition<PassRequest, PassRequestResult> {
  return {
    file: 'request-pass',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ passId, wake, reasons }) => [passId, wake, ...reasons],
    decode: (reply) => {
      const answer = reply as Reply;
      if (answer.length === 1) return { status: answer[0] };
      return { status: answer[0], passId: answer[1], needsWake: answer[2] === 1 };
    },
  };
}
