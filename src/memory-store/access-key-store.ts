import { isUseRecordable, KEY_LIMITS, type StoredKey, stateOfKey } from '../domain/access-key.ts';
import type { AccessKeyStore, KeyPage, KeyQuery, KeyReading } from '../domain/ports/access-key-store.ts';
import type { MemoryDatabase } from './database.ts';

/** Opens the store of access keys in memory. The contract tests in test/store run against this store and against Redis. */
export function openMemoryAccessKeyStore(db: MemoryDatabase): AccessKeyStore {
  const keys = new Map<string, StoredKey>();
  const read = (id: string): KeyReading | undefined => {
    const key = keys.get(id);
    const now = db.now();
    return key === undefined || isForgotten(key, now) ? undefined : { key, now };
  };
  /** Replaces a key that is not revoked. */
  const change = (id: string, next: (key: StoredKey, now: number) => StoredKey): KeyReading | undefined => {
    const found = read(id);
    if (found === undefined || found.key.revokedAt !== undefined) return found;
    keys.set(id, next(found.key, found.now));
    return read(id);
  };
  return {
    createKey: async ({ expiresInMs, ...key }) => {
      const now = db.now();
      const created = { ...key, createdAt: now, ...(expiresInMs !== undefined && { expiresAt: now + expiresInMs }) };
      if (!keys.has(key.id)) keys.set(key.id, created);
      return { key: keys.get(key.id) ?? created, now };
    },
    readKey: async (id) => read(id),
    listKeys: async (query) =>
      pageOf(
        [...keys.keys()].flatMap((id) => read(id) ?? []),
        query,
      ),
    rotateKey: async (id, hash, graceMs) =>
      change(id, (key, now) =>
        key.hash === hash
          ? key
          : { ...key, hash, previousHash: key.hash, previousUntil: now + graceMs, rotatedAt: now },
      ),
    revokeKey: async (id) => change(id, (key, now) => ({ ...key, revokedAt: now })),
    recordKeyUse: async (id) => {
      change(id, (key, now) => (isUseRecordable(key, now) ? { ...key, usedAt: now } : key));
    },
  };
}

function isForgotten(key: StoredKey, now: number): boolean {
  return stateOfKey(key, now) === 'revoked' && now >= (key.revokedAt ?? 0) + KEY_LIMITS.revokedMs;
}

function pageOf(readings: readonly KeyReading[], { tenant, after = '', limit }: KeyQuery): KeyPage {
  const rows = readings
    .map((reading) => ({ reading, place: `${reading.key.tenant}|${reading.key.id}` }))
    .filter(({ reading, place }) => (tenant === undefined || reading.key.tenant === tenant) && place > after)
    .toSorted((one, other) => (one.place < other.place ? -1 : 1))
    .slice(0, limit);
  const last = rows.length === limit ? rows.at(-1)?.place : undefined;
  return { readings: rows.map(({ reading }) => reading), ...(last !== undefined && { next: last }) };
}
