import { monotonicFactory } from 'ulidx';
import { createClient, type TurnfoldClient } from '../../src/client/client.ts';
import type { ClientPorts } from '../../src/client/ports.ts';
import type { Store } from '../../src/domain/ports/store.ts';
import { loadTokenCounter } from '../../src/tokens/token-counter.ts';

type StorePorts = Pick<ClientPorts, 'turns' | 'contexts' | 'passes' | 'versions' | 'proposals' | 'events'>;

/** A client over a store in memory alone: no queue, no notices. @param over what a test puts in the store's place */
export function createMemoryClient(store: Store, over: Partial<StorePorts> = {}): TurnfoldClient {
  return createClient({
    turns: store,
    contexts: store,
    passes: store,
    versions: store,
    proposals: store,
    events: store,
    listings: store,
    ...over,
    notices: { wait: async () => undefined },
    texts: { listen: () => ({ catchUp: async () => undefined, stop: () => undefined }) },
    wakes: { wake: async () => undefined },
    onError: (error) => {
      throw error;
    },
    counterFor: () => loadTokenCounter('o200k_base'),
    ids: { next: monotonicFactory() },
    now: () => Date.now(),
    currentTrace: () => undefined,
  });
}
