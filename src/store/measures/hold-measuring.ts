import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';

interface Hold {
  readonly owner: string;
  /** 0 gives it back */
  readonly leaseMs: number;
}

export function holdMeasuring(keyspace: Keyspace): ScriptDefinition<Hold, boolean> {
  return {
    file: 'hold-measuring',
    keys: () => [keyspace.measuring()],
    args: ({ owner, leaseMs }) => [owner, leaseMs],
    decode: (reply) => reply === 1,
  };
}
