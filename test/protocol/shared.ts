import type { Store } from '../../src/domain/ports/store.ts';
import { type MemoryConversation, MemoryDatabase } from '../../src/memory-store/database.ts';
import { openMemoryStore } from '../../src/memory-store/open-memory-store.ts';
import { MemoryJobs } from './memory-jobs.ts';

/** All that the actors of a world have in common, and all that lasts of what they do. */
export interface Shared {
  readonly db: MemoryDatabase;
  readonly jobs: MemoryJobs;
  readonly store: Store;
}

/** Breaks a store, to see that it is noticed. */
export type Mutate = (store: Store, db: MemoryDatabase) => Store;

const WHOLE: Mutate = (store) => store;

export function openShared(clock: { now(): number }, mutate: Mutate = WHOLE): Shared {
  const db = new MemoryDatabase(() => clock.now());
  return { db, jobs: new MemoryJobs(clock), store: mutate(openMemoryStore(db), db) };
}

/** The same once more: what is done to one of them is not done to the other. */
export function copyShared({ db, jobs }: Shared, clock: { now(): number }, mutate?: Mutate): Shared {
  const copy = openShared(clock, mutate);
  for (const [name, conversation] of db.conversations) copy.db.conversations.set(name, copyConversation(conversation));
  for (const kind of ['gone', 'ready', 'sweeps'] as const) for (const [key, at] of db[kind]) copy.db[kind].set(key, at);
  for (const [name, expiry] of db.expiries) copy.db.expiries.set(name, expiry);
  for (const [shard, at] of db.lastSweepMsByShard) copy.db.lastSweepMsByShard.set(shard, at);
  copy.jobs.adopt(jobs);
  return copy;
}

/** Entries, versions and texts are never changed once they are written: only the lists of them are copied. */
function copyConversation(conversation: MemoryConversation): MemoryConversation {
  const { log, versions, summaries, texts, events, ...changing } = conversation;
  const lists = {
    log: [...log],
    versions: new Map(versions),
    summaries: new Map(summaries),
    texts: new Map(texts),
    events: [...events],
  };
  return { ...conversation, ...structuredClone(changing), ...lists };
}
