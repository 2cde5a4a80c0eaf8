import type { PassLease, PassLost } from '../../domain/ports/pass-store.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';

type ReleaseResult = { readonly status: 'released' } | PassLost;

export function releasePass(keyspace: Keyspace): ScriptDefinition<PassLease, ReleaseResult> {
  return {
    file: 'release-pass',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ passId, owner }) => [passId, owner],
    decode: (reply) => ({ status: reply as ReleaseResult['status'] }),
  };
}
