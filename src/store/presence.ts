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

/** A worker process in the list of running workers. */
export interface ListedWorker extends WorkerPresence {
  /** Time of the last heartbeat, in ms since epoch. */
  readonly seenAt: number;
}

/** Maximum workers that are listed, those with the latest heartbeats. */
const MOST_WORKERS = 1_000;

/** Lists running workers, and workers that disappeared and were not reported as lost yet. */
export async function listWorkers(redis: Redis, keyspace: Keyspace): Promise<ListedWorker[]> {
  const flat = await callStore(() => redis.zrevrange(keyspace.workers(), 0, MOST_WORKERS - 1, 'WITHSCORES'));
  return flat.flatMap((member, at) => {
    if (at % 2 !== 0) return [];
    const [worker, roles, startedAt] = member.split('|');
    const seenAt = Number(flat[at + 1]);
    if (!worker || !roles || !Number.isFinite(Number(startedAt)) || !Number.isFinite(seenAt)) return [];
    return [{ worker, roles: roles.split(','), startedAt: Number(startedAt), seenAt }];
  });
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
