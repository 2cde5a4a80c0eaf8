import type { Redis } from 'ioredis';
import type { ConversationRef } from '../../domain/ids.ts';
import type { Briefing, KeepSystemResult, Lost, TurnLease } from '../../domain/ports/turn-store.ts';
import { callStore } from '../corrupt-record.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';
import { turnLeaseArgs } from './lease.ts';

/** Fields of `txt:<id>`: the context of a turn while it is open; `<turn>`, and behind a line break the last system prompt. */
const contextField = (turn: string): string => `c:${turn}`;
const SYSTEM = 'system';

interface KeepRequest {
  readonly lease: TurnLease;
  readonly system: string;
}

export function keepSystem(keyspace: Keyspace): ScriptDefinition<KeepRequest, KeepSystemResult> {
  return {
    file: 'keep-system',
    keys: ({ lease }) => keyspace.conversation(lease.conversation),
    args: ({ lease, system }) => [...turnLeaseArgs(lease), system],
    decode: (reply) => {
      const [status, system] = reply as ['kept', string] | [Lost['status']];
      return status === 'kept' ? { status, system: system ?? '' } : { status };
    },
  };
}

/** Reads without a script: while a turn is the head, nothing else writes these. */
export async function readBriefing(
  redis: Redis,
  keyspace: Keyspace,
  conversation: ConversationRef,
  turn: string,
): Promise<Briefing> {
  const key = keyspace.key(conversation, 'cp');
  const [context, kept] = await callStore(() => redis.hmget(key, contextField(turn), SYSTEM));
  const isOfTurn = typeof kept === 'string' && kept.startsWith(`${turn}\n`);
  return {
    ...(typeof context === 'string' && { context }),
    ...(isOfTurn && { system: kept.slice(turn.length + 1) }),
  };
}

/** The system prompt of the last turn that had one written; undefined where none had. */
export async function readSystem(
  redis: Redis,
  keyspace: Keyspace,
  conversation: ConversationRef,
): Promise<string | undefined> {
  const kept = await callStore(() => redis.hget(keyspace.key(conversation, 'cp'), SYSTEM));
  return typeof kept === 'string' ? kept.slice(kept.indexOf('\n') + 1) : undefined;
}
