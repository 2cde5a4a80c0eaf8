import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { joinToken, readConversationToken, type TokenClaims, writeClaims } from '../../domain/conversation-token.ts';
import { nameConversation } from '../../domain/ids.ts';
import { parseInput } from '../../domain/parse.ts';
import type { AccessKeyStore, TokenSecrets } from '../../store/access-keys.ts';
import type { Methods } from '../contract/client.ts';
import { tokenInputSchema } from '../contract/conversation-tokens.ts';
import { readConversationName } from '../contract/names.ts';
import type { ClientPorts } from './ports.ts';

export const tokenMethods = {
  /** @throws invalid_input */
  createConversationToken: async ({ tokens }, name, input = {}) => {
    const { tenant, id: conversation } = readConversationName(name);
    const { scopes, expiresInMs, owner } = parseInput(tokenInputSchema, input);
    const { now, id, secret } = await tokens.readTokenSecret(tenant, newSecret());
    if (id === undefined || secret === undefined) throw new Error('the store returned no secret for tokens');
    const expiresAt = now + expiresInMs;
    const claims = writeClaims({ secret: id, tenant, conversation, owner, scopes, expiresAt });
    const token = joinToken(claims, sign(claims, secret));
    return { ...nameConversation({ tenant, id: conversation }), token, scopes, expiresAt };
  },
} satisfies Methods<ClientPorts>;

/** A new secret of 256 random bits, and its id. The store keeps it only if the tenant has none. */
export function newSecret(): { readonly id: string; readonly secret: string } {
  return { id: randomBytes(8).toString('hex'), secret: randomBytes(32).toString('base64url') };
}

function sign(claims: string, secret: string): string {
  return createHmac('sha256', secret).update(claims).digest('base64url');
}

interface TokenPorts {
  readonly keys: Pick<AccessKeyStore, 'readTokenSecret'>;
  /** Returns ms on a clock that is never set back. */
  readonly elapsedMs: () => number;
}

/** The answer of `Authenticator` for a token. */
type TokenVerdict =
  | { readonly status: 'refused'; readonly why: 'malformed' | 'unknown' | 'wrong_secret' | 'expired' }
  | ({ readonly status: 'granted'; readonly key: string; readonly owner?: string } & Pick<
      TokenClaims,
      'tenant' | 'scopes' | 'conversation'
    >);

/** How long a process may accept tokens of a replaced secret. */
const SECRET_CACHE_MS = 2_000;
const CACHED_TENANTS = 10_000;

/** Checks conversation tokens. A token that the cached secret refuses is checked by the secret in Redis. */
export class TokenVerifier {
  readonly #ports: TokenPorts;
  readonly #cache = new Map<string, { readonly secrets: TokenSecrets; readonly readAt: number }>();

  constructor(ports: TokenPorts) {
    this.#ports = ports;
  }

  async verify(token: string): Promise<TokenVerdict> {
    const read = readConversationToken(token);
    if (read === undefined) return { status: 'refused', why: 'malformed' };
    const { tenant } = read.claims;
    const cached = this.#cache.get(tenant);
    if (cached !== undefined) {
      const ageMs = this.#ports.elapsedMs() - cached.readAt;
      const answer = judge(read, { ...cached.secrets, now: cached.secrets.now + ageMs });
      if (ageMs < SECRET_CACHE_MS && answer.status === 'granted') return answer;
      this.#cache.delete(tenant);
    }
    const readAt = this.#ports.elapsedMs();
    const secrets = await this.#ports.keys.readTokenSecret(tenant);
    const answer = judge(read, secrets);
    if (answer.status !== 'granted') return answer;
    const [oldest] = this.#cache.size < CACHED_TENANTS ? [] : this.#cache.keys();
    if (oldest !== undefined) this.#cache.delete(oldest);
    this.#cache.set(tenant, { secrets, readAt });
    return answer;
  }
}

function judge(
  { signed, signature, claims }: NonNullable<ReturnType<typeof readConversationToken>>,
  secrets: TokenSecrets,
): TokenVerdict {
  const secret = findSecret(claims, secrets);
  if (secret === undefined) return { status: 'refused', why: 'unknown' };
  const [expected, given] = [Buffer.from(sign(signed, secret)), Buffer.from(signature)];
  if (expected.length !== given.length || !timingSafeEqual(expected, given)) {
    return { status: 'refused', why: 'wrong_secret' };
  }
  if (secrets.now >= claims.expiresAt) return { status: 'refused', why: 'expired' };
  const { secret: key, tenant, conversation, owner, scopes } = claims;
  return { status: 'granted', key, tenant, scopes, conversation, ...(owner !== undefined && { owner }) };
}

function findSecret(
  { secret: wanted }: TokenClaims,
  { now, id, secret, previousId, previousSecret, previousUntil = 0 }: TokenSecrets,
): string | undefined {
  if (wanted === id) return secret;
  return wanted === previousId && now < previousUntil ? previousSecret : undefined;
}
