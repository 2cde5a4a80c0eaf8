import type { PassEnd, PassEndResult, PassLease, PassLost } from '../../domain/ports/pass-store.ts';
import { encodeBackoff } from '../conversation-record.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';

interface EndRequest {
  readonly lease: PassLease;
  readonly end: PassEnd;
}

export type EndReply = ['ended', string] | ['reasons_added' | PassLost['status']];

export function endPass(keyspace: Keyspace): ScriptDefinition<EndRequest, PassEndResult> {
  return {
    file: 'end-pass',
    keys: ({ lease }) => keyspace.conversation(lease.conversation),
    args: ({ lease, end }) => endArgs(lease, end),
    decode: (reply) => decodeEnd(reply as EndReply),
  };
}

/** The first arguments of every script that ends a pass for its owner. */
export function endArgs(
  { passId, owner }: PassLease,
  { outcome, backoff, wakeTurn, seenReasons, conversationTtl }: PassEnd,
): (string | number)[] {
  const seen = seenReasons?.join(',') ?? '*';
  return [passId, owner, outcome.kind, encodeBackoff(backoff), wakeTurn, seen, conversationTtl ?? ''];
}

export function decodeEnd(answer: EndReply): PassEndResult {
  if (answer[0] !== 'ended') return { status: answer[0] };
  return { status: 'ended', ...(answer[1] !== '' && { wakeTurn: answer[1] }) };
}
