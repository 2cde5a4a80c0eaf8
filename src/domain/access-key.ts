import { z } from 'zod';
import { boundedList } from './bounded-schemas.ts';
import { idSchema } from './ids.ts';

/** `admin` includes the other rights. */
export const SCOPES = ['read', 'enqueue', 'answer', 'admin'] as const;

export type Scope = (typeof SCOPES)[number];

export const KEY_LIMITS = {
  /** How long the previous secret stays valid after a rotation. */
  graceMs: 86_400_000,
  maxGraceMs: 30 * 86_400_000,
  maxExpiryMs: 10 * 365 * 86_400_000,
  /** A revoked key is still listed for this time. */
  revokedMs: 30 * 86_400_000,
  /** The last use of a key is recorded again only after this time. */
  useMs: 60_000,
} as const;

/** Access key of a tenant, without its secret. Times are in ms since epoch, by the clock of Redis. */
export interface AccessKey {
  /** Public id of the key, which is also the readable part of the token. */
  readonly id: string;
  /** The only tenant that the key reaches (invariant I19). */
  readonly tenant: string;
  readonly name: string;
  /** Rights of the key. */
  readonly scopes: readonly Scope[];
  /** Time at which the key was created. */
  readonly createdAt: number;
  /** The key is refused from this time on. Absent: the key does not expire. */
  readonly expiresAt?: number;
  /** Time of the last use, recorded up to a minute late. Absent: the key was never used. */
  readonly usedAt?: number;
  /** Time of the last rotation. */
  readonly rotatedAt?: number;
  /** Time at which the key was revoked. */
  readonly revokedAt?: number;
}

export interface StoredKey extends AccessKey {
  readonly hash: string;
  readonly previousHash?: string;
  readonly previousUntil?: number;
}

export type KeyState = 'active' | 'expired' | 'revoked';

export const keyInputSchema = z.strictObject({
  tenant: idSchema,
  name: z.string().max(128).default(''),
  scopes: boundedList(z.enum(SCOPES, `must be one of ${SCOPES.join(', ')}`), SCOPES.length)
    .min(1)
    .transform((scopes) => SCOPES.filter((scope) => scopes.includes(scope))),
  expiresInMs: z.number().int().min(1).max(KEY_LIMITS.maxExpiryMs).optional(),
});

export const rotationSchema = z.strictObject({
  graceMs: z.number().int().min(0).max(KEY_LIMITS.maxGraceMs).default(KEY_LIMITS.graceMs),
});

export const keyIdSchema = z.string().regex(/^[0-9a-f]{16}$/, 'must be the id of an access key: 16 of 0-9 and a-f');

/** Token: `tfk_`, key id, 256 random bits in base64url. Secret scanners recognize the fixed start. */
const TOKEN = /^tfk_([0-9a-f]{16})_([\w-]{43})$/;

export function writeToken(id: string, secret: string): string {
  return `tfk_${id}_${secret}`;
}

export function readToken(token: string): { readonly id: string; readonly secret: string } | undefined {
  const [, id, secret] = TOKEN.exec(token) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

export function stateOfKey({ revokedAt, expiresAt }: AccessKey, now: number): KeyState {
  if (revokedAt !== undefined) return 'revoked';
  return expiresAt !== undefined && now >= expiresAt ? 'expired' : 'active';
}

export function acceptedHashes({ hash, previousHash, previousUntil = 0 }: StoredKey, now: number): string[] {
  return previousHash !== undefined && now < previousUntil ? [hash, previousHash] : [hash];
}

export function includesScope(scopes: readonly Scope[], needed: Scope): boolean {
  return scopes.includes(needed) || scopes.includes('admin');
}

export function isUseRecordable({ usedAt = 0 }: AccessKey, now: number): boolean {
  return now - usedAt >= KEY_LIMITS.useMs;
}
