import type { ForkBegin, ForkBeginResult, ForkPlan } from '../../domain/ports/version-store.ts';
import { type Keyspace, STORE_SCHEMA } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';

type Reply = ['copying', number, string] | ['done' | 'exists'];

export function beginFork(keyspace: Keyspace): ScriptDefinition<ForkBegin, ForkBeginResult> {
  return {
    file: 'begin-fork',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ operation, agent, plan }) => [operation, STORE_SCHEMA, agent, encodePlan(plan)],
    decode: (reply) => {
      const answer = reply as Reply;
      if (answer[0] !== 'copying') return { status: answer[0] };
      return { status: 'copying', copied: answer[1], plan: decodePlan(answer[2]) };
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
