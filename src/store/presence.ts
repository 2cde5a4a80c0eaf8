import type { Redis } from 'ioredis';
import type { LostWorker, PresenceStore, WorkerPresence } from '../domain/ports/presence-store.ts';
import type { Keyspace } from './keys.ts';
import { callStore } from './records.ts';
import { bindScript, type ScriptDefinition } from './script.ts';

interface Renewal {
  readonly presence: WorkerPresence;
  readonly lostAfterMs: number | undefined;
}

export function openPresence(redis: Redis, keyspace: Keyspace): PresenceStore {
  const renew = bindScript(redis, renewPresence(keyspace));
  return {
    renewPresence: (presence, lostAfterMs) => renew({ presence, lostAfterMs }),
    endPresence: async (presence) => {
      await callStore(() => redis.zrem(keyspace.workers(), encodeMember(presence)));
    },
  };
}

function renewPresence(keyspace: Keyspace): ScriptDefinition<Renewal, readonly LostWorker[]> {
  return {
    file: 'renew-presence',
    keys: () => [keyspace.workers()],
    args: ({ presence, lostAfterMs }) => [encodeMember(presence), lostAfterMs ?? ''],
    decode: (reply) => decodeLost(reply as string[]),
  };
}

function encodeMember({ worker, roles, startedAt }: WorkerPresence): string {
  return [worker, roles.join(','), startedAt].join('|');
}

/** Reads members, each followed by the time of its last renewal. An unknown member is left out. */
function decodeLost(flat: readonly string[]): LostWorker[] {
  const lost: LostWorker[] = [];
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const [worker, roles, startedAt] = (flat[index] ?? '').split('|');
    const livedMs = Number(flat[index + 1]) - Number(startedAt);
    if (!worker || !roles || !Number.isFinite(livedMs)) continue;
    lost.push({ worker, roles: roles.split(','), livedMs: Math.max(0, livedMs) });
  }
  return lost;
}
