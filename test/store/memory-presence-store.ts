import type { Clock } from '../../src/domain/clock.ts';
import { LOST_AFTER_MS } from '../../src/domain/lease.ts';
import type { AgentFinder, PresenceStore, SilentWorker, WorkerPresence } from '../../src/store/presence.ts';

const STALE_AFTER_MS = 1_000;

export interface MemoryPresenceStore extends PresenceStore, AgentFinder {
  /** Ends the connection of a worker. */
  disconnect(worker: string): void;
}

/** Presence in memory, for tests of the workers. The contract suite checks it against Redis. */
export function openMemoryPresenceStore(clock: Clock): MemoryPresenceStore {
  const workers = new Map<string, { readonly presence: WorkerPresence; at: number; isConnected: boolean }>();
  const missing = new Map<string, number>();
  const ageOf = (worker: string): number => clock.now() - (workers.get(worker)?.at ?? clock.now());
  return {
    renewPresence: async (presence) => {
      const isConnected = workers.get(presence.worker)?.isConnected === true;
      for (const role of presence.roles) for (const agent of presence.agents ?? []) missing.delete(`${role}|${agent}`);
      workers.set(presence.worker, { presence, at: clock.now(), isConnected: true });
      return !isConnected;
    },
    findSilent: async () =>
      [...workers.values()].flatMap(({ presence, isConnected }): SilentWorker[] => {
        const age = ageOf(presence.worker);
        if (age >= LOST_AFTER_MS) return [{ ...presence, state: 'lost' }];
        return isConnected || age < STALE_AFTER_MS ? [] : [{ ...presence, state: 'gone' }];
      }),
    removeSilent: async (worker) => ageOf(worker) >= STALE_AFTER_MS && workers.delete(worker),
    endPresence: async (worker) => void workers.delete(worker),
    findAgent: async (agent, role) => {
      const name = `${role}|${agent}`;
      const isServed = [...workers.values()].some(
        ({ presence: { agents, roles } }) => roles.includes(role) && (agents?.includes(agent) ?? true),
      );
      if (isServed) missing.delete(name);
      else if (!missing.has(name)) missing.set(name, clock.now());
      return isServed ? { status: 'served' } : { status: 'missing', forMs: clock.now() - (missing.get(name) ?? 0) };
    },
    disconnect: (worker) => {
      const found = workers.get(worker);
      if (found !== undefined) found.isConnected = false;
    },
  };
}
