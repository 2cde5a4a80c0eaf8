import { decisionEvent } from '../../domain/event-record.ts';
import type { Decision, DecisionResult } from '../../domain/ports/proposal-store.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';
import { decodeForking, type ForkingReply } from '../versions/fork-lease.ts';
import { decodeDecisionAnswer } from './decision-answer.ts';

type Stale = Extract<DecisionResult, { status: 'stale' }>;
type Reply =
  | ['decided', number]
  | ['concluded', string]
  | ['stale', Stale['why']]
  | ForkingReply
  | ['not_found' | 'gone'];

export function decideProposal(keyspace: Keyspace): ScriptDefinition<Decision, DecisionResult> {
  return {
    file: 'decide-proposal',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ operation, proposal, verdict, wake }) => [
      operation,
      proposal,
      JSON.stringify(verdict),
      wake,
      ...Object.entries(decisionEvent(proposal, verdict)).flat(),
    ],
    decode: (reply, { conversation, operation }) => {
      const answer = reply as Reply;
      switch (answer[0]) {
        case 'decided':
          return { status: 'decided', needsWake: answer[1] === 1 };
        case 'concluded':
          return {
            status: 'concluded',
            answer: decodeDecisionAnswer(answer[1], keyspace.decision(conversation, operation)),
          };
        case 'stale':
          return { status: 'stale', why: answer[1] };
        case 'forking':
          return decodeForking(answer);
        default:
          return { status: answer[0] };
      }
    },
  };
}
