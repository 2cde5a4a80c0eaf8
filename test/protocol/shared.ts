import type { Store } from '../../src/domain/ports/store.ts';
import type { TokenCounter } from '../../src/domain/ports/token-counter.ts';
import { type MemoryConversation, MemoryDatabase } from '../../src/memory-store/database.ts';
import { openMemoryStore } from '../../src/memory-store/open-memory-store.ts';
import { MemoryJobs } from './memory-jobs.ts';

/** The stores and queues that all actors of a world share. */
export interface Shared {
  readonly db: MemoryDatabase;
  readonly jobs: MemoryJobs;
  readonly store: Store;
}

/** Breaks a store, to prove that the invariants notice. */
export type Mutate = (store: Store, db: MemoryDatabase) => Store;

export function openShared(clock: { now(): number }, mutate: Mutate = (store) => store): Shared {
  const db = new MemoryDatabase(() => clock.now());
  return { db, jobs: new MemoryJobs(clock), store: mutate(openMemoryStore(db), db) };
}

export function copyShared({ db, jobs }: Shared, clock: { now(): number }, mutate?: Mutate): Shared {
  const copy = openShared(clock, mutate);
  for (const [name, conversation] of db.conversations) copy.db.conversations.set(name, copyConversation(conversation));
  for (const kind of ['gone', 'ready', 'sweeps'] as const) for (const [key, at] of db[kind]) copy.db[kind].set(key, at);
  for (const [name, expiry] of db.expiries) copy.db.expiries.set(name, expiry);
  for (const [shard, at] of db.lastSweepMsByShard) copy.db.lastSweepMsByShard.set(shard, at);
  copy.jobs.adopt(jobs);
  return copy;
}

/** Entries, versions, texts and events are immutable, so only their lists are copied. */
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
