import type { Redis } from 'ioredis';
import type { LostWorker, PresenceStore, WorkerPresence } from '../domain/ports/presence-store.ts';
import type { Keyspace } from './keys.ts';
import { callStore } from './records.ts';
import { type ScriptOf, scriptBinder } from './script.ts';

export function openPresence(redis: Redis, keyspace: Keyspace): PresenceStore {
  return {
    renewPresence: scriptBinder(redis, keyspace)(renewPresenceScript),
    endPresence: async (presence) => {
      await callStore(() => redis.zrem(keyspace.workers(), encodeMember(presence)));
    },
  };
}

const renewPresenceScript: ScriptOf<PresenceStore['renewPresence']> = {
  file: 'renew-presence',
  keys: (_, keyspace) => [keyspace.workers()],
  args: ([presence, lostAfterMs]) => [encodeMember(presence), lostAfterMs ?? ''],
  decode: (reply) => decodeLost(reply as string[]),
};

function encodeMember({ worker, roles, startedAt }: WorkerPresence): string {
  return [worker, roles.join(','), startedAt].join('|');
}

/**
 * Decodes the workers that were reported as lost: members, each followed by the time of its last report. A member of
 * unknown form is left out.
 */
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
