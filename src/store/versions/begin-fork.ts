import {
  FORK_LEASE_MS,
  type ForkBegin,
  type ForkBeginResult,
  type ForkPlan,
} from '../../domain/ports/version-store.ts';
import { corruptRecord } from '../corrupt-record.ts';
import { type Keyspace, STORE_SCHEMA } from '../keys.ts';
import { MAX_SEQ } from '../record-fields.ts';
import type { ScriptDefinition } from '../script.ts';
import { decodeForking, type ForkingReply } from './fork-lease.ts';

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
    decode: (reply, { conversation }) => {
      const answer = reply as Reply;
      if (answer[0] === 'forking') return decodeForking(answer);
      if (answer[0] === 'exists') return { status: 'exists' };
      const [status, head, plan] = answer;
      const made = decodePlan(plan, keyspace.key(conversation, 'c'));
      return status === 'done' ? { status, plan: made } : { status, copied: head, plan: made };
    },
  };
}

/** Ids hold no blank. */
function encodePlan({ source, version, head }: ForkPlan): string {
  return [version, head, source.tenant, source.id].join(' ');
}

function decodePlan(text: string, key: string): ForkPlan {
  const [, version, head, tenant = '', id = ''] = PLAN.exec(text) ?? [];
  if (version === undefined || Number(head) > MAX_SEQ)
    throw corruptRecord(key, 'forking', 'it is not the plan of a fork');
  return { source: { tenant, id }, version: Number(version), head: Number(head) };
}

/** version, head, tenant and id of the source */
const PLAN = /^(\d{1,15}) (\d{1,15}) (\S+) (\S+)$/;
