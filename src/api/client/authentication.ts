import { createHash, timingSafeEqual } from 'node:crypto';
import { acceptedHashes, isUseRecordable, readToken, type Scope, stateOfKey } from '../../domain/access-key.ts';
import { isConversationToken } from '../../domain/conversation-token.ts';
import type { AccessKeyStore, KeyReading } from '../../store/access-keys.ts';
import { TokenVerifier } from './conversation-tokens.ts';

export interface Grant {
  readonly status: 'granted';
  /** Id of the key. */
  readonly key: string;
  /** The only tenant that the request may reach (invariant I19). */
  readonly tenant: string;
  /** Rights of the request in that tenant. */
  readonly scopes: readonly Scope[];
  /** The only conversation that the request may reach. Absent: all of the tenant. */
  readonly conversation?: string;
  /** Owner of that conversation, if the request creates it. */
  readonly owner?: string;
}

export interface Refusal {
  readonly status: 'refused';
  /** Reason for logs. The caller of a service learns only that the token is refused. */
  readonly why: 'malformed' | 'unknown' | 'wrong_secret' | 'expired' | 'revoked';
}

export type Authentication = Grant | Refusal;

export interface AuthenticatorPorts {
  readonly keys: Pick<AccessKeyStore, 'readKey' | 'recordKeyUse' | 'readTokenSecret'>;
  readonly onError: (error: unknown) => void;
  /** Returns ms on a clock that is never set back. */
  readonly elapsedMs: () => number;
}

/** How long a process may still accept a revoked key: the cache does not read the key again before. */
export const KEY_CACHE_MS = 2_000;
const CACHED_KEYS = 10_000;

interface CachedKey {
  reading: KeyReading;
  readonly readAt: number;
}

/** Checks tokens. A token that the cached key refuses is checked in Redis, because the key may have a new secret. */
export class Authenticator {
  readonly #ports: AuthenticatorPorts;
  readonly #tokens: TokenVerifier;
  readonly #cache = new Map<string, CachedKey>();

  constructor(ports: AuthenticatorPorts) {
    this.#ports = ports;
    this.#tokens = new TokenVerifier(ports);
  }

  async authenticate(token: string): Promise<Authentication> {
    if (isConversationToken(token)) return await this.#tokens.verify(token);
    const parts = readToken(token);
    if (parts === undefined) return { status: 'refused', why: 'malformed' };
    const { id, secret } = parts;
    const hash = hashSecret(secret);
    const cached = this.#cache.get(id);
    if (cached !== undefined) {
      const ageMs = this.#ports.elapsedMs() - cached.readAt;
      const answer = judge({ ...cached.reading, now: cached.reading.now + ageMs }, hash);
      if (ageMs < KEY_CACHE_MS && answer.status === 'granted') return answer;
      this.#cache.delete(id);
    }
    return await this.#readAndJudge(id, hash);
  }

  async #readAndJudge(id: string, hash: string): Promise<Authentication> {
    const readAt = this.#ports.elapsedMs();
    const reading = await this.#ports.keys.readKey(id);
    if (reading === undefined) return { status: 'refused', why: 'unknown' };
    const answer = judge(reading, hash);
    if (answer.status !== 'granted') return answer;
    const [oldest] = this.#cache.size < CACHED_KEYS ? [] : this.#cache.keys();
    if (oldest !== undefined) this.#cache.delete(oldest);
    this.#cache.set(id, { reading, readAt });
    if (isUseRecordable(reading.key, reading.now)) this.#ports.keys.recordKeyUse(id).catch(this.#ports.onError);
    return answer;
  }
}

/** A slow hash is for passwords, which can be guessed. A secret of 256 random bits cannot. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}

function judge({ key, now }: KeyReading, hash: string): Authentication {
  if (!acceptedHashes(key, now).some((accepted) => isEqual(accepted, hash))) {
    return { status: 'refused', why: 'wrong_secret' };
  }
  const state = stateOfKey(key, now);
  if (state !== 'active') return { status: 'refused', why: state };
  return { status: 'granted', key: key.id, tenant: key.tenant, scopes: key.scopes };
}

function isEqual(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)];
  return first.length === second.length && timingSafeEqual(first, second);
}
