import type { ForkBegin, ForkBeginResult, ForkPlan } from '../../domain/ports/version-store.ts';
import { type Keyspace, STORE_SCHEMA } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';
import { decodeForking, FORK_LEASE_MS, type ForkingReply } from './fork-lease.ts';

/** Whose a fork is until its end. No id holds a blank, so a program that knows no forks takes it for another agent's. */
const NOBODY = 'nobody yet';

type Reply = ['copying' | 'done', number, string] | ['exists'] | ForkingReply;

export function beginFork(keyspace: Keyspace): ScriptDefinition<ForkBegin, ForkBeginResult> {
  return {
    file: 'begin-fork',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ operation, agent, plan, conversationTtl = '' }) => {
      const made = [operation, STORE_SCHEMA, agent, NOBODY, encodePlan(plan)];
      return [...made, FORK_LEASE_MS, conversationTtl];
    },
    decode: (reply) => {
      const answer = reply as Reply;
      if (answer[0] === 'forking') return decodeForking(answer);
      if (answer[0] === 'exists') return { status: 'exists' };
      const [status, head, plan] = answer;
      return status === 'done' ? { status, plan: decodePlan(plan) } : { status, copied: head, plan: decodePlan(plan) };
    },
  };
}

/** Ids hold no blank. */
function encodePlan({ source, version, head }: ForkPlan): string {
  return [version, head, source.tenant, source.id].join(' ');
}

function decodePlan(text: string): ForkPlan {
  const [version, head, tenant = '', id = ''] = text.split(' ');
  return { source: { tenant, id }, version: Number(version), head: Number(head) };
}
