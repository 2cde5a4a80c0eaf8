import type { Clock } from '../../src/domain/ports/clock.ts';
import type { PresenceStore, WorkerPresence } from '../../src/domain/ports/presence-store.ts';

/** Presence in memory, for tests of the workers. The contract suite checks it against Redis. */
export function openMemoryPresenceStore(clock: Clock): PresenceStore {
  const renewals = new Map<string, { readonly presence: WorkerPresence; readonly at: number }>();
  return {
    renewPresence: async (presence, lostAfterMs) => {
      const at = clock.now();
      renewals.set(presence.worker, { presence, at });
      if (lostAfterMs === undefined) return [];
      const lost = [...renewals.values()].filter((renewal) => renewal.at <= at - lostAfterMs);
      return lost.map((renewal) => {
        const { worker, roles, startedAt } = renewal.presence;
        renewals.delete(worker);
        return { worker, roles, livedMs: Math.max(0, renewal.at - startedAt) };
      });
    },
    endPresence: async ({ worker }) => void renewals.delete(worker),
  };
}
