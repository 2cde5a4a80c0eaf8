import type { Lost, TurnLease } from '../../domain/ports/turn-store.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';
import { turnLeaseArgs } from './lease.ts';

interface ReleaseRequest {
  readonly lease: TurnLease;
  readonly wake: string;
}

type ReleaseResult = { readonly status: 'released' } | Lost;

export function releaseTurn(keyspace: Keyspace): ScriptDefinition<ReleaseRequest, ReleaseResult> {
  return {
    file: 'release-turn',
    keys: ({ lease }) => keyspace.conversation(lease.conversation),
    args: ({ lease, wake }) => [...turnLeaseArgs(lease), wake],
    decode: (reply) => ({ status: reply as ReleaseResult['status'] }),
  };
}
