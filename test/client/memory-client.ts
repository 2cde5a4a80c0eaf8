import { createClient } from '../../src/api/client/client.ts';
import { type ClientStores, storePorts } from '../../src/api/client/ports.ts';
import type { TurnfoldClient } from '../../src/api/contract/client.ts';
import { createIdSource } from '../../src/jobs/id-source.ts';
import type { Store } from '../../src/store/open-store.ts';
import { loadTokenCounter } from '../../src/wire/tokens/token-counter.ts';

/** A client over a store in memory alone: no queue, no notifications. @param over Stores that replace single nouns. */
export function createMemoryClient(store: Store, over: Partial<ClientStores> = {}): TurnfoldClient {
  return createClient({
    ...storePorts(store),
    ...over,
    notifications: { wait: async () => undefined },
    streamNotices: { listen: () => () => undefined },
    wakes: { wake: async () => undefined },
    queues: { eraseJobs: async () => undefined },
    onError: (error) => {
      throw error;
    },
    counterFor: () => loadTokenCounter('o200k_base'),
    ids: createIdSource(),
    now: () => Date.now(),
    currentTrace: () => undefined,
  });
}
