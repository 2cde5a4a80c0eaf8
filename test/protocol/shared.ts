import { Database } from '../../src/store/embedded/database.ts';
import { EmbeddedRedis } from '../../src/store/embedded/server.ts';
import type { Store } from '../../src/store/open-store.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { TokenCounter } from '../../src/wire/tokens/token-counter.ts';
import { KEYSPACE } from '../store/stored-conversation.ts';
import { connectDirectly } from './direct-connection.ts';
import { MemoryJobs } from './memory-jobs.ts';

/** The stores and queues that all actors of a world share. */
export interface Shared {
  readonly db: Database;
  readonly jobs: MemoryJobs;
  readonly store: Store;
}

/** Breaks a store, to prove that the invariants notice. */
export type Mutate = (store: Store, db: Database) => Store;

/** One Redis runs the scripts of all worlds, because a store takes milliseconds to open. A world owns its keys alone. */
const redis = await EmbeddedRedis.open();
const store = openStore(connectDirectly(redis), KEYSPACE);

export function openShared(clock: { now(): number }, mutate?: Mutate): Shared {
  const db = new Database();
  db.clock = () => clock.now();
  return share(db, new MemoryJobs(clock), mutate);
}

export function copyShared({ db, jobs }: Shared, clock: { now(): number }, mutate?: Mutate): Shared {
  const copy = new MemoryJobs(clock);
  copy.adopt(jobs);
  return share(
    db.copy(() => clock.now()),
    copy,
    mutate,
  );
}

function share(db: Database, jobs: MemoryJobs, mutate: Mutate = (unchanged) => unchanged): Shared {
  return { db, jobs, store: mutate(openOver(db), db) };
}

/** The store over the keys of one world. The operations of different worlds must not overlap. */
function openOver(db: Database): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const found: unknown = Reflect.get(target, name);
      if (typeof found !== 'function') return found;
      return (...args: unknown[]): unknown => {
        redis.database = db;
        return Reflect.apply(found, target, args);
      };
    },
  });
}

/** Counts one token per word. The real counter yields to the event loop by the clock, which would make runs differ. */
export const WORD_COUNTER: TokenCounter = {
  longestTokenBytes: 64,
  count: async (text) => wordsOf(text).length,
  countSync: (text) => wordsOf(text).length,
  clipStart: async (text, maxTokens) => wordsOf(text).slice(0, maxTokens).join(''),
  clipEnd: async (text, maxTokens) => (maxTokens === 0 ? '' : wordsOf(text).slice(-maxTokens).join('')),
};

function wordsOf(text: string): string[] {
  return text.match(/\s*\S+/g) ?? [];
}
