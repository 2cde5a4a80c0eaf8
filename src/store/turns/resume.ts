import type { AnswerRequest, AnswerResult, StoredAnswer } from '../../domain/ports/turn-answers.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';

type Reply =
  | ['answered', number]
  | ['still_waiting' | 'not_found' | 'gone']
  | ['not_waiting', string]
  | ['other_kind', string, StoredAnswer['for']];

export function resumeTurn(keyspace: Keyspace): ScriptDefinition<AnswerRequest, AnswerResult> {
  return {
    file: 'resume-turn',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ turn, wake, answers }) => [
      turn,
      wake,
      ...[...answers].flatMap(([call, { for: kind, json, unused }]) => [
        call,
        kind,
        json,
        `${unused.tokens} ${unused.bytes}\n${unused.json ?? ''}`,
      ]),
    ],
    decode: (reply, { wake }) => {
      const answer = reply as Reply;
      switch (answer[0]) {
        case 'answered':
          return { status: answer[0], ...(answer[1] === 1 && { wake }) };
        case 'not_waiting':
          return { status: answer[0], call: answer[1] };
        case 'other_kind':
          return { status: answer[0], call: answer[1], for: answer[2] };
        default:
          return { status: answer[0] };
      }
    },
  };
}
