import type { Scope, StoredKey } from '../access-key.ts';

export interface NewKeyRecord {
  readonly id: string;
  readonly tenant: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly hash: string;
  readonly expiresInMs?: number | undefined;
}

/** A key as it was at the time `now` of the store's clock, in ms. */
export interface KeyReading {
  readonly key: StoredKey;
  readonly now: number;
}

export interface KeyQuery {
  /** Tenant whose keys are listed. Absent: all tenants. */
  readonly tenant?: string | undefined;
  /** Place at which the previous page ended. */
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface KeyPage {
  readonly readings: readonly KeyReading[];
  /** Place at which the page ended. Absent: there are no more keys. */
  readonly next?: string;
}

/** Stores access keys. Only hashes of secrets are stored. Unknown ids are answered with undefined. */
export interface AccessKeyStore {
  /** Stores a new key. A repeated call with the same id changes nothing. */
  createKey(key: NewKeyRecord): Promise<KeyReading>;
  readKey(id: string): Promise<KeyReading | undefined>;
  /** Reads a page of keys, ordered by tenant and id. */
  listKeys(query: KeyQuery): Promise<KeyPage>;
  /**
   * Gives a key another secret. The secret before it stays valid for `graceMs`. A repeated call with the same hash, and a
   * call for a revoked key, change nothing.
   */
  rotateKey(id: string, hash: string, graceMs: number): Promise<KeyReading | undefined>;
  /** Revokes a key for good. The key is listed for another 30 days. */
  revokeKey(id: string): Promise<KeyReading | undefined>;
  /** Records that a key was used now, at most once a minute. */
  recordKeyUse(id: string): Promise<void>;
}
