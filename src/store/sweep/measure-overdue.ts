import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';

interface Overdue {
  readonly count: number;
  readonly oldestMs: number;
}

export function measureOverdue(keyspace: Keyspace): ScriptDefinition<number, Overdue> {
  return {
    file: 'measure-overdue',
    keys: (shard) => [keyspace.ready(shard)],
    args: () => [],
    decode: (reply) => {
      const [count, oldestMs] = reply as [number, number];
      return { count, oldestMs };
    },
  };
}

export function sumOverdue(shards: readonly Overdue[]): Overdue {
  return {
    count: shards.reduce((sum, { count }) => sum + count, 0),
    oldestMs: Math.max(0, ...shards.map(({ oldestMs }) => oldestMs)),
  };
}
