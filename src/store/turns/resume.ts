import type { ResumeRequest, ResumeResult } from '../../domain/ports/turn-store.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';

type Reply = ['fulfilled', number] | ['partial' | 'not_waiting' | 'not_found' | 'gone'];

export function resumeTurn(keyspace: Keyspace): ScriptDefinition<ResumeRequest, ResumeResult> {
  return {
    file: 'resume-turn',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ turn, wake, answers }) => [turn, wake, ...[...answers].flat()],
    decode: (reply, { wake }) => {
      const answer = reply as Reply;
      if (answer[0] !== 'fulfilled') return { status: answer[0] };
      return { status: 'fulfilled', ...(answer[1] === 1 && { wake }) };
    },
  };
}
